"""Which leaf encloses which: rows of the smaller one must be within the span and the reach of the larger one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.spatial import KDTree

from disentree.mimosa.density.candidate import Candidate
from disentree.mimosa.density.framed import InnerLeaf
from disentree.mimosa.density.tiles import Leaf
from disentree.mimosa.finders.flats.sheets import SheetLeaf

UNLIKELY = 0.02  # rows that are further out than all but this share of a leaf's own are not in its reach
WITHIN = 0.6  # share of the smaller leaf's rows in reach of the larger one
SAMPLE = 500  # rows of a leaf that are looked at
# Rows of the larger leaf that are this near to the smaller one, in deviations of its noise, look as if on it
# (the density of noise falls to 1e-8 of its peak), so that a leaf along an edge has a strip of its own.
STRIP = 6.0
# A row beside the core rows of a sheet continues it if it is less than half as far off it as from them (of ships
# without a jet nine in ten are, beside those with one; of moons and stars one in forty), and is not farther from
# them than half as far again as they are from each other.
BESIDE, FARTHER = 0.5, 1.5


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
        limits = limits_of(leaf, Z[some[high]])
        own = _along(leaf, Z[rows[high]])
        tree = KDTree(own)
        spacing = np.asarray(tree.query(_along(leaf, Z[some[high]]), 2)[0])[:, 1].mean()
        edge = Edge.of(leaf, Z[rows[high]], Z[some[high]])
        for low in lower:
            values = outwardness(leaf, Z[some[low]])
            within = [value <= limit for value, limit in zip(values, limits, strict=True)]
            if edge is not None:
                within[0] |= edge.holds(Z[some[low]], noise_of(candidate.components[low]))
            inside = np.all(within, axis=0)
            encloses[low, high] = inside.mean() >= WITHIN
            distance = float(np.mean(tree.query(_along(leaf, Z[some[low]]))[0]))
            distances[low, high] = distance / max(spacing, 1e-300)
    return encloses, distances


@dataclass(frozen=True)
class Edge:
    """Where the rows of a leaf end: the nearest of them are as near as to each other, but for a strip."""

    leaf: Any
    tree: KDTree
    spacing: float

    @classmethod
    def of(cls, leaf: Any, Z: Float[np.ndarray, "n D"], some: Float[np.ndarray, "m D"]) -> Edge | None:
        """Of all rows of a leaf and a part of them; None for densities that do not tell along from across."""
        if not isinstance(leaf.leaf if isinstance(leaf, InnerLeaf) else leaf, Leaf):
            return None
        tree = KDTree(_flattened(leaf, Z))
        apart = np.asarray(tree.query(_flattened(leaf, some), 2)[0])[:, 1]
        return cls(leaf, tree, float(np.quantile(apart, 1 - UNLIKELY)))

    def holds(self, Z: Float[np.ndarray, "n D"], noise: float) -> Bool[np.ndarray, " n"]:
        """Which rows, on a leaf with some noise, are not farther out than the rows of this one end."""
        apart = np.asarray(self.tree.query(_flattened(self.leaf, Z))[0])
        return apart**2 <= self.spacing**2 + (STRIP * noise) ** 2


def noise_of(leaf: Any) -> float:
    """The deviation of rows across a leaf of charts; 0 where it is not known."""
    if isinstance(leaf, InnerLeaf):
        return noise_of(leaf.leaf)
    if not isinstance(leaf, Leaf) or not len(leaf.tiles[0].chart.sigma):
        return 0.0
    shares = np.exp([tile.log_share for tile in leaf.tiles])
    squares = np.array([np.square(tile.chart.sigma).mean() for tile in leaf.tiles])
    return float(np.sqrt(shares @ squares / shares.sum()))


def limits_of(leaf: Any, Z: Float[np.ndarray, "n D"]) -> list[float]:
    """How large the `outwardness` of a row in reach of a leaf is at most, from rows of its own."""
    limits = [float(np.quantile(values, 1 - UNLIKELY)) for values in outwardness(leaf, Z)]
    if isinstance(leaf, SheetLeaf):
        off, apart = limits
        return [max(off, BESIDE), FARTHER * apart]
    return limits


def outwardness(leaf: Any, Z: Float[np.ndarray, "n D"]) -> tuple[Float[np.ndarray, " n"], ...]:
    """What grows with the distance from a leaf: along it and across it, or the unlikelihood if its density knows
    no such directions. Charts reach over gaps between their rows; a smaller leaf may well be in the gap."""
    if isinstance(leaf, InnerLeaf):
        return *outwardness(leaf.leaf, leaf.frame(Z)), (leaf.frame.across(Z) ** 2).sum(axis=1)
    if isinstance(leaf, SheetLeaf):
        return leaf.distances(Z)
    return leaf.squares(Z) if isinstance(leaf, Leaf) else (-leaf.log_density(Z),)


def _along(leaf: Any, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "n q"]:
    """Rows in the tangent coordinates of a leaf of one chart, where noise across it does not show."""
    if isinstance(leaf, InnerLeaf):
        return _along(leaf.leaf, leaf.frame(Z))
    flat = isinstance(leaf, Leaf) and len(leaf.tiles) == 1 and leaf.dimension > 0
    return leaf.tiles[0].chart.split(Z)[0] if flat else Z


def _flattened(leaf: Any, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "n q"]:
    """The same in units of the rows."""
    if isinstance(leaf, InnerLeaf):
        return _flattened(leaf.leaf, leaf.frame(Z))
    flat = isinstance(leaf, Leaf) and len(leaf.tiles) == 1 and leaf.dimension > 0
    return leaf.tiles[0].chart.split(Z)[0] * leaf.tiles[0].chart.scale if flat else Z
