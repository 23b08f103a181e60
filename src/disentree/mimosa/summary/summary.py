"""The summary of a tree: the one object that terminal, report, page, model card and notebook render."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from jaxtyping import Int

from disentree.hierarchy import Hierarchy
from disentree.hierarchy.hierarchy import Variable
from disentree.mimosa.explain.factors import factor_columns
from disentree.mimosa.explain.sentences import no_reason_sentence, rule_sentence
from disentree.mimosa.summary.contents import Branch, Contents, Division
from disentree.mimosa.summary.page import page
from disentree.mimosa.summary.text import markdown, text
from disentree.mimosa.summary.wording import footnote, sentences

Option = tuple[int, int]  # the column of a categorical, and the number of one of its options


@dataclass(frozen=True)
class Summary(Contents):
    """What was found, and how it is rendered.

    `print` shows it as text, a notebook as HTML.

    Examples
    --------
    >>> from disentree import Hierarchy
    >>> print(summarize(Hierarchy.flat(1, (2,)), [0, 0, 1]))
    2 groups of rows: 0 (66.7 %) and 1 (33.3 %).
    Within every group rows differ in 1 variable.
    <BLANKLINE>
    ○ z1
    ◇ c1
    ├── 0 (66.7 %) ∅
    └── 1 (33.3 %) ∅
    """

    @property
    def sentences(self) -> list[str]:
        """What was found, what varies in it and how sure it is, in three sentences at most."""
        return sentences(self)

    @property
    def footnote(self) -> str:
        """The bits, and the runner-up; empty if they are not known."""
        return footnote(self)

    def text(self, full: bool = False) -> str:
        """The first screen of a terminal; all of the tree if it is to be `full`."""
        return text(self, full)

    def markdown(self, full: bool = False) -> str:
        """The same as Markdown."""
        return markdown(self, full)

    def html(self) -> str:
        """The same as HTML, with reasons."""
        return page(self)

    def to_dict(self) -> dict[str, Any]:
        """As JSON: the sentences, the footnote, and what they are made of."""
        return {"sentences": self.sentences, "footnote": self.footnote, **asdict(self)}

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return self.html()


def summarize(
    hierarchy: Hierarchy,
    labels: Any = None,
    *,
    evidence: Sequence[Mapping[str, Any]] = (),
    stability: Mapping[str, Any] | None = None,
    reasons: Mapping[Option, Mapping[str, Any]] | None = None,
    choices: Mapping[int, str] | None = None,
    plain: Hierarchy | None = None,
    **about: Any,
) -> Summary:
    """The summary of a tree.

    `labels` is the path of each row, -1 for none; `evidence` is what `MIMOSA.divisions_` says about the
    categoricals, `stability` what resamples of the rows say, as JSON. `reasons` are the splits of an explanation
    by option, `choices` what it says about independent choices by column, and `plain` is the tree with the names
    that the files of a run have. `about` are further fields of the summary.
    """
    return _Maker(hierarchy, labels, evidence, stability, reasons or {}, choices or {}, plain).summary(about)


class _Maker:
    """What is known about the options of a tree, by column and number."""

    def __init__(
        self,
        hierarchy: Hierarchy,
        labels: Any,
        evidence: Sequence[Mapping[str, Any]],
        stability: Mapping[str, Any] | None,
        reasons: Mapping[Option, Mapping[str, Any]],
        choices: Mapping[int, str],
        plain: Hierarchy | None,
    ):
        self.hierarchy, self.reasons, self.choices = hierarchy, reasons, choices
        self.plain = plain
        labels = np.zeros(0, np.int64) if labels is None else np.asarray(labels)
        self.counts: Int[np.ndarray, " paths"] = np.bincount(labels[labels >= 0], minlength=len(hierarchy.paths))
        self.n_rows = len(labels)
        self.bits: dict[int, float] = {one["variable"]: one["bits"] for one in evidence}
        self.support: dict[Option, float] = {
            (one["variable"], k): share
            for one in evidence
            for k, share in enumerate(one["support"])
            if share is not None
        }
        self.chosen: dict[int, float] = {}  # of independent choices
        self.resamples = 0
        if stability:
            self._read(stability)

    def _read(self, stability: Mapping[str, Any]) -> None:
        """Take support from resamples, whose branches and choices are in the order of the tree."""
        self.resamples = int(stability["n_resamples"])
        options = [(v.index, k) for v in self.hierarchy.variables for k in range(v.n_options)]
        told, behind = stability.get("branches", ()), {one["path"]: one for one in stability.get("components", ())}
        if len(told) != len(options):  # those of the leaves
            paths = [[path.index for path in self.hierarchy.paths if place in path.choices] for place in options]
            told = [behind.get(own[0], {}) if len(own) == 1 else {} for own in paths]
        pairs = ((place, one.get("support")) for place, one in zip(options, told, strict=True))
        self.support = {place: share for place, share in pairs if share is not None}
        columns, told = factor_columns(self.hierarchy), stability.get("factors", ())
        if len(told) == len(columns):
            pairs = zip(columns, told, strict=True)
            self.chosen = {column: one["support"] for column, one in pairs if one["support"] is not None}

    def summary(self, about: dict[str, Any]) -> Summary:
        variables, divisions = self._inside(None, None)
        root = Branch("all rows", self.n_rows, float(self.n_rows > 0), variables, divisions)
        known = int((self.counts > 0).sum()) if self.n_rows else len(self.counts)
        dimension = self.hierarchy.paths[0].dimension
        return Summary(root, known, dimension, resamples=self.resamples, **about)

    def _inside(self, parent: int | None, option: int | None) -> tuple[tuple[str, ...], tuple[Division, ...]]:
        own = [v for v in self.hierarchy.variables if (v.parent, v.option) == (parent, option)]
        numbers = tuple(v.name for v in own if v.kind == "continuous")
        return numbers, tuple(self._division(v) for v in own if v.kind == "categorical")

    def _division(self, v: Variable) -> Division:
        branches = tuple(self._branch(v, k) for k in range(v.n_options))
        known = [one.support for one in branches if one.support is not None]
        support = self.chosen.get(v.index, min(known) if known and not self.resamples else None)
        note = ""
        if self.reasons and not any(one.reason for one in branches):
            note = self.choices.get(v.index) or no_reason_sentence().replace("these rows from the others", "them")
        return Division(v.name, branches, self.bits.get(v.index), support, note)

    def _branch(self, v: Variable, k: int) -> Branch:
        behind = [path.index for path in self.hierarchy.paths if (v.index, k) in path.choices]
        n, said = int(self.counts[behind].sum()), self.reasons.get((v.index, k))
        reason = "" if said is None or said["text"] == no_reason_sentence() else said["text"]
        files = None if self.plain is None else self.plain.variables[v.index]
        return Branch(
            v.options[k],
            n,
            n / max(1, self.n_rows),
            *self._inside(v.index, k),
            path=behind[0] if len(behind) == 1 else None,
            code="" if files is None else f"{files.name} = {files.options[k]}",
            reason=reason,
            rule="" if said is None else rule_sentence(said),
            support=self.support.get((v.index, k)),
        )
