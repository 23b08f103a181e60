"""A decomposition as a density: leaves with shares, and a faint broad background that keeps stray rows finite."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from disentree.mimosa.density.chart import fit_chart
from disentree.mimosa.density.logs import log_sum
from disentree.mimosa.density.tiles import Along, Leaf, Tile, n_tiles_along

BACKGROUND = 0.005  # share of the background
EM_ROUNDS = 4  # of assigning rows to charts and fitting charts to rows
TRIMS = (0.05, 0.02, 0.01)  # of rows, round by round: at first many rows near a meeting are on the wrong leaf
SLIVER = 0.2  # width of a chart relative to the median of its leaf's, at least
SETTLED = 0.002  # share of rows that change leaf when that may end


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
class ChartCandidate:
    finder: str
    components: list[Leaf]
    shares: Float[np.ndarray, " k"]
    background: Background

    @property
    def dimensions(self) -> list[int]:
        return [leaf.dimension for leaf in self.components]

    def log_joint(self, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "n k"]:
        return np.stack(
            [np.log(s) + c.log_density(Z) for s, c in zip(self.shares, self.components, strict=True)], axis=1
        )

    def log_density(self, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, " n"]:
        J = self.log_joint(Z) + np.log(1 - BACKGROUND)
        return np.logaddexp(log_sum(J), np.log(BACKGROUND) + self.background.log_density(Z))

    def posteriors(self, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "n k"]:
        """Which leaf each row is on, given that it is on one. Where all densities are zero, that of the
        largest."""
        J = self.log_joint(Z)
        J = np.where(np.isfinite(J).any(axis=1, keepdims=True), J, np.log(self.shares))
        return np.exp(J - log_sum(J)[:, None])

    def labels(self, Z: Float[np.ndarray, "n D"]) -> Int[np.ndarray, " n"]:
        return self.log_joint(Z).argmax(axis=1)

    def bits(self, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, " n"]:
        return -self.log_density(Z) / np.log(2)


def owners(
    candidate: ChartCandidate, Z: Float[np.ndarray, "n D"]
) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " t"], Float[np.ndarray, " n"]]:
    """The likeliest chart of every row, the leaf of every chart, and the log of share times density there."""
    tiles = [(c, tile) for c, leaf in enumerate(candidate.components) for tile in leaf.tiles]
    best, owner = np.full(len(Z), -np.inf), np.zeros(len(Z), dtype=int)
    for i, (c, tile) in enumerate(tiles):
        value = np.log(candidate.shares[c]) + tile.log_share + tile.log_density(Z)
        better = value > best
        best[better], owner[better] = value[better], i
    return owner, np.array([c for c, _ in tiles]), best


def settle(
    Z: Float[np.ndarray, "n D"],
    candidate: ChartCandidate,
    precision: Float[np.ndarray, "p D"] | Float[np.ndarray, " D"] | float,
    rng: np.random.Generator,
    fewest: int,
    rounds: int = EM_ROUNDS,
) -> ChartCandidate:
    """Assign rows to the likeliest chart and fit charts to their rows, in turn; charts and leaves without rows
    go."""
    before = None
    for turn in range(rounds):
        tiles = [(c, tile) for c, leaf in enumerate(candidate.components) for tile in leaf.tiles]
        owner, leaf_of, best = owners(candidate, Z)
        stray = best + np.log(1 - BACKGROUND) < np.log(BACKGROUND) + candidate.background.log_density(Z)
        owner[stray] = -1
        now = np.where(stray, -1, leaf_of[owner])
        new: list[list[Tile]] = [[] for _ in candidate.components]
        counts = np.bincount(now[now >= 0], minlength=len(candidate.components))
        for i, (c, tile) in enumerate(tiles):
            rows = np.flatnonzero(owner == i)
            d = tile.chart.dimension
            if len(rows) < max(3 * (d + 1), 8):
                continue
            new[c].append(
                refit(
                    Z[rows],
                    d,
                    precision,
                    rng,
                    len(rows) / counts[c],
                    len(candidate.components[c].tiles),
                    TRIMS[min(turn, 2)],
                )
            )
        new = [_without_slivers(one) for one in new]
        kept = [c for c in range(len(new)) if counts[c] >= fewest and new[c]]
        if not kept:
            return candidate
        leaves = [Leaf(candidate.components[c].dimension, _normal(new[c])) for c in kept]
        shares = counts[kept] / counts[kept].sum()
        done = before is not None and len(kept) == len(candidate.components) and np.mean(now != before) < SETTLED
        candidate = replace(candidate, components=leaves, shares=shares)
        before = now if len(kept) == len(new) else None
        if done:
            break
    return candidate


def _without_slivers(tiles: list[Tile]) -> list[Tile]:
    """Charts without those that are far thinner along than their fellows: they sit on a leaf of lower
    dimension."""
    width = np.array([tile.chart.scale.min() if tile.chart.dimension else 1.0 for tile in tiles])
    return [tile for tile, w in zip(tiles, width, strict=True) if w >= SLIVER * np.median(width)]


def _normal(tiles: list[Tile]) -> list[Tile]:
    total = np.logaddexp.reduce([tile.log_share for tile in tiles])
    return [replace(tile, log_share=tile.log_share - total) for tile in tiles]


def refit(Z, d, precision, rng, share, n_siblings, trim=0.05) -> Tile:
    """A chart fitted to the rows it explains; a leaf of few charts gets a finer density along each."""
    some = Z if len(Z) <= 3000 else Z[rng.choice(len(Z), 3000, replace=False)]
    chart = fit_chart(some, d, precision, trim=trim)
    U, _ = chart.split(some)
    return Tile(
        chart, Along.fit(U, n_tiles_along(len(some), d, n_siblings), rng), float(np.log(max(share, 1e-12)))
    )
