"""Which leaf encloses which: rows of the smaller one must be within the span and the reach of the larger one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.spatial import KDTree

from disentree.mimosa.constants import FIT
from disentree.mimosa.density.candidate import Candidate, Leaf
from disentree.mimosa.tree.building import thinned
from disentree.mimosa.tree.constants import TREE


def enclosures(
    candidate: Candidate, Z: Float[np.ndarray, "n D"], labels: Int[np.ndarray, " n"]
) -> tuple[Bool[np.ndarray, "k k"], Float[np.ndarray, "k k"]]:
    """Entry [low, high]: whether `high`, of more dimensions, encloses `low`; and how far its rows are from those
    of `low`, for a choice of several. Charts reach over gaps between their rows; a smaller leaf may well be in the
    gap."""
    leaves, dims = candidate.components, candidate.dimensions
    k = len(leaves)
    encloses, distances = np.zeros((k, k), dtype=bool), np.full((k, k), np.inf)
    if candidate.is_apart:
        return encloses, distances
    rows = [np.flatnonzero(labels == c) for c in range(k)]
    some = [thinned(r, FIT.sample) for r in rows]
    for high, leaf in enumerate(leaves):
        lower = [low for low in range(k) if dims[low] < dims[high] and len(some[low])]
        if len(rows[high]) < 2 or not lower:
            continue
        limits = limits_of(leaf, Z[some[high]])
        tree = KDTree(leaf.along(Z[rows[high]])[0])
        spacing = np.asarray(tree.query(leaf.along(Z[some[high]])[0], 2)[0])[:, 1].mean()
        edge = Edge.of(leaf, Z[rows[high]], Z[some[high]]) if leaf.has_edge else None
        for low in lower:
            values = leaf.outwardness(Z[some[low]])
            within = [value <= limit for value, limit in zip(values, limits, strict=True)]
            if edge is not None:
                within[0] |= edge.holds(Z[some[low]], leaves[low].noise_across)
            encloses[low, high] = np.all(within, axis=0).mean() >= TREE.within
            distance = float(np.mean(tree.query(leaf.along(Z[some[low]])[0])[0]))
            distances[low, high] = distance / max(spacing, 1e-300)
    return encloses, distances


def limits_of(leaf: Leaf, Z: Float[np.ndarray, "n D"]) -> list[float]:
    """How large the `outwardness` of a row in reach of a leaf is at most, from rows of its own."""
    return leaf.limits([float(np.quantile(values, 1 - FIT.exceptions)) for values in leaf.outwardness(Z)])


@dataclass(frozen=True)
class Edge:
    """Where the rows of a leaf end: the nearest of them are as near as to each other, but for a strip."""

    leaf: Leaf
    tree: KDTree
    spacing: float

    @classmethod
    def of(cls, leaf: Leaf, Z: Float[np.ndarray, "n D"], some: Float[np.ndarray, "m D"]) -> Edge:
        """Of all rows of a leaf and a part of them."""
        tree = KDTree(_in_units(leaf, Z))
        apart = np.asarray(tree.query(_in_units(leaf, some), 2)[0])[:, 1]
        return cls(leaf, tree, float(np.quantile(apart, 1 - FIT.exceptions)))

    def holds(self, Z: Float[np.ndarray, "n D"], noise: float) -> Bool[np.ndarray, " n"]:
        """Which rows, on a leaf with some noise, are not farther out than the rows of this one end."""
        apart = np.asarray(self.tree.query(_in_units(self.leaf, Z))[0])
        return apart**2 <= self.spacing**2 + (TREE.strip * noise) ** 2


def _in_units(leaf: Leaf, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "n q"]:
    along, units = leaf.along(Z)
    return along * units
