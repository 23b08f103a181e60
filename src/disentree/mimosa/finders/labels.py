"""Numbering components: arrays with a component number for every point, -1 for none."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int


def rows_of(labels: Int[np.ndarray, " n"]) -> list[Int[np.ndarray, " _"]]:
    """The rows with label 0, those with label 1, ..."""
    order = np.argsort(labels, kind="stable")
    counts = np.bincount(labels + 1)
    return list(np.split(order, np.cumsum(counts)[:-1]))[1:] if len(counts) > 1 else []


def drop_small(labels: Int[np.ndarray, " n"], min_size: int) -> Int[np.ndarray, " n"]:
    """Labels 0, 1, ... for the components of at least `min_size` points, -1 for all else."""
    sizes = np.bincount(labels[labels >= 0], minlength=1)
    kept = np.flatnonzero(sizes >= max(min_size, 1))
    new = np.full(len(sizes), -1)
    new[kept] = np.arange(len(kept))
    return np.where(labels >= 0, new[labels], -1)


def renumber(labels: Int[np.ndarray, " n"], dimensions: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
    """Number components by dimension, the larger first within a dimension."""
    labels = drop_small(labels, 1)
    if labels.max(initial=-1) < 0:
        return labels
    pieces = rows_of(labels)
    order = sorted(range(len(pieces)), key=lambda c: (dimensions[pieces[c][0]], -len(pieces[c]), pieces[c][0]))
    new = np.empty(len(pieces), dtype=np.int64)
    new[order] = np.arange(len(pieces))
    return np.where(labels >= 0, new[labels], -1)
