"""Hyperplanes that hold far more rows than there are beside them."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy.spatial import KDTree

NEARBY = 50  # neighbors of a row, among which half of the starts draw
ROWS = 2000  # that hyperplanes are sought on
WIDEST, NARROWEST = 0.3, 1e-8  # scatter around a hyperplane, in deviations of the data
STEPS = 2  # reweighted fits at each scatter, which is halved after them
REACH = 3.0  # deviations of the scatter, within which rows are on a hyperplane
SHOULDER = 8.0  # the same, within which the others are that it is compared with
DENSER = 8.0  # how many times denser rows are on a hyperplane than beside it
STEEPEST = 1.5  # how much denser rows are on the shoulder than further out: the others are no slope around it
BEYOND = 2.0  # how many times more rows there are beyond the shoulder than on it: they are no tail of the others
SOME = 0.05  # share of the rows that an equation holds in, at least
FREE = 0.01  # share in which it does not


def hyperplanes(
    Y: Float[np.ndarray, "n D"],
    rng: np.random.Generator,
    starts: Float[np.ndarray, "s D1"],
    widest: float = WIDEST,
) -> tuple[Float[np.ndarray, "h D1"], Float[np.ndarray, " h"]]:
    """Hyperplanes (normal and offset) that hold many rows within little scatter, and that scatter, the best first.

    Each start is refitted with weights 1 / (distance^2 + scatter^2) while the scatter shrinks: rows far off count
    less and less. Of its way it keeps the place where rows are densest relative to those beside it.
    """
    n, D = Y.shape
    some = Y[rng.choice(n, min(n, ROWS), replace=False)]
    w = starts
    outer = np.einsum("ni,nj->nij", some, some).reshape(len(some), D * D)
    best, best_gain, best_scatter = w.copy(), np.full(len(w), -np.inf), np.full(len(w), widest)
    scatter = widest
    while scatter > NARROWEST and len(w):
        for _ in range(STEPS):
            W = 1 / ((some @ w[:, :D].T + w[:, D]) ** 2 + scatter**2)
            W /= W.sum(axis=0)
            mean = W.T @ some
            C = (W.T @ outer).reshape(-1, D, D) - mean[:, :, None] * mean[:, None]
            normal = np.linalg.eigh(C)[1][:, :, 0]
            w = np.concatenate([normal, -(normal * mean).sum(axis=1, keepdims=True)], axis=1)
        gain = gains(np.abs(some @ w[:, :D].T + w[:, D]) / scatter, 1, 4 * D)[0]
        better = gain > best_gain
        best[better], best_gain[better], best_scatter[better] = w[better], gain[better], scatter
        scatter /= 2
    order = np.argsort(-best_gain, kind="stable")
    order = order[np.isfinite(best_gain[order])]
    return best[order], best_scatter[order]


def random_hyperplanes(
    Y: Float[np.ndarray, "n D"], rng: np.random.Generator, n_starts: int
) -> Float[np.ndarray, "s D1"]:
    """Hyperplanes through random rows: anywhere, or near each other, where a switch that is off for one row is
    likelier to be off for the others."""
    n, D = Y.shape
    near = np.asarray(KDTree(Y).query(Y[rng.choice(n, n_starts // 2)], min(n, max(NEARBY, 2 * D)))[1])
    rows = [rng.choice(n, D, replace=False) for _ in range(n_starts // 2)]
    rows += [rng.choice(around, D, replace=False) for around in near]
    points = Y[np.stack(rows)]
    w = np.linalg.svd(np.concatenate([points, np.ones((len(points), D, 1))], axis=2))[2][:, -1]
    length = np.linalg.norm(w[:, :D], axis=1, keepdims=True)
    return (w / np.maximum(length, 1e-12))[length[:, 0] > 1e-6]


def thinnest_hyperplane(Y: Float[np.ndarray, "n q"], scatter: float) -> Float[np.ndarray, " q1"]:
    """The hyperplane that rows scatter least around, without those that are far off."""
    q, width = Y.shape[1], WIDEST
    weights = np.ones(len(Y))
    while True:
        mean = np.average(Y, axis=0, weights=weights)
        C = (Y - mean).T @ ((Y - mean) * weights[:, None])
        normal = np.linalg.eigh(C)[1][:, 0]
        w = np.append(normal, -normal @ mean)
        if width < scatter:
            return w
        weights = 1 / ((Y @ w[:q] + w[q]) ** 2 + width**2)
        width /= 2


def gains(
    distance: Float[np.ndarray, "n s"], size: int, fewest: int
) -> tuple[Float[np.ndarray, " s"], Float[np.ndarray, " s"]]:
    """Bits for rows on hyperplanes, and the share of rows there: as many, times the log of how much denser they
    are than beside. Minus infinity where that is no place of its own, but the middle of something."""
    n = len(distance)
    inside = (distance <= REACH).sum(axis=0)
    beside = (distance <= SHOULDER).sum(axis=0) - inside
    beyond = n - inside - beside
    further = (distance <= 2 * SHOULDER).sum(axis=0) - inside - beside
    ring = SHOULDER**size - REACH**size
    falling = beside > STEEPEST * further * ring / ((2 * SHOULDER) ** size - SHOULDER**size) + 3 * np.sqrt(beside)
    denser = inside / np.maximum(beside * REACH**size / ring, 0.5)
    enough = (inside >= max(fewest, SOME * n)) & (beyond >= FREE * n) & (beyond >= BEYOND * beside)
    return np.where(
        enough & ~falling & (denser >= DENSER), inside * np.log2(np.maximum(denser, 1)), -np.inf
    ), inside / n
