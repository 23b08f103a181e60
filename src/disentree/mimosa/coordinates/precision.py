"""The precision of data: the grid that values come on, or the rounding of floats."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from disentree.mimosa.coordinates.constants import COORDINATES


def column_precision(x: Float[np.ndarray, " n"]) -> float:
    """Step of the grid that a column's values come on, or its rounding.

    The step is the largest number of which all differences between values are whole multiples; after the smallest
    difference itself, decimal steps (1, 2 or 5 times a power of ten) are tried from coarse to fine. Values
    that hardly repeat are not on a grid that matters.
    """
    values = np.unique(x)
    rounding = COORDINATES.float_steps * np.spacing(float(np.abs(x).max())) if len(x) else 0.0
    if len(values) < 2:
        return float(max(rounding, np.finfo(float).tiny))
    differences = np.diff(values)
    smallest = float(differences.min())
    if 1 - len(values) / len(x) < COORDINATES.tied or smallest <= rounding:
        return float(rounding)
    if len(differences) > 2000:
        differences = differences[:: len(differences) // 2000]
    # A grid in whatever unit, also standardized: every step is a whole number of the smallest.
    steps = differences / smallest
    if np.abs(steps - np.round(steps)).max() < COORDINATES.off_grid:
        return smallest
    top = int(np.floor(np.log10(smallest))) + 1
    for power in range(top, top - 6, -1):
        for step in (5.0, 2.0, 1.0):
            h = step * 10.0**power
            if h > smallest * (1 + COORDINATES.off_grid):
                continue
            steps = differences / h
            if np.all(np.abs(steps - np.round(steps)) < COORDINATES.off_grid * np.maximum(1, steps * 1e-6)):
                return float(h)
    return float(max(rounding, smallest if len(values) < 0.1 * len(x) else rounding))


def precision_of(X: Float[np.ndarray, "n p"]) -> Float[np.ndarray, " p"]:
    """Precision of each column."""
    return np.array([column_precision(X[:, j]) for j in range(X.shape[1])])


def rotated(precision: Float[np.ndarray, " p"], basis: Float[np.ndarray, "D p"]) -> Float[np.ndarray, " D"]:
    """Precision along each row of an orthonormal basis: grids of columns act as independent errors."""
    return np.sqrt((basis**2) @ (precision**2))
