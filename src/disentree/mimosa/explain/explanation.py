"""The explanation of a tree: what was found about its branches, leaves and variables, and how it is printed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from html import escape
from typing import Any

from disentree.mimosa.explain.constants import EXPLAIN
from disentree.mimosa.explain.names import no_names
from disentree.mimosa.explain.sentences import held_out_sentence, rule_sentence


@dataclass(frozen=True)
class Explanation:
    """The reasons for a tree: `print` shows them as sentences.

    Attributes
    ----------
    columns : list of str
        The columns of the data.
    splits : list of dict
        One for every option of every categorical, from the root downwards: `path` (options from the root to this
        one), `categorical`, `option`, `name`, `share`, `rows`, `columns` (those that tell it from its siblings),
        `text` (a sentence), `relations` (exact ones among the reasons), and `rule`: its `text`, `recall` (share of
        the branch that it holds for), `precision` (share of the rows that it holds for which are of the branch),
        both of the `rows` that were held out, and these in words (`shares`); None if its precision is below 80 %.
    leaves : list of dict
        The largest leaves: `path` (its number), `name`, `share`, `rows`, `dimension`, `columns`, `relations` and
        `text`.
    variables : list of dict
        Of a COFHAE: `name`, `group`, `text`, and `moves` by column.
    names : dict
        Names for the tree: `variables` by name, `options` by categorical and name.
    held_out : int
        Rows that shares were measured on: reasons were looked for in the others.
    factors : list of dict
        One for each of the categoricals that are chosen independently of each other at the root: `name`, `column`,
        `options`, `variables` (how many each option adds), `columns`, `reason` and `text`. The reasons for its
        options are among `splits`. Empty if there are fewer than two.
    lost : list of str
        What the tree does not show: leaves that enclose several others, and variables that are the same.
    summary : list of str
        The sentences of `MIMOSA.summary`, with which it begins.
    """

    columns: list[str]
    splits: list[dict[str, Any]]
    leaves: list[dict[str, Any]]
    variables: list[dict[str, Any]] = field(default_factory=list)
    names: dict[str, Any] = field(default_factory=no_names)
    held_out: int = 0
    factors: list[dict[str, Any]] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    summary: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, about: Mapping[str, Any]) -> Explanation:
        """What `to_dict` gave."""
        return cls(**{name: about[name] for name in cls.__dataclass_fields__ if name in about})

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self, leaves: bool = True) -> list[str]:
        """The text, line by line; of the splits only, or of leaves and variables too."""
        out = [*self.summary, *([""] if self.summary else [])]
        out += [held_out_sentence(self.held_out)] if self.splits else []
        ends = {tuple(leaf["options"]): leaf for leaf in self.leaves}
        printed = set()
        heads = {factor["name"]: factor["text"] for factor in self.factors}
        for split in self.splits:
            if len(split["path"]) == 1 and (head := heads.pop(split["categorical"], None)):
                out.append(head)
            indent = "    " * (len(split["path"]) - 1)
            out.append(f"{indent}{_with_size(split)}")
            below = [split["text"], rule_sentence(split)]
            if leaves and (leaf := ends.get(tuple(split["path"]))) is not None:
                below.append(leaf["text"])
                printed.add(leaf["path"])
            out += [f"{indent}    {text}" for text in below if text]
        out += self.lost
        if not leaves:
            return out
        rest, most = [leaf for leaf in self.leaves if leaf["path"] not in printed], EXPLAIN.listed
        if rest and self.splits:
            out.append("Largest leaves:" if len(rest) > most else "Leaves:")
        for leaf in rest[:most]:
            out.append(f"    {_with_size(leaf)}" if self.splits else "All rows")
            out.append(f"{'    ' * (2 if self.splits else 1)}{leaf['text']}")
        if self.variables:
            out.append("Variables, from their 10th to their 90th percentile:")
            out += [f"    {variable['text']}" for variable in self.variables]
        return out

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        rows = []
        for split in self.splits:
            rule = f"<br><small>{escape(rule_sentence(split))}</small>" if split["rule"] else ""
            indent = f";padding-left:{1.2 * (len(split['path']) - 1)}em"
            name = f"<b>{escape(split['name'])}</b>"
            rows.append(_html_row(name, f"{split['share']:.1%}", f"{escape(split['text'])}{rule}", indent))
        for leaf in self.leaves[: 2 * EXPLAIN.listed]:
            rows.append(_html_row(f"<i>{escape(leaf['name'])}</i>", f"{leaf['share']:.1%}", escape(leaf["text"])))
        for variable in self.variables:
            rows.append(_html_row(f"<i>{escape(variable['name'])}</i>", "", escape(variable["text"])))
        more, head = ("".join(f"<p>{escape(text)}</p>" for text in texts) for texts in (self.lost, self.summary))
        shares = f"<small>{held_out_sentence(self.held_out)}</small>" if self.splits else ""
        return f"<div>{head}{shares}<table>{''.join(rows)}</table>{more}</div>"


def _with_size(part: Mapping[str, Any]) -> str:
    """The name of a branch or leaf and its rows."""
    return f"{part['name']}: {part['rows']:,} rows ({part['share']:.1%})"


def _html_row(name: str, share: str, text: str, style: str = "") -> str:
    left = "text-align:left"
    return f'<tr><td style="{left}{style}">{name}</td><td>{share}</td><td style="{left}">{text}</td></tr>'
