"""Why a tree branches where it does, in terms of the columns of the data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from disentree.hierarchy import Hierarchy
from disentree.hierarchy.hierarchy import Variable
from disentree.mimosa.explain.columns import Columns, choose_rows, percent, read_columns
from disentree.mimosa.explain.factors import describe_factors
from disentree.mimosa.explain.facts import Measured, Side, find_facts, shares_text
from disentree.mimosa.explain.leaves import describe_leaf
from disentree.mimosa.explain.naming import is_true_name, name_categorical, name_options, no_names, reason_names
from disentree.mimosa.explain.relations import Relation, find_relations
from disentree.mimosa.explain.rules import find_rule
from disentree.mimosa.explain.words import unique
from disentree.mimosa.tree.lost_enclosures import lost_in_words
from disentree.tables import Codec

MOST_LEAVES = 64  # that are described, the largest
SHOWN_LEAVES = 5  # when a tree with many is printed
NOTHING_TELLS = "No column by itself tells these rows from the others."
MOST_VARYING, VARIES_MORE = 3, 1.25  # columns told for a choice; times the variance, far beyond that of 100 rows
FEW_CHOICES = 4  # of a leaf that are all in its name; of more only the unusual ones


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
        `text` (a sentence), `relations` (exact ones among the reasons), and `rule` with its `accuracy` on the
        `rows` that were held out, or None.
    leaves : list of dict
        The largest leaves: `path` (its number), `name`, `share`, `rows`, `dimension`, `columns`, `relations` and
        `text`.
    variables : list of dict
        Of a COFHAE: `name`, `label`, `group`, `text`, and `moves` by column.
    names : dict
        Names for the tree: `variables` by name, `options` by categorical and name.
    held_out : int
        Rows that shares and accuracies were measured on: reasons were looked for in the others.
    factors : list of dict
        One for each of the categoricals that are chosen independently of each other at the root: `name`, `column`,
        `options`, `variables` (how many each option adds), `columns`, `reason` and `text`. The reasons for its
        options are among `splits`. Empty if there are fewer than two.
    lost : list of str
        What the tree does not show: leaves that enclose several others, and variables that are the same.
    """

    columns: list[str]
    splits: list[dict[str, Any]]
    leaves: list[dict[str, Any]]
    variables: list[dict[str, Any]] = field(default_factory=list)
    names: dict[str, Any] = field(default_factory=no_names)
    held_out: int = 0
    factors: list[dict[str, Any]] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """As JSON.

        Returns
        -------
        dict
        """
        return {
            "columns": self.columns,
            "splits": self.splits,
            "leaves": self.leaves,
            "variables": self.variables,
            "names": self.names,
            "held_out": self.held_out,
            "factors": self.factors,
            "lost": self.lost,
        }

    @classmethod
    def from_dict(cls, about: Mapping[str, Any]) -> Explanation:
        """What `to_dict` gave.

        Parameters
        ----------
        about : dict

        Returns
        -------
        Explanation
        """
        return cls(**{name: about[name] for name in cls.__dataclass_fields__ if name in about})

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self, leaves: bool = True) -> list[str]:
        """The text, line by line.

        Parameters
        ----------
        leaves : bool, default=True
            Whether leaves and variables are told too, not only the splits.

        Returns
        -------
        list of str
        """
        out = []
        if self.splits:
            out.append(f"Shares and accuracies are of {self.held_out:,} rows that no reason was looked for in.")
        ends = {tuple(leaf["options"]): leaf for leaf in self.leaves}
        told = set()
        heads = {factor["name"]: factor["text"] for factor in self.factors}
        for split in self.splits:
            if len(split["path"]) == 1 and (head := heads.pop(split["categorical"], None)):
                out.append(head)
            indent = "    " * (len(split["path"]) - 1)
            out.append(f"{indent}{split['name']}: {split['rows']:,} rows ({split['share']:.1%})")
            if split["text"]:
                out.append(f"{indent}    {split['text']}")
            if split["rule"]:
                out.append(f"{indent}    {_rule_sentence(split)}")
            leaf = ends.get(tuple(split["path"]))
            if leaf is not None and leaves:
                out.append(f"{indent}    {leaf['text']}")
                told.add(leaf["path"])
        out += self.lost
        if not leaves:
            return out
        rest = [leaf for leaf in self.leaves if leaf["path"] not in told]
        if rest and self.splits:
            out.append("Largest leaves:" if len(rest) > SHOWN_LEAVES else "Leaves:")
        for leaf in rest[:SHOWN_LEAVES]:
            out.append(
                f"    {leaf['name']}: {leaf['rows']:,} rows ({leaf['share']:.1%})" if self.splits else "All rows"
            )
            out.append(f"{'    ' * (2 if self.splits else 1)}{leaf['text']}")
        if self.variables:
            out.append("Variables, from their 10th to their 90th percentile:")
            out += [f"    {variable['text']}" for variable in self.variables]
        return out

    def in_brief(self, most: int = 12) -> list[str]:
        """The first reason for each branch, a line each.

        Parameters
        ----------
        most : int, default=12
            Branches that are told.

        Returns
        -------
        list of str
        """
        told = [split for split in self.splits if split["columns"]]
        lines = [
            f"{'  ' * (len(split['path']) - 1)}{split['name']}: {split['text'].partition(';')[0].rstrip('.')}"
            for split in told[:most]
        ]
        return lines + [f"... and {len(told) - most} more branches"] * (len(told) > most)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        rows = []
        for split in self.splits:
            rule = f"<br><small>{escape(_rule_sentence(split))}</small>" if split["rule"] else ""
            indent = f"padding-left:{1.2 * (len(split['path']) - 1)}em"
            rows.append(
                f'<tr><td style="text-align:left;{indent}"><b>{escape(split["name"])}</b></td>'
                f"<td>{split['share']:.1%}</td>"
                f'<td style="text-align:left">{escape(split["text"])}{rule}</td></tr>'
            )
        for leaf in self.leaves[: SHOWN_LEAVES * 2]:
            rows.append(
                f'<tr><td style="text-align:left"><i>{escape(leaf["name"])}</i></td><td>{leaf["share"]:.1%}</td>'
                f'<td style="text-align:left">{escape(leaf["text"])}</td></tr>'
            )
        for variable in self.variables:
            rows.append(
                f'<tr><td style="text-align:left"><i>{escape(variable["label"])}</i></td><td></td>'
                f'<td style="text-align:left">{escape(variable["text"])}</td></tr>'
            )
        about = f"Shares and accuracies are of {self.held_out:,} rows that no reason was looked for in."
        more = "".join(f"<p>{escape(sentence)}</p>" for sentence in self.lost)
        return f"<div><small>{about}</small><table>{''.join(rows)}</table>{more}</div>"


