"""Statistics of codes by variable and path, small enough to store with a model."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from disentree.hierarchy.hierarchy import Hierarchy

BINS = 32
MAX_PATHS = 500  # the rarest beyond these are left out
_RANGE_WITHOUT_ROWS = (-2.0, 2.0)


def code_statistics(hierarchy: Hierarchy, codes: ArrayLike) -> dict[str, Any]:
    """Ranges, percentiles and histograms of codes, ready for JSON.

    ``ranges`` has the lowest and the highest value of every continuous variable, None for categoricals. ``paths``
    has, for every path with rows, the chosen option of every categorical (None where it is not active), the number
    of rows, and for each of its continuous variables (by column) the 1st, 50th and 99th percentile and a histogram
    over the variable's range. Rows without a path count in ``n_rows`` only.

    Examples
    --------
    >>> h = Hierarchy.flat(1, (2,))
    >>> s = code_statistics(h, [[0.0, 0], [0.5, 0], [1.0, 0], [2.0, 1]])
    >>> s["ranges"], [(p["choices"], p["n_rows"]) for p in s["paths"]]
    ([[0.0, 2.0], None], [([0], 3), ([1], 1)])
    >>> s["paths"][0]["variables"]["0"]["percentiles"][1]
    0.5
    """
    codes = np.asarray(codes, dtype=np.float64)
    categorical = np.flatnonzero(hierarchy.is_categorical)
    ranges = [_range(codes[:, v.index]) if v.kind == "continuous" else None for v in hierarchy.variables]
    choices = np.nan_to_num(codes[:, categorical], nan=-1).astype(np.int64)
    on = hierarchy.active(codes)[:, categorical]
    assigned = ~(on & np.isnan(codes[:, categorical])).any(axis=1)
    kinds, path, sizes = np.unique(choices[assigned], axis=0, return_inverse=True, return_counts=True)
    path = path.reshape(-1)
    paths = []
    for p in np.argsort(-sizes, kind="stable")[:MAX_PATHS]:
        here = codes[assigned][path == p]
        variables = {}
        for v in hierarchy.variables:
            low_high = ranges[v.index]
            if low_high is not None and not np.isnan(here[0, v.index]):
                variables[str(v.index)] = _describe(here[:, v.index], low_high)
        chosen = [None if k < 0 else int(k) for k in kinds[p]]
        paths.append({"choices": chosen, "n_rows": int(sizes[p]), "variables": variables})
    return {"n_rows": len(codes), "ranges": ranges, "paths": paths}


def _range(values: Float[np.ndarray, " n"]) -> list[float]:
    values = values[~np.isnan(values)]
    if not len(values):
        return list(_RANGE_WITHOUT_ROWS)
    low, high = float(values.min()), float(values.max())
    if high - low <= 1e-9 * max(abs(low), abs(high), 1e-300):  # a variable that never moves can still be moved
        return [low - 1.0, high + 1.0]
    return [_short(low, 8), _short(high, 8)]


def _describe(values: Float[np.ndarray, " n"], low_high: list[float]) -> dict[str, Any]:
    low, high = low_high
    counts = np.histogram(values.clip(low, high), bins=BINS, range=(low, high))[0]
    return {
        "percentiles": [_short(q) for q in np.percentile(values, [1, 50, 99])],
        "histogram": np.rint(counts * (100 / max(1, counts.max()))).astype(int).tolist(),
    }


def _short(value: float, digits: int = 6) -> float:
    return float(f"{value:.{digits}g}")
