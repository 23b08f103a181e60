"""What a run found, read from its files once: the summary that page, terminal and explorer render."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Int

from disentree.hierarchy import Hierarchy
from disentree.mimosa.summary.summary import Summary, summarize
from disentree.mimosa.summary.wording import runner_up
from disentree.runs.report.findings import Findings, read_findings
from disentree.runs.run import Run

TERMS = {  # in a list below the tree
    "group": "Rows that belong together: a branch of the tree.",
    "share": "How many of the rows that the tree was learned from are in a group.",
    "support": "How far a group was found again when only a part of the rows was looked at.",
    "variable": "One number in which the rows of a group differ from each other; it may move several columns.",
    "bits": "One bit fewer means that a new row is predicted twice as well.",
    "one cloud": "A model without groups.",
    "held-out rows": "Rows that were set aside, to check with them what was learned from the others.",
    "core": "Rows that fit their group closely; the others were put where they fit best.",
}


@dataclass(frozen=True)
class RunSummary:
    """A run's files as far as they say what was found."""

    about: dict[str, Any]  # data.json
    structure: dict[str, Any]  # structure.json
    metrics: dict[str, Any]  # metrics.json
    hierarchy: Hierarchy  # the model's
    labels: Int[np.ndarray, " n"]  # the path of each row in it, see `Run.learned_tree`
    findings: Findings

    @classmethod
    def of(cls, run: Run) -> RunSummary:
        """That of a run whose model is scored."""
        hierarchy, labels = run.learned_tree
        structure = run.structure
        if hierarchy != run.hierarchy:  # a flat model has its own
            structure = {**structure, "divisions": []}
        return cls(run.about_data, structure, run.metrics, hierarchy, labels, read_findings(run, hierarchy))

    @cached_property
    def counts(self) -> Int[np.ndarray, " paths"]:
        """Rows on each path."""
        return np.bincount(self.labels[self.labels >= 0], minlength=len(self.hierarchy.paths))

    @property
    def n_leaves(self) -> int:
        """Leaves that rows are on."""
        return int((self.counts > 0).sum())

    @cached_property
    def found(self) -> Summary:
        """What was found."""
        return found_by(self.structure, self.findings, self.labels)


def found_by(structure: dict[str, Any], findings: Findings, labels: Int[np.ndarray, " n"] | None) -> Summary:
    """The summary of the tree of a run, with the names that users gave it."""
    hierarchy = findings.hierarchy
    columns = {v.name: v.index for v in hierarchy.variables}
    choices = [v.index for v in hierarchy.variables if v.kind == "categorical"]
    evidence = structure["divisions"]
    if len(evidence) == len(choices):  # a model may have moved variables: its choices are in the same order
        evidence = [{**one, "variable": column} for one, column in zip(evidence, choices, strict=True)]
    places = {(v.name, name): (v.index, k) for v in hierarchy.variables for k, name in enumerate(v.options)}
    about = {
        "source": structure["from"].removesuffix("-paper"),
        "notes": tuple(findings.lost),
        "told": tuple(structure["told"]),
        "nowhere": structure["nowhere"],
    }
    if structure.get("saved_bits") is not None:
        about |= {"saved": structure["saved_bits"], "doubt": structure["saved_bits_doubt"]}
        about["runner_up"] = runner_up(structure["candidates"])
    return summarize(
        findings.shown_hierarchy(),
        labels,
        evidence=evidence,
        stability=findings.stability,
        reasons={places[key]: said for key, said in findings.reasons.items() if key in places},
        choices={columns[name]: said["reason"] for name, said in findings.factors.items() if name in columns},
        plain=hierarchy,
        **about,
    )
