"""Which leaf encloses which: rows of the smaller one must be within the span and the reach of the larger one."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.spatial import KDTree

from disentree.mimosa.candidate import Candidate
from disentree.mimosa.finders.leaf_density import Leaf
from disentree.mimosa.inner_leaf import InnerLeaf

UNLIKELY = 0.02  # rows that are further out than all but this share of a leaf's own are not in its reach
WITHIN = 0.6  # share of the smaller leaf's rows in reach of the larger one
SAMPLE = 500  # rows of a leaf that are looked at


def enclosures(
    candidate: Candidate, Z: Float[np.ndarray, "n D"], labels: Int[np.ndarray, " n"]
) -> tuple[Bool[np.ndarray, "k k"], Float[np.ndarray, "k k"]]:
    """Entry [low, high]: whether `high`, of more dimensions, encloses `low`; and how far its rows are from those
    of `low`, for a choice of several."""
    k = len(candidate.components)
    encloses, distances = np.zeros((k, k), dtype=bool), np.full((k, k), np.inf)
    rows = [np.flatnonzero(labels == c) for c in range(k)]
    some = [r[np.linspace(0, len(r) - 1, min(len(r), SAMPLE)).astype(int)] for r in rows]
    dims = candidate.dimensions
    for high, leaf in enumerate(candidate.components):
        lower = [low for low in range(k) if dims[low] < dims[high] and len(some[low])]
        if len(rows[high]) < 2 or not lower:
            continue
        limits = [np.quantile(values, 1 - UNLIKELY) for values in outwardness(leaf, Z[some[high]])]
        own = _along(leaf, Z[rows[high]])
        tree = KDTree(own)
        spacing = np.asarray(tree.query(_along(leaf, Z[some[high]]), 2)[0])[:, 1].mean()
        for low in lower:
            values = outwardness(leaf, Z[some[low]])
            inside = np.all([value <= limit for value, limit in zip(values, limits, strict=True)], axis=0)
            encloses[low, high] = inside.mean() >= WITHIN
            distance = float(np.mean(tree.query(_along(leaf, Z[some[low]]))[0]))
            distances[low, high] = distance / max(spacing, 1e-300)
    return encloses, distances


def outwardness(leaf: Any, Z: Float[np.ndarray, "n D"]) -> tuple[Float[np.ndarray, " n"], ...]:
    """What grows with the distance from a leaf: along it and across it, or the unlikelihood if its density knows
    no such directions. Charts reach over gaps between their rows; a smaller leaf may well be in the gap."""
    if isinstance(leaf, InnerLeaf):
        return *outwardness(leaf.leaf, leaf.frame(Z)), (leaf.frame.across(Z) ** 2).sum(axis=1)
    return leaf.squares(Z) if isinstance(leaf, Leaf) else (-leaf.log_density(Z),)


def _along(leaf: Any, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "n q"]:
    """Rows in the tangent coordinates of a leaf of one chart, where noise across it does not show."""
    if isinstance(leaf, InnerLeaf):
        return _along(leaf.leaf, leaf.frame(Z))
    flat = isinstance(leaf, Leaf) and len(leaf.tiles) == 1 and leaf.dimension > 0
    return leaf.tiles[0].chart.split(Z)[0] if flat else Z
