"""What each variable of a model does to the columns of a table, from its 10th to its 90th percentile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from disentree.hierarchy import Hierarchy
from disentree.runs.report.columns import Shown

LOW, HIGH = 10, 90  # percentiles
FEWEST = 5  # rows that must have a variable
MOST_MOVES = 60  # columns of a variable, the largest movers first
CHANGED = 1.0  # part of the range that another category counts for


def variable_moves(
    columns: list[Shown],
    cells: Float[np.ndarray, "n c"],
    codes: Float[np.ndarray, "m v"],
    hierarchy: Hierarchy,
    decode: Callable[[Float[np.ndarray, "k v"]], Float[np.ndarray, "k c"]],
) -> list[dict[str, Any]]:
    """The columns that each continuous variable moves, while the others of its path are at their medians.

    Parameters
    ----------
    columns : list of Shown
        The columns.
    cells : array of shape (n, c)
        Of the data, which give the ranges that moves are measured by.
    codes : array of shape (m, v)
        Codes of some rows.
    hierarchy : Hierarchy
        The tree of the codes.
    decode : callable
        From codes to cells.

    Returns
    -------
    list of dict
        ``name`` and ``moves`` (``column``, ``from``, ``to``) of each variable that enough rows have; on the path
        that most of them are on.
    """
    paths = hierarchy.path_of(codes)
    ends, names = [], []
    for v in hierarchy.variables:
        has = ~np.isnan(codes[:, v.index]) & (paths >= 0)
        if v.kind == "categorical" or has.sum() < FEWEST:
            continue
        here = codes[paths == np.bincount(paths[has]).argmax()]
        code = np.full(hierarchy.n_variables, np.nan)
        there = ~np.isnan(here[0])
        code[there] = np.median(here[:, there], axis=0)
        categorical = there & hierarchy.is_categorical
        code[categorical] = here[0, categorical]
        for value in np.percentile(here[:, v.index], [LOW, HIGH]):
            ends.append(np.where(np.arange(len(code)) == v.index, value, code))
        names.append(v.name)
    if not ends:
        return []
    decoded = decode(np.array(ends)).reshape(len(names), 2, -1)
    spread = np.array([_spread(values) for values in cells.T])
    is_level = np.array([column.kind == "category" for column in columns])
    out = []
    for name, (start, end) in zip(names, decoded, strict=True):
        size = np.where(is_level, CHANGED * (start != end), np.abs(end - start) / spread)
        order = [j for j in np.argsort(-size, kind="stable")[:MOST_MOVES].tolist() if size[j] > 0]
        moves = [
            {"column": columns[j].name, "from": _value(columns[j], start[j]), "to": _value(columns[j], end[j])}
            for j in order
        ]
        out.append({"name": name, "moves": moves})
    return out


def _spread(values: Float[np.ndarray, " n"]) -> float:
    there = values[~np.isnan(values)]
    if not len(there):
        return 1.0
    low, high = np.percentile(there, [LOW, HIGH])
    return float(high - low) or float(np.ptp(there)) or 1.0


def _value(column: Shown, value: float) -> float | str:
    return column.text(value) if column.kind == "category" else float(value)