def _rule_sentence(split: Mapping[str, Any]) -> str:
    """How well a rule tells a branch from its siblings."""
    rule = split["rule"]
    right = f"{round(100 * rule['accuracy'], 1):g} % on {rule['rows']:,} held-out rows"
    if split["text"].startswith(f"{rule['text']} in "):
        return f"Accuracy of the first alone: {right}." if ";" in split["text"] else f"Accuracy: {right}."
    shares = f"{percent(rule['found'])} of these, {percent(rule['elsewhere'])} elsewhere"
    return f"Rule: {rule['text']} ({shares}; accuracy {right})."


def with_lost(
    found: Explanation, hierarchy: Hierarchy, lost: Sequence[dict[str, Any]], matches: Sequence[Sequence[int]]
) -> Explanation:
    """An explanation that also tells what the tree does not show."""
    names = {leaf["path"]: leaf["name"] for leaf in found.leaves}

    def name_of(path: int) -> str:
        return f"the leaf {names.get(path, hierarchy.paths[path].name)}"

    return replace(found, lost=lost_in_words(hierarchy, lost, matches, name_of))


@np.errstate(over="ignore", invalid="ignore")  # numbers of 1e300 have no variance
def explain_tree(
    X: Any,
    hierarchy: Hierarchy,
    labels: Any,
    columns: Sequence[str] | None = None,
    *,
    codec: Codec | None = None,
) -> Explanation:
    """The reasons for a tree in terms of the columns of the data.

    For every option of every categorical: exact relations between columns that hold there and not in its
    siblings, else the columns that differ most, and a rule of at most two questions. Reasons are looked for in two
    thirds of the rows of each path; what is said about them is measured on the rest.

    Parameters
    ----------
    X : data frame, array of shape (n, p), Columns or None
        None for data without columns: then only the sizes of branches and leaves are told.
    hierarchy : Hierarchy
    labels : array-like of int of shape (n,)
        The path of each row, an index into ``hierarchy.paths``; -1 for none.
    columns : sequence of str, default=None
        Names of the columns of an array; None calls them x1, x2, ...
    codec : Codec, default=None
        What the columns of a data frame are, if that is not to be inferred.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> import numpy as np
    >>> from disentree import Hierarchy
    >>> x = np.random.default_rng(0).uniform(size=(300, 2))
    >>> x[:150, 1] = x[:150, 0]
    >>> found = explain_tree(x, Hierarchy.flat(1, (2,)), [0] * 150 + [1] * 150, ["a", "b"])
    >>> found.splits[0]["text"]
    'a = b in all of these, none elsewhere.'
    """
    labels = np.asarray(labels)
    if X is None:
        X = Columns(np.zeros((len(labels), 0)), np.zeros((len(labels), 0), np.int64), ())
    cells = X if isinstance(X, Columns) else read_columns(X, columns, codec)
    if labels.shape != (len(cells),):
        raise ValueError(f"labels must have one path for each of {len(cells)} rows, got shape {labels.shape}")
    if len(labels) and labels.max() >= len(hierarchy.paths):
        raise ValueError(f"labels must be below {len(hierarchy.paths)}, the number of paths, got {labels.max()}")
    rows, held = choose_rows(cells, labels)
    return _Explainer(cells.take(rows), hierarchy, labels[rows], held, labels).explanation()


