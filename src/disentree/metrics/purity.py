"""Purity and coverage of an assignment of points to leaves (the paper's MIMOSA metrics)."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int
from numpy.typing import ArrayLike


def purity_score(true_paths: ArrayLike, labels: ArrayLike) -> float:
    """The share of assigned points that belong to the majority of the learned leaf they were assigned to.

    Every learned leaf votes for the true path that most of its points come from; the fractions that agree are
    averaged with the leaves' sizes as weights.

    Parameters
    ----------
    true_paths : array-like of int, shape (n,)
        True path of every point, in any numbering. Points with -1 (unknown) do not count.
    labels : array-like of int, shape (n,)
        Learned leaf of every point, in any numbering. Points with -1 (not assigned) do not count.

    Returns
    -------
    float
        Between 0 and 1; 1 is best. 0 if nothing is assigned.

    Examples
    --------
    >>> purity_score([0, 0, 1, 1, 1], [7, 7, 3, 3, 7])
    0.8
    >>> purity_score([0, 0, 1, 1, 1], [7, 7, 3, 3, -1])
    1.0
    """
    counts, _ = count_classes(true_paths, labels, ("true_paths", "labels"))
    return float(counts.max(axis=1).sum() / counts.sum()) if counts.size else 0.0


def coverage_score(labels: ArrayLike) -> float:
    """The share of points that were assigned to a leaf.

    Parameters
    ----------
    labels : array-like of int, shape (n,)
        Learned leaf of every point; -1 stands for none.

    Returns
    -------
    float
        Between 0 and 1; 1 is best.

    Examples
    --------
    >>> coverage_score([0, 2, -1, 1])
    0.75
    """
    found = as_labels(labels, "labels")
    return float((found >= 0).mean())


def count_classes(
    classes: ArrayLike, leaves: ArrayLike, names: tuple[str, str]
) -> tuple[Int[np.ndarray, "leaves classes"], Int[np.ndarray, " leaves"]]:
    """Rows of each class on each leaf that has any, and which leaves these are; rows with -1 do not count. `names`
    are those of the arguments."""
    truth, found = as_labels(classes, names[0]), as_labels(leaves, names[1])
    if len(truth) != len(found):
        raise ValueError(f"{' and '.join(names)} must have the same length, got {len(truth)} and {len(found)}")
    counted = (truth >= 0) & (found >= 0)
    kinds, truth = np.unique(truth[counted], return_inverse=True)
    which, found = np.unique(found[counted], return_inverse=True)
    flat = np.bincount(found * len(kinds) + truth, minlength=len(which) * len(kinds))
    return flat.reshape(len(which), len(kinds)), which


def as_labels(values: ArrayLike, name: str) -> Int[np.ndarray, " n"]:
    """Whole numbers from -1, or a ValueError that names the argument."""
    array = np.asarray(values)
    if array.ndim != 1 or not len(array):
        raise ValueError(f"{name} must be one-dimensional with at least one entry, got shape {array.shape}")
    if array.dtype == bool or array.dtype.kind not in "iuf":
        raise ValueError(f"{name} must hold whole numbers, got {array.dtype}")
    if not np.isfinite(array).all() or (array != np.floor(array)).any():
        raise ValueError(f"{name} must hold whole numbers, -1 for points that are not assigned")
    if array.min() < -1:
        raise ValueError(f"{name} must be -1 or more, got {int(array.min())}")
    return array.astype(np.int64)
