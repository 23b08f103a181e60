"""What the rows of each leaf of a table are like: its columns against those of all rows, and typical rows.

Written to ``leaves.json`` when the model is scored, since a report is written without the data.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from disentree.hierarchy import Hierarchy
from disentree.runs.report.columns import Shown

BINS = 20  # of the histogram of a column
FEW_VALUES = 12  # a column of so many numbers has a bar for each
TAILS = (0.005, 0.995)  # quantiles between which bins lie; the rest is in the first and the last
MOST_COLUMNS = 300  # of a leaf: those in which it differs most
MOST_LEAVES = 64  # the largest
N_TYPICAL = 3


def leaf_profiles(
    columns: list[Shown],
    cells: Float[np.ndarray, "n c"],
    features: Float[np.ndarray, "n f"],
    labels: Int[np.ndarray, " n"],
    numbers: Int[np.ndarray, " n"],
    hierarchy: Hierarchy,
) -> dict[str, Any]:
    """Distributions of the columns in each leaf and in all rows, and the most typical rows, as ``leaves.json`` has
    them.

    `features` are the same rows as the model has them: typical rows are nearest to the leaf's median in these.
    `numbers` is what each row is called.
    """
    binned = [_bins(column, values) for column, values in zip(columns, cells.T, strict=True)]
    everywhere = [_counted(values, bins) for values, bins in zip(cells.T, binned, strict=True)]
    out: dict[str, Any] = {
        "n_rows": len(cells),
        "columns": [
            {"name": c.name, "kind": c.kind, "levels": list(c.levels), "empty": c.empty,
             "bins": None if bins is None else bins.tolist(), **counted}
            for c, bins, counted in zip(columns, binned, everywhere, strict=True)
        ],
        "leaves": [],
    }  # fmt: skip
    for about, here in groups_of(hierarchy, labels):
        typical = here[_nearest_to_median(features[here])]
        rows = []
        for j, (values, bins) in enumerate(zip(cells.T, binned, strict=True)):
            mine = _counted(values[here], bins)
            shown = [None if np.isnan(v) else float(v) for v in values[typical]]
            apart = _difference(mine, everywhere[j], ordered=columns[j].kind != "category")
            rows.append({"column": j, "difference": round(apart, 4), **mine, "typical": shown})
        rows.sort(key=lambda row: -row["difference"])
        said = {"n_rows": len(here), "typical": numbers[typical].tolist(), "columns": rows[:MOST_COLUMNS]}
        out["leaves"].append({**about, **said})
    return out


def groups_of(
    hierarchy: Hierarchy, labels: Int[np.ndarray, " n"]
) -> list[tuple[dict[str, Any], Int[np.ndarray, " k"]]]:
    """The groups of rows that are described: the leaves; or the branches of a tree with several categoricals side
    by side, whose leaves are all combinations of their options.

    The path or the categorical and option of each, and its rows; the largest if there are many, in the order of
    the tree.
    """
    counts = np.bincount(labels[labels >= 0], minlength=len(hierarchy.paths))
    beside = [(v.parent, v.option) for v in hierarchy.variables if v.kind == "categorical"]
    found: list[tuple[dict[str, Any], list[int]]]
    if len(beside) == len({*beside}):
        found = [({"path": int(p), "choice": None}, [int(p)]) for p in np.flatnonzero(counts)]
    else:
        inside: dict[tuple[int, int], list[int]] = {}
        for path in (hierarchy.paths[int(p)] for p in np.flatnonzero(counts)):
            for choice in path.choices:
                inside.setdefault(choice, []).append(path.index)
        found = [({"path": None, "choice": list(c)}, inside[c]) for c in sorted(inside)]
    sizes = np.array([counts[paths].sum() for _, paths in found])
    kept = sorted(np.argsort(-sizes, kind="stable")[:MOST_LEAVES].tolist())
    return [(found[i][0], np.flatnonzero(np.isin(labels, found[i][1]))) for i in kept]


def _bins(column: Shown, values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " b"] | None:
    """Edges of a histogram; the values themselves if they are few, None for categories."""
    if column.kind == "category":
        return None
    there = values[~np.isnan(values)]
    distinct = np.unique(there)
    if len(distinct) <= FEW_VALUES:
        return np.append(distinct, distinct[-1:] + 1)
    low, high = np.quantile(there, TAILS)
    if low == high:
        low, high = distinct[0], distinct[-1]
    return np.linspace(low, high, BINS + 1)


def _counted(values: Float[np.ndarray, " n"], bins: Float[np.ndarray, " b"] | None) -> dict[str, Any]:
    """Rows by bin or level, empty cells, and the median of numbers."""
    there = values[~np.isnan(values)]
    out: dict[str, Any] = {"n_empty": int(len(values) - len(there)), "median": None}
    if bins is None:
        return {**out, "counts": np.bincount(there.astype(np.int64)).tolist()}
    if len(there):
        out["median"] = float(np.median(there))
    places = np.clip(np.searchsorted(bins, there, side="right") - 1, 0, len(bins) - 2)
    return {**out, "counts": np.bincount(places, minlength=len(bins) - 1).tolist()}


def _difference(mine: dict[str, Any], all_rows: dict[str, Any], ordered: bool) -> float:
    """How far a column's distribution in a leaf is from that in all rows, from 0 to 1: the largest distance of
    cumulative shares for numbers, half the sum of differences for categories; empty cells count as a value."""
    a, b = np.zeros(max(1, len(all_rows["counts"]))), np.array(all_rows["counts"] or [0], float)
    a[: len(mine["counts"])] = mine["counts"]
    a, b = np.append(a, mine["n_empty"]), np.append(b, all_rows["n_empty"])
    a, b = a / max(1, a.sum()), b / max(1, b.sum())
    if ordered:
        return float(max(np.abs(np.cumsum(a - b)[:-1]).max(), abs(a[-1] - b[-1])))
    return float(np.abs(a - b).sum() / 2)


def _nearest_to_median(features: Float[np.ndarray, "n f"]) -> Int[np.ndarray, " k"]:
    off = np.square(features - np.median(features, axis=0)).sum(axis=1)
    return np.argsort(off, kind="stable")[:N_TYPICAL]
