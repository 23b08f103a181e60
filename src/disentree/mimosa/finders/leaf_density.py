"""The density of one leaf: charts that tile its rows, each with a density along it and a Gaussian across it.

Built from rows and a dimension alone, so that the labels of any finder can be judged alike.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.cluster.vq import kmeans2

from disentree.mimosa.finders.chart import Chart, fit_chart, n_terms

FIT_ROWS = 600  # rows that a chart is fitted to, at most: more do not change it
ROWS_PER_TILE = 25  # rows behind each tile of the density along a chart
MAX_TILES = 24
MAX_CHARTS = 200
SAVES = 0.05  # nats per row that more charts must save: the doubt of the split


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
        return cls(centers, np.log(count[full] / n), root, 0.5 * float(np.log(values).sum()))


def n_tiles_along(n: int, d: int, n_charts: int) -> int:
    """Cells of the density along a chart of a leaf that has `n_charts`."""
    return int(np.clip(n // (ROWS_PER_TILE * (d + 1)), 1, max(1, MAX_TILES // n_charts)))


def log_sum(A: Float[np.ndarray, "n k"]) -> Float[np.ndarray, " n"]:
    top = A.max(axis=1)
    safe = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(A - safe[:, None]).sum(axis=1)) + safe


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
        out = []
        for start in range(0, len(Z), block):
            some = Z[start : start + block]
            out.append(log_sum(np.stack([t.log_share + t.log_density(some) for t in self.tiles], axis=1)))
        return np.concatenate(out) if out else np.zeros(0)

    @property
    def is_curved(self) -> bool:
        """Whether most of its charts bend."""
        bent = [np.any(tile.chart.coefficients[1 + tile.chart.dimension :]) for tile in self.tiles]
        return bool(np.mean(bent) > 0.5)

    def squares(self, Z: Float[np.ndarray, "n D"]) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
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
    return Leaf(d, [_tile(Z, d, precision, rng, 1.0, 1, degree=1)])


def halved(
    Z, rows, d, precision, rng, max_charts: int = MAX_CHARTS, levels: int = 3
) -> list[Int[np.ndarray, " _"]]:
    """Rows of a leaf, halved again and again while that saves bits."""
    if not 0 < d < Z.shape[1]:
        return [rows]
    parts: list[np.ndarray] = []
    stack = [rows]
    while stack:
        rows = stack.pop()
        halves = _halves(Z[rows], d, precision, rng, levels) if len(parts) + len(stack) < max_charts else None
        if halves is None:
            parts.append(rows)
        else:
            stack += [rows[halves == 1], rows[halves == 0]]
    return parts


def celled(Z, rows, d, size: int = 0) -> list[Int[np.ndarray, " _"]]:
    """Rows of a leaf in cells of about equal size, just large enough for a chart each, and for at least `size`
    rows."""
    size = max(8 * n_terms(d) + 10, size)
    parts: list[np.ndarray] = []
    stack = [rows]
    while stack:
        rows = stack.pop()
        if len(rows) < 2 * size:
            parts.append(rows)
            continue
        axis = _widest(Z[rows])
        order = np.argsort(Z[rows] @ axis, kind="stable")
        stack += [rows[order[len(rows) // 2 :]], rows[order[: len(rows) // 2]]]
    return parts


def _tile(Z, d, precision, rng, share, n_charts, degree=2) -> Tile:
    some = Z if len(Z) <= 4 * FIT_ROWS else Z[rng.choice(len(Z), 4 * FIT_ROWS, replace=False)]
    chart = fit_chart(some, d, precision, degree)
    U, _ = chart.split(some)
    n_tiles = n_tiles_along(len(some), d, n_charts)
    return Tile(chart, Along.fit(U, n_tiles, rng), float(np.log(max(share, 1e-12))))


def _halves(Z, d, precision, rng, levels) -> Int[np.ndarray, " m"] | None:
    """Which of two halves each row belongs to, if charts on halves, quarters or eighths save bits on rows left out
    of the fit. (Half of a spiral is still no chart: the saving may show only further down.)"""
    fewest = max(3 * n_terms(d, 1), n_terms(d) + 4)
    if len(Z) < 3 * fewest:
        return None
    some = np.arange(len(Z)) if len(Z) <= FIT_ROWS else rng.choice(len(Z), FIT_ROWS, replace=False)
    S = Z[some]
    order = rng.permutation(len(S))
    fit, held = S[order[: 2 * len(S) // 3]], S[order[2 * len(S) // 3 :]]
    whole = _score(fit_chart(fit, d, precision, rounds=2), fit, held).sum()
    cells = [(np.arange(len(fit)), np.arange(len(held)))]
    first = None
    for _ in range(levels):
        cells = [part for f, h in cells for part in _cut(fit, f, held, h)]
        if min(len(f) for f, _ in cells) < fewest:
            break
        if first is None:
            axis = _widest(fit)
            first = (axis, float(np.median(fit @ axis)))
        gain = -whole
        for f, h in cells:
            if len(h):
                gain += _score(fit_chart(fit[f], d, precision, rounds=2), fit[f], held[h]).sum() + len(h) * np.log(
                    len(f) / len(fit)
                )
        if gain > SAVES * len(held) + 2:
            return (Z @ first[0] > first[1]).astype(int)
    return None


def _widest(S):
    Y = S - S.mean(axis=0)
    return np.linalg.eigh(Y.T @ Y)[1][:, -1]


def _cut(fit, f, held, h):
    axis = _widest(fit[f])
    at = np.median(fit[f] @ axis)
    left, right = fit[f] @ axis <= at, held[h] @ axis <= at
    return [(f[left], h[right]), (f[~left], h[~right])]


def _score(chart, fitted, held):
    """Log density of held-out rows under one chart with a Gaussian along it, capped from below so that a stray row
    does not decide."""
    U, _ = chart.split(fitted)
    S = np.atleast_2d(np.cov(U.T)) + 1e-9 * np.eye(chart.dimension)
    V, R = chart.split(held)
    V = V - U.mean(axis=0)
    along = -0.5 * np.einsum("ij,ij->i", V, np.linalg.solve(S, V.T).T) - 0.5 * np.linalg.slogdet(2 * np.pi * S)[1]
    across = np.maximum(chart.log_across(R), -np.log(chart.sigma).sum() - 6.0 * len(chart.sigma) - 15)
    return along - np.log(chart.scale).sum() + across
