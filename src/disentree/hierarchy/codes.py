"""Codes for the columns of a hierarchy: where they are active, their paths, and whether they fit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike

from disentree.hierarchy.columns import Path, Variable
from disentree.hierarchy.tree import Continuous, Group


def as_codes(codes: ArrayLike, n_variables: int) -> Float[np.ndarray, "n v"]:
    """Codes as an array, if they have a column for each variable."""
    try:
        array = np.asarray(codes, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("codes must be a numeric array of shape (n_rows, n_variables)") from None
    if array.ndim != 2 or array.shape[1] != n_variables:
        raise ValueError(
            f"codes must have shape (n_rows, {n_variables}), one column for each variable of the "
            f"hierarchy; got {array.shape}"
        )
    return array


def active_columns(variables: Sequence[Variable], codes: Float[np.ndarray, "n v"]) -> Bool[np.ndarray, "n v"]:
    """Where the categoricals above a variable open its group."""
    on = np.ones(codes.shape, dtype=bool)
    for v in variables:
        if v.parent is not None:
            on[:, v.index] = on[:, v.parent] & (codes[:, v.parent] == v.option)
    return on


def path_indices(
    root: Group, variables: Sequence[Variable], codes: Float[np.ndarray, "n v"]
) -> Int[np.ndarray, " n"]:
    """The path of every row; -1 where an active categorical is NaN."""
    unassigned = np.zeros(len(codes), dtype=bool)
    index = _paths_below(root, 0, variables, codes, np.arange(len(codes)), unassigned)
    index[unassigned] = -1
    return index


def _paths_below(
    group: Group,
    column: int,
    variables: Sequence[Variable],
    codes: Float[np.ndarray, "n v"],
    rows: Int[np.ndarray, " m"],
    unassigned: Bool[np.ndarray, " n"],
) -> Int[np.ndarray, " m"]:
    """The path of each of `rows` among those through `group`, whose first column is `column`; marks rows
    without one in `unassigned`. No closure: one that calls itself would keep the codes alive."""
    index = np.zeros(len(rows), dtype=np.int64)
    for variable in group.variables:
        values, name = codes[rows, column], variables[column].name
        column += 1
        if isinstance(variable, Continuous):
            continue
        chosen, start = np.zeros(len(rows), dtype=np.int64), 0
        unknown = np.ones(len(rows), dtype=bool)
        for k, option in enumerate(variable.options):
            here = values == k
            unknown &= ~here
            chosen[here] = start + _paths_below(option, column, variables, codes, rows[here], unassigned)
            start += option.n_paths
            column += option.n_columns
        missing = np.isnan(values)
        if (unknown & ~missing).any():
            at = int(np.flatnonzero(unknown & ~missing)[0])
            raise ValueError(_not_an_option(int(rows[at]), name, values[at], len(variable.options)))
        unassigned[rows[missing]] = True
        index = index * start + chosen
    return index


def check_codes(variables: Sequence[Variable], codes: Float[np.ndarray, "n v"]) -> None:
    """Raise an error that names the first row and variable that break the rules of `Hierarchy.validate`."""
    on = active_columns(variables, codes)
    first, message = len(codes), ""
    for v in variables:
        values, active = codes[:, v.index], on[:, v.index]
        bad = np.where(active, ~np.isfinite(values), ~np.isnan(values))
        if v.kind == "categorical":
            option = np.isin(values, np.arange(v.n_options))
            bad |= active & ~option
        if not bad.any() or (row := int(np.argmax(bad))) >= first:
            continue
        first, value = row, values[row]
        if not active[row]:
            message = f"row {row}: variable {v.name!r} is inactive and must be NaN, got {value:g}"
        elif np.isnan(value):
            message = f"row {row}: variable {v.name!r} is active and must have a value, got NaN"
        elif v.kind == "categorical":
            message = _not_an_option(row, v.name, value, v.n_options)
        else:
            message = f"row {row}: variable {v.name!r} must be finite, got {value:g}"
    if message:
        raise ValueError(f"codes do not fit the hierarchy: {message}")


def draw_codes(
    variables: Sequence[Variable], n_samples: int, rng: np.random.Generator
) -> Float[np.ndarray, "n v"]:
    """Codes with every option equally likely and continuous variables uniform on [0, 1]."""
    codes = np.full((n_samples, len(variables)), np.nan)
    for v in variables:
        on = slice(None) if v.parent is None else codes[:, v.parent] == v.option
        n_on = len(codes[on])
        codes[on, v.index] = rng.random(n_on) if v.n_options == 0 else rng.integers(v.n_options, size=n_on)
    return codes


def transferred(
    codes: Float[np.ndarray, "n v"],
    path: Int[np.ndarray, " n"],
    paths: Sequence[Path],
    others: Sequence[Path],
    n_columns: int,
) -> Float[np.ndarray, "n w"]:
    """Codes on the paths of one hierarchy as codes on those of another."""
    if [p.dimension for p in paths] != [p.dimension for p in others]:
        raise ValueError("the other hierarchy must have the same paths with the same dimensions")
    out = np.full((len(codes), n_columns), np.nan)
    for mine, theirs in zip(paths, others, strict=True):
        rows = np.flatnonzero(path == mine.index)
        here = np.ix_(rows, np.array(mine.continuous, dtype=np.intp))
        there = np.ix_(rows, np.array(theirs.continuous, dtype=np.intp))
        out[there] = codes[here]
        for column, option in theirs.choices:
            out[rows, column] = option
    return out


def _not_an_option(row: int, name: str, value: float, n_options: int) -> str:
    return f"row {row}: categorical {name!r} must be an option index 0..{n_options - 1}, got {value:g}"
