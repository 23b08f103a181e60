"""A decomposition as a density: leaves with shares, and a faint broad background that keeps stray rows finite."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from disentree.mimosa.constants import FIT
from disentree.mimosa.density.candidate import LeafCandidate
from disentree.mimosa.density.chart import Errors, fit_chart
from disentree.mimosa.density.constants import DENSITY
from disentree.mimosa.density.logs import log_sum
from disentree.mimosa.density.tiles import Along, Leaf, Tile, n_tiles_along

Points = Float[np.ndarray, "n D"]


@dataclass(frozen=True)
class Background:
    mean: Float[np.ndarray, " D"]
    deviation: Float[np.ndarray, " D"]

    def log_density(self, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, " n"]:
        # Cauchy-like tails per coordinate: an outlier costs logarithmically
        y = (Z - self.mean) / self.deviation
        return -(np.log1p(y * y) + np.log(np.pi * self.deviation)).sum(axis=1)

    @classmethod
    def fit(cls, Z: Float[np.ndarray, "n D"]) -> Background:
        return cls(Z.mean(axis=0), np.maximum(Z.std(axis=0), np.finfo(float).tiny))


@dataclass(frozen=True)
class ChartCandidate(LeafCandidate):
    components: list[Leaf]
    _: KW_ONLY
    background: Background

    def log_density(self, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, " n"]:
        J = self.log_joint(Z) + np.log(1 - DENSITY.background)
        return np.logaddexp(log_sum(J), np.log(DENSITY.background) + self.background.log_density(Z))

    def labels(self, Z: Float[np.ndarray, "n D"]) -> Int[np.ndarray, " n"]:
        return self.log_joint(Z).argmax(axis=1)

    def bits(self, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, " n"]:
        return -self.log_density(Z) / np.log(2)


def enough_rows(n: int, d: int) -> bool:
    """Whether so many rows are enough for a chart of dimension d."""
    return n >= max(3 * (d + 1), 8)


def settle(
    Z: Points, found: ChartCandidate, errors: Errors, rng: np.random.Generator, fewest: int, rounds: int
) -> ChartCandidate:
    """Assign rows to the likeliest chart and fit charts to their rows, in turn; charts and leaves without rows
    go."""
    before = None
    for turn in range(rounds):
        leaves = found.components
        tiles = [(c, tile) for c, leaf in enumerate(leaves) for tile in leaf.tiles]
        owner = _likeliest(found, Z, tiles)
        now = np.append([c for c, _ in tiles], -1)[owner]
        counts = np.bincount(now[now >= 0], minlength=len(leaves))
        new: list[list[Tile]] = [[] for _ in leaves]
        for i, (c, tile) in enumerate(tiles):
            rows = np.flatnonzero(owner == i)
            d = tile.chart.dimension
            if enough_rows(len(rows), d):
                trim, share = DENSITY.trims[min(turn, 2)], len(rows) / counts[c]
                new[c].append(refit(Z[rows], d, errors, rng, share, len(leaves[c].tiles), trim))
        kept = [c for c in range(len(new)) if counts[c] >= fewest and new[c]]
        if not kept:
            return found
        found = replace(
            found,
            components=[Leaf(leaves[c].dimension, _normal(new[c])) for c in kept],
            shares=counts[kept] / counts[kept].sum(),
        )
        if len(kept) < len(leaves):
            before = None
        elif before is not None and np.mean(now != before) < DENSITY.settled:
            break
        else:
            before = now
    return found


def _likeliest(candidate: ChartCandidate, Z: Points, tiles: list[tuple[int, Tile]]) -> Int[np.ndarray, " n"]:
    """The likeliest chart of every row, given the charts with their leaves; -1 for the background."""
    best, owner = np.full(len(Z), -np.inf), np.zeros(len(Z), dtype=int)
    for i, (c, tile) in enumerate(tiles):
        value = np.log(candidate.shares[c]) + tile.log_share + tile.log_density(Z)
        better = value > best
        best[better], owner[better] = value[better], i
    stray = best + np.log(1 - DENSITY.background) < np.log(DENSITY.background) + candidate.background.log_density(
        Z
    )
    return np.where(stray, -1, owner)


def _normal(tiles: list[Tile]) -> list[Tile]:
    total = np.logaddexp.reduce([tile.log_share for tile in tiles])
    return [replace(tile, log_share=tile.log_share - total) for tile in tiles]


def refit(
    Z: Points, d: int, errors: Errors, rng: np.random.Generator, share: float, n_siblings: int, trim: float
) -> Tile:
    """A chart fitted to the rows it explains; a leaf of few charts gets a finer density along each."""
    some = Z if len(Z) <= FIT.many else Z[rng.choice(len(Z), FIT.many, replace=False)]
    chart = fit_chart(some, d, errors, trim=trim)
    along = Along.fit(chart.split(some)[0], n_tiles_along(len(some), d, n_siblings), rng)
    return Tile(chart, along, float(np.log(max(share, 1e-12))))