def tree_names(X: Any, hierarchy: Hierarchy, labels: Any, codec: Codec | None = None) -> dict[str, Any]:
    """Names for a tree from the reasons for its branches, as `disentree.mimosa.explain.naming.with_names` takes
    them.

    Parameters
    ----------
    X : data frame or array of shape (n, p)
    hierarchy : Hierarchy
    labels : array-like of int of shape (n,)
        The path of each row; -1 for none.
    codec : Codec, default=None
        What the columns of a data frame are, if that is not to be inferred.

    Returns
    -------
    dict
    """
    if len(hierarchy.paths) < 2:
        return no_names()
    labels = np.asarray(labels)
    cells = read_columns(X, codec=codec)
    if not cells.are_named:
        return no_names()
    rows, held = choose_rows(cells, labels)
    explainer = _Explainer(cells.take(rows), hierarchy, labels[rows], held, labels)
    explainer.explain_splits(with_rules=False)
    return explainer.names


class _Explainer:
    """The rows of a tree by option, and what is found about each."""

    def __init__(
        self,
        columns: Columns,
        hierarchy: Hierarchy,
        labels: Int[np.ndarray, " n"],
        held: Bool[np.ndarray, " n"],
        all_labels: Int[np.ndarray, " m"],
    ):
        self.columns, self.hierarchy, self.held, self.labels = columns, hierarchy, held, labels
        self.counts = np.bincount(all_labels[all_labels >= 0], minlength=len(hierarchy.paths))
        self.n_rows = max(1, len(all_labels))
        self.choices = np.full((len(hierarchy.paths), hierarchy.n_variables), -1)
        for path in hierarchy.paths:
            for column, option in path.choices:
                self.choices[path.index, column] = option
        self.names = no_names()

    def explain_splits(self, with_rules: bool = True) -> dict[tuple[int, int], dict[str, Any]]:
        """What is said about each option, by its variable and number; and `names`."""
        splits: dict[tuple[int, int], dict[str, Any]] = {}
        taken = {v.name for v in self.hierarchy.variables}
        found = {
            v.index: self._reasons(v, with_rules) for v in self.hierarchy.variables if v.kind == "categorical"
        }
        for v in self.hierarchy.variables:
            if v.kind != "categorical":
                continue
            reasons = found[v.index]
            sizes = self._sizes(v)
            named = [
                reason_names(known, rule, sizes[k], sum(sizes) - sizes[k], k + 1) if self.columns.are_named else []
                for k, (known, rule) in enumerate(reasons)
            ]
            names = name_options(v.name, v.options, [[reason.text for reason in one] for one in named])
            used = [r for name, one in zip(names, named, strict=True) for r in one if r.text == name]
            new = name_categorical(v.name, used)
            if new != v.name:
                self.names["variables"][v.name] = unique(new, taken)
            self.names["options"][v.name] = dict(zip(v.options, names, strict=True))
            by_rule = {r.text for r in used if r.by_rule}
            for k, (name, (known, rule)) in enumerate(zip(names, reasons, strict=True)):
                splits[v.index, k] = self._split(v, k, name, known, rule, name in by_rule)
        return splits

    def explanation(self) -> Explanation:
        """What is said about the tree."""
        splits = self.explain_splits()
        shown = {place: split["name"] for place, split in splits.items()}
        leaves = [self._leaf(int(p), shown) for p in np.argsort(-self.counts, kind="stable")[:MOST_LEAVES]]
        return Explanation(
            list(self.columns.names),
            [splits[place] for place in self._downwards(None, None)],
            [leaf for leaf in leaves if leaf["rows"] or len(self.hierarchy.paths) <= MOST_LEAVES],
            names=self.names,
            held_out=int(self.held.sum()),
            factors=describe_factors(self.hierarchy, splits, self._what_varies),
        )

    def _downwards(self, parent: int | None, option: int | None) -> Iterator[tuple[int, int]]:
        """Options of categoricals, each before those below it."""
        for v in self.hierarchy.variables:
            if v.kind == "categorical" and (v.parent, v.option) == (parent, option):
                for k in range(v.n_options):
                    yield v.index, k
                    yield from self._downwards(v.index, k)

    def _reasons(self, v: Variable, with_rules: bool) -> list[tuple[list[Measured], Any]]:
        """Facts and a rule for each option of a categorical."""
        option = self.choices[self.labels, v.index]
        fit, held = [], []
        for k in range(v.n_options):
            fit.append(np.flatnonzero((option == k) & ~self.held))
            held.append(np.flatnonzero((option == k) & self.held))
        relations = [find_relations(self.columns, rows) for rows in fit]
        out, sizes = [], self._sizes(v)
        for k in range(v.n_options):
            there, held_there = (
                np.concatenate([*(part[i] for i in range(v.n_options) if i != k), np.zeros(0, np.int64)])
                for part in (fit, held)
            )
            side = Side(fit[k], there, held[k], held_there)
            if not len(side.here) or not len(there):
                out.append(([], None))
                continue
            others: list[Relation] = [r for i in range(v.n_options) if i != k for r in relations[i]]
            facts = find_facts(self.columns, side, relations[k], others)
            elsewhere = sum(sizes) - sizes[k]
            named = any(is_true_name(m.here, m.elsewhere, sizes[k], elsewhere) for m in facts)
            rule = find_rule(self.columns, side, [m.fact for m in facts]) if with_rules or not named else None
            out.append((facts, rule))
        return out

    def _sizes(self, v: Variable) -> list[int]:
        """Rows of each option of a categorical."""
        return [int(self.counts[self.choices[:, v.index] == k].sum()) for k in range(v.n_options)]

    def _split(
        self, v: Variable, k: int, name: str, facts: list[Measured], rule: Any, by_rule: bool
    ) -> dict[str, Any]:
        n = self._sizes(v)[k]
        texts = [facts[0].text, *(m.in_short for m in facts[1:])] if facts else []
        if by_rule:  # first what the branch is named by
            texts = [shares_text(rule.text, rule.found, rule.elsewhere), *(m.in_short for m in facts)]
        if texts:
            text = "; ".join(texts) + "."
        elif not self.columns.names:
            text = ""
        elif not n:
            text = "No row is here."
        elif v.n_options < 2:
            text = "All rows that get here."
        else:
            text = NOTHING_TELLS
        used = dict.fromkeys(name for m in facts for name in m.fact.columns)
        return {
            "path": self._path(v, k),
            "categorical": v.name,
            "option": v.options[k],
            "name": name,
            "share": n / self.n_rows,
            "rows": n,
            "columns": list(used),
            "text": text,
            "relations": [m.fact.text for m in facts if m.fact.is_exact],
            "rule": None if rule is None else rule.to_dict(),
        }

    def _path(self, v: Variable, k: int) -> list[str]:
        """The options from the root to this one."""
        out, here, option = [], v, k
        while True:
            out.append(here.options[option])
            if here.parent is None or here.option is None:
                return out[::-1]
            here, option = self.hierarchy.variables[here.parent], here.option

    def _what_varies(self, column: int) -> list[tuple[str, int, float]]:
        """Columns of numbers that vary more for one option of a categorical than for another: name, that option,
        and how many times the least variance; looked for in two thirds of the rows and measured on the rest."""
        option = self.choices[self.labels, column]
        ratios, most = [], []
        for part in (~self.held, self.held):
            variances = [self.columns.numbers[part & (option == k)] for k in np.unique(option[option >= 0])]
            if len(variances) < 2 or min(len(rows) for rows in variances) < 2 or not variances[0].shape[1]:
                return []
            spread = np.stack([np.nan_to_num(_variance(rows)) for rows in variances])
            ratios.append(spread.max(axis=0) / np.maximum(spread.min(axis=0), 1e-12 * spread.max() + 1e-300))
            most.append(np.unique(option[option >= 0])[spread.argmax(axis=0)])
        chosen = np.argsort(-ratios[0], kind="stable")[:MOST_VARYING]
        return [
            (self.columns.number_names[c], int(most[1][c]), float(ratios[1][c]))
            for c in chosen
            if most[0][c] == most[1][c] and min(ratios[0][c], ratios[1][c]) >= VARIES_MORE
        ]

    def _leaf(self, p: int, shown: Mapping[tuple[int, int], str]) -> dict[str, Any]:
        path, n = self.hierarchy.paths[p], int(self.counts[p])
        about = describe_leaf(self.columns, np.flatnonzero(self.labels == p), path.dimension)
        choices = list(path.choices)
        if len(choices) > FEW_CHOICES:
            choices = [(c, k) for c, k in choices if self._share(c, k) < 0.5]
        names = (self._name_beside(c, k, shown) for c, k in choices)
        return {
            "path": p,
            "name": ", ".join(names) or ("the usual" if path.choices else "all rows"),
            "options": [self.hierarchy.variables[c].options[k] for c, k in path.choices],
            "share": n / self.n_rows,
            "rows": n,
            "dimension": path.dimension,
            "columns": list(about.columns),
            "relations": list(about.relations),
            "text": (about.text if self.columns.names else "") if n else "No row is here.",
        }

    def _name_beside(self, column: int, option: int, shown: Mapping[tuple[int, int], str]) -> str:
        """The name of an option, with that of its categorical if one beside it has an option of that name."""
        name, own = shown[column, option], self.hierarchy.variables[column]
        for (c, _), other in shown.items():
            v = self.hierarchy.variables[c]
            if other == name and c != column and (v.parent, v.option) == (own.parent, own.option):
                return f"{own.name} = {name}"
        return name

    def _share(self, column: int, option: int) -> float:
        """The share of an option among the rows that may choose it."""
        here = self.choices[:, column]
        return float(self.counts[here == option].sum() / max(1, self.counts[here >= 0].sum()))


def _variance(rows: Float[np.ndarray, "n p"]) -> Float[np.ndarray, " p"]:
    """Of each column, without its empty cells; 0 where there are none."""
    known = ~np.isnan(rows)
    n = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, rows, 0.0).sum(axis=0) / n
    return np.where(known, (rows - mean) ** 2, 0.0).sum(axis=0) / n
