"""Hyperplanes that hold far more rows than there are beside them."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy.spatial import KDTree

from disentree.mimosa.constants import FIT
from disentree.mimosa.coordinates.constants import COORDINATES
from disentree.mimosa.density.constants import DENSITY
from disentree.mimosa.finders.switches.constants import SWITCHES


def hyperplanes(
    Y: Float[np.ndarray, "n D"], rng: np.random.Generator, n_starts: int
) -> tuple[Float[np.ndarray, "h D1"], Float[np.ndarray, " h"]]:
    """Hyperplanes (normal and offset) that hold many rows within little scatter, and that scatter, the best first.

    They start from random rows: anywhere, or near each other, where a switch that is off for one row is likelier
    to be off for the others.
    """
    n, D = Y.shape
    near = np.asarray(KDTree(Y).query(Y[rng.choice(n, n_starts // 2)], min(n, 2 * D))[1])
    rows = [rng.choice(n, D, replace=False) for _ in range(n_starts // 2)]
    rows += [rng.choice(around, D, replace=False) for around in near]
    points = Y[np.stack(rows)]
    w = np.linalg.svd(np.concatenate([points, np.ones((len(points), D, 1))], axis=2))[2][:, -1]
    length = np.linalg.norm(w[:, :D], axis=1, keepdims=True)
    return refined(Y, rng, (w / np.maximum(length, 1e-12))[length[:, 0] > 1e-6])


def refined(
    Y: Float[np.ndarray, "n D"], rng: np.random.Generator, w: Float[np.ndarray, "s D1"]
) -> tuple[Float[np.ndarray, "h D1"], Float[np.ndarray, " h"]]:
    """Hyperplanes from starts, each refitted with weights 1 / (distance^2 + scatter^2) while the scatter shrinks:
    rows far off count less and less. Each keeps the scatter at which rows are densest relative to those beside."""
    Y = Y[rng.choice(len(Y), min(len(Y), FIT.many), replace=False)]
    n, D = Y.shape
    scatter = SWITCHES.widest
    outer = np.einsum("ni,nj->nij", Y, Y).reshape(n, D * D)
    best, best_gain, best_scatter = w.copy(), np.full(len(w), -np.inf), np.full(len(w), scatter)
    while scatter > COORDINATES.rounding and len(w):
        for _ in range(2):
            W = 1 / ((Y @ w[:, :D].T + w[:, D]) ** 2 + scatter**2)
            W /= W.sum(axis=0)
            mean = W.T @ Y
            C = (W.T @ outer).reshape(-1, D, D) - mean[:, :, None] * mean[:, None]
            normal = np.linalg.eigh(C)[1][:, :, 0]
            w = np.concatenate([normal, -(normal * mean).sum(axis=1, keepdims=True)], axis=1)
        gain = gains(np.abs(Y @ w[:, :D].T + w[:, D]) / scatter, 1, DENSITY.rows_per_term * D)[0]
        better = gain > best_gain
        best[better], best_gain[better], best_scatter[better] = w[better], gain[better], scatter
        scatter /= 2
    order = np.argsort(-best_gain, kind="stable")
    order = order[np.isfinite(best_gain[order])]
    return best[order], best_scatter[order]


def thinnest_hyperplane(Y: Float[np.ndarray, "n q"], scatter: float) -> Float[np.ndarray, " q1"]:
    """The hyperplane that rows scatter least around, without those that are far off."""
    q, width = Y.shape[1], SWITCHES.widest
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
    n, reach, shoulder = len(distance), FIT.sure, SWITCHES.shoulder
    inside, near, far = ((distance <= d).sum(axis=0) for d in (reach, shoulder, 2 * shoulder))
    beside, further = near - inside, far - near
    ring = shoulder**size - reach**size
    slope = SWITCHES.steepest * ring / ((2 * shoulder) ** size - shoulder**size)
    falling = beside > slope * further + 3 * np.sqrt(beside)
    denser = inside / np.maximum(beside * reach**size / ring, 0.5)
    enough = (inside >= max(fewest, SWITCHES.some * n)) & (n - near >= FIT.least_share * n)
    gain = inside * np.log2(np.maximum(denser, 1))
    return np.where(enough & ~falling & (denser >= SWITCHES.shoulder), gain, -np.inf), inside / n
