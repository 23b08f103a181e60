"""The first screen of a report: what was found in a sentence, how sure that is, and the tree with its reasons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Int

from disentree.mimosa.explain.verdict import came_back, properties_text
from disentree.mimosa.explain.verdict import verdict as verdict_of
from disentree.runs.report.findings import Findings

FAR_LIKELIER = 20  # bits, a factor of a million: a larger one says no more
SURE, LIKELY = 3.0, 2.0  # standard errors that a saving must be above 0
NAMED_VARIABLES = 6  # of a branch, that are listed
MOST_NODES = 400  # of the tree, that are shown
FEW_NODES = 16  # of a larger tree, what is below the first branches is folded

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


def verdict(structure: dict[str, Any], findings: Findings, n_leaves: int) -> str:
    """What was found, in one sentence.

    Parameters
    ----------
    structure : dict
        ``structure.json``.
    findings : Findings
        Names, reasons and support.
    n_leaves : int
        Leaves of the model's tree that rows are on.

    Returns
    -------
    str
    """
    if structure["from"] in ("true", "given"):
        given = "is part of this data set" if structure["from"] == "true" else "was given"
        if properties := properties_text(findings.hierarchy):
            return f"The tree {given}: {properties}."
        return f"The tree {given}: {n_leaves} groups." if n_leaves > 1 else f"The structure {given}: one group."
    if said := findings.stability.get("verdict") or structure["verdict"]:
        return said if said.endswith((".", "!")) else f"{said}."
    return verdict_of(findings.hierarchy)


def _note(findings: Findings, categorical: str) -> str:
    """What is said of a choice whose options have no reasons."""
    if not findings.reasons:
        return ""
    return findings.factors.get(categorical, {}).get("reason") or "No column by itself tells these groups apart."


def saving(structure: dict[str, Any]) -> dict[str, str] | None:
    """How much better the tree describes new rows than a model without groups.

    Parameters
    ----------
    structure : dict
        ``structure.json``.

    Returns
    -------
    dict or None
        ``bits``, ``times`` and ``doubt`` in words; None if it was not measured.
    """
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


def how_sure(structure: dict[str, Any], findings: Findings) -> list[str]:
    """Sentences for a terminal: what the tree saves, and how often it came back.

    Parameters
    ----------
    structure : dict
        ``structure.json``.
    findings : Findings
        Names, reasons and support.

    Returns
    -------
    list of str
        Nothing about a structure that was given or is one cloud.
    """
    told, again = saving(structure), findings.stability
    out = []
    if told and told["bits"]:
        far = structure["saved_bits"] > FAR_LIKELIER
        likelier = "far likelier under this tree than" if far else f"{told['times']} as likely under this tree as"
        out.append(f"New rows are {likelier} under one Gaussian: {told['bits']} bits per row.")
        out.append(told["doubt"])
    if again.get("tree") is not None and findings.hierarchy.is_categorical.any():
        share, n = 100 * again["tree"], again["n_resamples"]
        out.append(f"Exactly the same tree came back in {share:.0f}% of {n} random parts of the rows.")
    return out


def _times(bits: float) -> str:
    """2 to the power of some bits, in words."""
    if bits > FAR_LIKELIER:
        return "more than a million times"
    factor = 2.0**bits
    if factor >= 1e4:
        return f"about {factor / 1e3:,.0f} thousand times"
    return f"{factor:,.1f} times" if factor < 10 else f"about {factor:,.0f} times"


def tree_nodes(
    findings: Findings, labels: Int[np.ndarray, " n"], examples: Mapping[int, str] | None = None
) -> dict[str, Any]:
    """The tree as nested dicts, for the template.

    Parameters
    ----------
    findings : Findings
        Names, reasons and support.
    labels : array of shape (n,)
        The path of each row, -1 for none.
    examples : mapping of int to str, optional
        Of images: by path, the address of a picture of some of them.

    Returns
    -------
    dict
        The root: ``free`` and ``more_free`` (variables with and without a telling name), and ``splits``, one for
        each categorical: ``name``, ``note`` (if no column tells its groups apart), ``support`` and ``weak`` (of an
        independent choice) and ``options``, which are
        such dicts with ``name``, ``share``, ``n_rows``, ``reason``, ``rule``, ``support``, ``weak``, ``leaf`` and
        ``examples``.
        ``folded`` says whether the splits inside are shown on request only.
    """
    hierarchy = findings.hierarchy
    large = sum(len(v.options) for v in hierarchy.variables) > FEW_NODES
    counts = np.bincount(labels[labels >= 0], minlength=len(hierarchy.paths))
    left = MOST_NODES

    def inside(parent: int | None, option: int | None) -> dict[str, Any]:
        nonlocal left
        own = [v for v in hierarchy.variables if v.parent == parent and v.option == option]
        numbers = [v.name for v in own if v.kind == "continuous"]
        named = [findings.variable_name(n) for n in numbers if findings.says_something(n)][:NAMED_VARIABLES]
        out: dict[str, Any] = {"dimensions": len(numbers), "free": named, "more_free": len(numbers) - len(named)}
        out |= {"splits": [], "cut": False, "folded": large and parent is not None}
        for v in own:
            if v.kind == "categorical":
                left -= len(v.options)
                if left < 0:
                    out["cut"] = True
                    break
                name = findings.variable_name(v.name) if findings.says_something(v.name) else ""
                options = [node(v.index, k) for k in range(len(v.options))]
                # images are seen
                told = examples or any(option["reason"] for option in options)
                support = findings.factor_support(v.name) if parent is None else None
                out["splits"].append(
                    {
                        "name": name,
                        "options": options,
                        "note": "" if told else _note(findings, v.name),
                        "support": support,
                        "weak": support is not None and not came_back(support),
                    }
                )
        return out

    def node(categorical: int, option: int) -> dict[str, Any]:
        variable = hierarchy.variables[categorical]
        key = (variable.name, variable.options[option])
        paths = [p.index for p in hierarchy.paths if (categorical, option) in p.choices]
        about = findings.reasons.get(key, {})
        support = findings.option_support(categorical, option)
        n_rows = int(counts[paths].sum())
        return {
            "name": findings.option_name(*key),
            "code": f"{key[0]} = {key[1]}",
            "n_rows": n_rows,
            "share": n_rows / max(1, len(labels)),
            "reason": findings.reason(*key),
            "rule": about.get("rule"),
            "support": support,
            "weak": support is not None and not came_back(support),
            "leaf": paths[0] if len(paths) == 1 else None,
            "examples": (examples or {}).get(paths[0], "") if len(paths) == 1 else "",
            **inside(categorical, option),
        }

    return inside(None, None)
