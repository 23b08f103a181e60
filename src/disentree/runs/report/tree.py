"""The tree of a report, as its template draws it: names, shares, reasons and support of every branch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Int

from disentree.mimosa.explain.sentences import rule_sentence
from disentree.mimosa.explain.verdict import came_back
from disentree.runs.report.findings import Findings

NAMED_VARIABLES = 6  # of a branch, that are listed
MOST_NODES = 400  # of the tree, that are shown
FEW_NODES = 16  # of a larger tree, what is below the first branches is folded


def tree_nodes(
    findings: Findings, labels: Int[np.ndarray, " n"], examples: Mapping[int, str] | None = None
) -> dict[str, Any]:
    """The tree as nested dicts, for the template; `labels` is the path of each row, `examples` of images by path
    the address of a picture of some of them.

    The root has ``free`` and ``more_free`` (variables with and without a telling name), and ``splits``, one for
    each categorical: ``name``, ``note`` (if no column tells its groups apart), ``support`` and ``weak`` (of an
    independent choice) and ``options``, which are such dicts with ``name``, ``share``, ``n_rows``, ``reason``,
    ``rule``, ``support``, ``weak``, ``leaf`` and ``examples``. ``folded`` says whether the splits inside are shown
    on request only.
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
            "rule": rule_sentence(about),
            "support": support,
            "weak": support is not None and not came_back(support),
            "leaf": paths[0] if len(paths) == 1 else None,
            "examples": (examples or {}).get(paths[0], "") if len(paths) == 1 else "",
            **inside(categorical, option),
        }

    return inside(None, None)


def _note(findings: Findings, categorical: str) -> str:
    """What is said of a choice whose options have no reasons."""
    if not findings.reasons:
        return ""
    return findings.factors.get(categorical, {}).get("reason") or "No column by itself tells these groups apart."
