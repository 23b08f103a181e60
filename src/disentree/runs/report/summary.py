"""What a run found, read from its files once: the page and the terminal render the same summary."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Int

from disentree.hierarchy import Hierarchy
from disentree.mimosa.explain.verdict import properties_text, verdict
from disentree.runs.report.findings import Findings, read_findings
from disentree.runs.run import Run

FAR_LIKELIER = 20  # bits, a factor of a million: a larger one says no more
SURE, LIKELY = 3.0, 2.0  # standard errors that a saving must be above 0

TERMS = {  # on hover where they are used, and in a list below
    "group": "Rows that belong together: a branch of the tree.",
    "share": "How many of the rows that the tree was learned from are in a group.",
    "support": "How often a group was found again when only a random part of the rows was looked at.",
    "dimensions": "In how many independent ways the rows of a group differ from each other.",
    "bits": "One bit fewer means that a new row is predicted twice as well.",
    "flat model": "A model without groups: one cloud for all rows.",
    "held-out rows": "Rows that were set aside, to check with them what was learned from the others.",
    "core": "Rows that fit their group closely; the others were put where they fit best.",
}


@dataclass(frozen=True)
class Summary:
    """A run's files as far as they say what was found, and the sentences about it."""

    about: dict[str, Any]  # data.json
    structure: dict[str, Any]  # structure.json
    metrics: dict[str, Any]  # metrics.json
    hierarchy: Hierarchy  # the model's
    labels: Int[np.ndarray, " n"]  # the path of each row in it, see `Run.learned_tree`
    findings: Findings

    @classmethod
    def of(cls, run: Run) -> Summary:
        """The summary of a run whose model is scored."""
        hierarchy, labels = run.learned_tree
        findings = read_findings(run, hierarchy)
        return cls(run.about_data, run.structure, run.metrics, hierarchy, labels, findings)

    @cached_property
    def counts(self) -> Int[np.ndarray, " paths"]:
        """Rows on each path."""
        return np.bincount(self.labels[self.labels >= 0], minlength=len(self.hierarchy.paths))

    @property
    def n_leaves(self) -> int:
        """Leaves that rows are on."""
        return int((self.counts > 0).sum())

    @property
    def verdict(self) -> str:
        """What was found, in one sentence."""
        return verdict_of(self.structure, self.findings, self.n_leaves)

    @property
    def how_sure(self) -> list[str]:
        """What the tree saves, and how often it came back; nothing about one that was given or is one cloud."""
        told, again = saving(self.structure), self.findings.stability
        out = []
        if told and told["bits"]:
            far = self.structure["saved_bits"] > FAR_LIKELIER
            likelier = (
                "far likelier under this tree than" if far else f"{told['times']} as likely under this tree as"
            )
            out += [f"New rows are {likelier} under one Gaussian: {told['bits']} bits per row.", told["doubt"]]
        if again.get("tree") is not None and self.hierarchy.is_categorical.any():
            share, n = 100 * again["tree"], again["n_resamples"]
            out.append(f"Exactly the same tree came back in {share:.0f}% of {n} random parts of the rows.")
        return out


def verdict_of(structure: dict[str, Any], findings: Findings, n_leaves: int) -> str:
    """What was found, in one sentence, where rows are on so many leaves."""
    if structure["from"] in ("true", "given"):
        given = "is part of this data set" if structure["from"] == "true" else "was given"
        if properties := properties_text(findings.hierarchy):
            return f"The tree {given}: {properties}."
        return f"The tree {given}: {n_leaves} groups." if n_leaves > 1 else f"The structure {given}: one group."
    if said := findings.stability.get("verdict"):
        return said if said.endswith((".", "!")) else f"{said}."
    return verdict(findings.hierarchy)


def saving(structure: dict[str, Any]) -> dict[str, str] | None:
    """How much better the tree describes new rows than a model without groups: ``bits``, ``times`` and ``doubt``
    in words; None if that was not measured."""
    saved, doubt = structure["saved_bits"], structure["saved_bits_doubt"]
    if saved is None or doubt is None or structure["from"] != "mimosa":
        return None
    if saved <= 0:
        return {"bits": "", "times": "", "doubt": ""}
    low, high = max(0.0, saved - 2 * doubt), saved + 2 * doubt
    ratio = saved / doubt if doubt > 0 else np.inf
    sure = "This is far beyond chance" if ratio >= SURE else "This is more than chance would give"
    if ratio < LIKELY:
        sure = "This may be chance"
    doubt_words = f"{sure}: with other rows it would most likely be between {low:.2f} and {high:.2f}."
    return {"bits": f"{saved:.2f}", "times": _times(saved), "doubt": doubt_words}


def _times(bits: float) -> str:
    """2 to the power of some bits, in words."""
    if bits > FAR_LIKELIER:
        return "more than a million times"
    factor = 2.0**bits
    if factor >= 1e4:
        return f"about {factor / 1e3:,.0f} thousand times"
    return f"{factor:,.1f} times" if factor < 10 else f"about {factor:,.0f} times"
