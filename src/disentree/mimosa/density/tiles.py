"""The density of one leaf: charts that tile its rows, each with a density along it and a Gaussian across it.

Built from rows and a dimension alone, so that the labels of any finder can be judged alike.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.cluster.vq import kmeans2

from disentree.mimosa.constants import FIT
from disentree.mimosa.density.chart import Chart, fit_chart, rows_needed
from disentree.mimosa.density.constants import DENSITY
from disentree.mimosa.density.logs import log_sum


@dataclass(frozen=True)
class Along:
    """A density in tangent coordinates: Gaussians of one common covariance on the cells of k-means."""

    centers: Float[np.ndarray, "k d"]
    log_shares: Float[np.ndarray, " k"]
    root: Float[np.ndarray, "d d"]  # rows @ root are white within a cell
    log_volume: float

    def log_density(self, U: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        if U.shape[1] == 0:
            return np.zeros(len(U))
        A, B = U @ self.root, self.centers @ self.root
        square = np.maximum((A * A).sum(1)[:, None] - 2 * A @ B.T + (B * B).sum(1)[None], 0.0)
        out = log_sum(self.log_shares - 0.5 * square)
        return out - self.log_volume - 0.5 * U.shape[1] * np.log(2 * np.pi)

    @classmethod
    def fit(cls, U: Float[np.ndarray, "n d"], n_tiles: int, rng: np.random.Generator) -> Along:
        n, d = U.shape
        if d == 0:
            return cls(np.zeros((1, 0)), np.zeros(1), np.zeros((0, 0)), 0.0)
        if n_tiles > 1:
            white = U / np.maximum(U.std(axis=0), 1e-300)
            start = white[rng.choice(n, n_tiles, replace=False)]
            with warnings.catch_warnings():  # rows that repeat may leave a tile empty, which does no harm
                warnings.simplefilter("ignore", UserWarning)
                _, cell = kmeans2(white, start, iter=8, minit="matrix", missing="warn")
        else:
            cell = np.zeros(n, dtype=int)
        count = np.bincount(cell, minlength=n_tiles)
        full = np.flatnonzero(count)
        centers = np.stack([U[cell == c].mean(axis=0) for c in full])
        within = U - centers[np.searchsorted(full, cell)]
        S = within.T @ within / max(n - len(full), 1)
        values, vectors = np.linalg.eigh(S)
        values = np.maximum(values, 1e-12 * max(values.max(), 1e-300))
        root = vectors / np.sqrt(values)
        log_shares, log_volume = np.log(count[full] / n), 0.5 * float(np.log(values).sum())
        one = cls(centers, log_shares, root, log_volume)
        if len(full) == 1:
            return one
        wider = [
            cls(centers, log_shares, root / np.sqrt(w), log_volume + 0.5 * d * np.log(w)) for w in DENSITY.wider
        ]
        return max([one, *wider], key=lambda along: float(along.log_density(U).mean()))


def n_tiles_along(n: int, d: int, n_charts: int) -> int:
    """Cells of the density along a chart of a leaf that has `n_charts`."""
    return int(np.clip(n // (DENSITY.rows_per_tile * (d + 1)), 1, max(1, DENSITY.max_tiles // n_charts)))


@dataclass(frozen=True)
class Tile:
    chart: Chart
    along: Along
    log_share: float

    def log_density(self, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, " n"]:
        U, R = self.chart.split(Z)
        return self.along.log_density(U) - np.log(self.chart.scale).sum() + self.chart.log_across(R)


@dataclass(frozen=True)
class Leaf:
    """One component: a proper density over R^D."""

    dimension: int
    tiles: list[Tile]

    def log_density(self, Z: Float[np.ndarray, "n D"], block: int = 20_000) -> Float[np.ndarray, " n"]:
        out = np.zeros(len(Z))
        for start in range(0, len(Z), block):
            some = slice(start, start + block)
            out[some] = log_sum(np.stack([t.log_share + t.log_density(Z[some]) for t in self.tiles], axis=1))
        return out

    @property
    def is_curved(self) -> bool:
        """Whether most of its charts bend."""
        return bool(np.mean([tile.chart.is_bent for tile in self.tiles]) > 0.5)

    has_edge = True

    @property
    def noise_across(self) -> float:
        """The deviation of rows across its charts."""
        if not len(self.tiles[0].chart.sigma):
            return 0.0
        shares = np.exp([tile.log_share for tile in self.tiles])
        squares = np.array([np.square(tile.chart.sigma).mean() for tile in self.tiles])
        return float(np.sqrt(shares @ squares / shares.sum()))

    def limits(self, quantiles: Sequence[float]) -> list[float]:
        return list(quantiles)

    def along(
        self, Z: Float[np.ndarray, "n D"]
    ) -> tuple[Float[np.ndarray, "n q"], Float[np.ndarray, " q"] | float]:
        """Tangent coordinates of its only chart; rows as they are if it has several, or none of them."""
        if len(self.tiles) > 1 or not self.dimension:
            return Z, 1.0
        chart = self.tiles[0].chart
        return chart.split(Z)[0], chart.scale

    def outwardness(self, Z: Float[np.ndarray, "n D"]) -> tuple[Float[np.ndarray, " n"], ...]:
        """Squared distances of rows along and across the chart that they are nearest to, in deviations of its own
        rows: how far within its reach they are, whether or not the leaf has rows there."""
        along, across = np.full(len(Z), np.inf), np.full(len(Z), np.inf)
        for tile in self.tiles:
            U, R = tile.chart.split(Z)
            new_along, new_across = (U**2).sum(axis=1), ((R / tile.chart.sigma) ** 2).sum(axis=1)
            nearer = new_along + new_across < along + across
            along[nearer], across[nearer] = new_along[nearer], new_across[nearer]
        return along, across


def fit_flat_leaf(
    Z: Float[np.ndarray, "m D"], d: int, precision: Float[np.ndarray, " D"] | float, rng: np.random.Generator
) -> Leaf:
    """The density of a leaf on a subspace of dimension d, from its rows."""
    some = Z if len(Z) <= FIT.many else Z[rng.choice(len(Z), FIT.many, replace=False)]
    chart = fit_chart(some, d, precision, degree=1)
    along = Along.fit(chart.split(some)[0], n_tiles_along(len(some), d, 1), rng)
    return Leaf(d, [Tile(chart, along, 0.0)])


def celled(
    Z: Float[np.ndarray, "n D"], rows: Int[np.ndarray, " m"], d: int, size: int = 0
) -> list[Int[np.ndarray, " _"]]:
    """Rows of a leaf in cells of about equal size, just large enough for a chart each, and for at least `size`
    rows: halves of halves, each cut across where it is widest."""
    if len(rows) < 2 * max(2 * rows_needed(d) + 10, size):
        return [rows]
    Y = Z[rows] - Z[rows].mean(axis=0)
    order = np.argsort(Z[rows] @ np.linalg.eigh(Y.T @ Y)[1][:, -1], kind="stable")
    half = len(rows) // 2
    return [*celled(Z, rows[order[:half]], d, size), *celled(Z, rows[order[half:]], d, size)]
