"""Which component a point belongs to, by likelihood: a mixture of local flats or sheets."""

from __future__ import annotations

from dataclasses import dataclass
from math import lgamma, log, pi

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import stats
from scipy.spatial import KDTree

from disentree.geometry.charts import chart_offsets, n_quadratic_terms
from disentree.geometry.subspaces import relative_distances

NOISY_NEARBY = 15  # core points from which the density of a component in noise is estimated
NEARBY = 40  # nearest core points, whose components a point may belong to


@dataclass(frozen=True)
class Sheet:
    """The core points of a component with their flats: all that is needed to place other points."""

    points: Float[np.ndarray, "m D"]
    bases: Float[np.ndarray, "m d D"]
    curved: bool = False
    noise: Float[np.ndarray, " D"] | None = None  # along each axis; points are on one flat then, in its units

    @property
    def dimension(self) -> int:
        return self.bases.shape[1]


def log_likelihood(
    sheet: Sheet, Z: Float[np.ndarray, "n D"], tolerance: float, n_jobs: int = -1
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Log density of points under a component, up to a constant, and their distance off it relative to the
    distance of the core points that define it there. A core point itself is left out of its neighbors.

    Along the component the density is that of the m nearest core points, m / (V_d r^d) with r the distance of
    the m-th; across it, in the other D - d directions, Gaussian with standard deviation `tolerance` * r.
    """
    if sheet.noise is not None:
        return _noisy_likelihood(sheet, Z / sheet.noise, n_jobs)
    d, n_dims = sheet.dimension, Z.shape[1]
    m = min(d + 4, len(sheet.points))
    n_fit = min(max(25, 2 * n_quadratic_terms(d)), len(sheet.points)) if sheet.curved else m
    distances, nearest = _others(sheet.points, Z, n_fit, n_jobs)
    n_fit = nearest.shape[1]
    if d == 0:  # an atom has no directions: a point is on it or off it
        off = np.where(distances[:, 0] == 0, 0.0, 1.0)
    elif sheet.curved and d < n_dims and n_fit > n_quadratic_terms(d):
        off = chart_offsets(Z, sheet.points[nearest], d)
    else:
        off = np.full(len(Z), np.inf)
        for j in range(min(m, n_fit)):
            anchors = nearest[:, j]
            off = np.minimum(off, relative_distances(Z, sheet.points[anchors], sheet.bases[anchors]))
    m = min(m, n_fit)
    r = np.maximum(distances[:, m - 1], 1e-300)
    log_ball = d / 2 * log(pi) - lgamma(d / 2 + 1)
    along = log(m) - log_ball - d * np.log(r)
    across = -(n_dims - d) * (0.5 * log(2 * pi) + log(tolerance) + np.log(r)) - 0.5 * (off / tolerance) ** 2
    return along + (across if d < n_dims else 0.0), off


def _noisy_likelihood(
    sheet: Sheet, Y: Float[np.ndarray, "n D"], n_jobs: int
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Likewise for points in noise of deviation 1; distances off the flat are relative to its reach."""
    d, n_dims = sheet.dimension, Y.shape[1]
    basis, y = sheet.bases[0], Y - sheet.points[0]
    inside = y @ basis.T
    square = np.maximum((y * y).sum(axis=1) - (inside * inside).sum(axis=1), 0.0)
    along = np.full(len(Y), log(len(sheet.points)))
    if d:
        distances, _ = _others((sheet.points - sheet.points[0]) @ basis.T, inside, NOISY_NEARBY, n_jobs)
        m = distances.shape[1]
        log_ball = d / 2 * log(pi) - lgamma(d / 2 + 1)
        along = log(m) - log_ball - d * np.log(np.maximum(distances[:, -1], 1e-300))
    across = -(n_dims - d) * 0.5 * log(2 * pi) - 0.5 * square
    return along + across, np.sqrt(square) / (reach(n_dims - d) + 1) if d < n_dims else np.zeros(len(Y))


def reach(codimension: int) -> float:
    """The distance from a flat within which 95 % of its points lie, in so many directions of noise."""
    return float(np.sqrt(stats.chi2.ppf(0.95, codimension)))


def _others(
    points: Float[np.ndarray, "m D"], Z: Float[np.ndarray, "n D"], k: int, n_jobs: int
) -> tuple[np.ndarray, np.ndarray]:
    """The k nearest of `points`, not counting one at the very place of a row of Z."""
    k = min(k + 1, len(points))
    distances, nearest = map(np.asarray, KDTree(points).query(Z, k, workers=n_jobs))
    distances, nearest = distances.reshape(-1, k), nearest.reshape(-1, k)
    if k == 1:
        return distances, nearest
    skip = distances[:, 0] == 0
    keep = np.arange(k - 1) + skip[:, None]
    return np.take_along_axis(distances, keep, axis=1), np.take_along_axis(nearest, keep, axis=1)


def assign(
    sheets: list[Sheet],
    Z: Float[np.ndarray, "n D"],
    tolerance: float,
    n_jobs: int = -1,
    block: int = 50_000,
) -> tuple[Int[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """The most likely component of every point, and how far off it the point is.

    The components that a point's nearest core points belong to are tried first; only if it is on none of them,
    all others are. Searching a component for the nearest to a point far from it is slow.
    """
    labels = np.zeros(len(Z), dtype=np.int64)
    if Z.shape[1] == 0:  # constant data: one place, and everything is there
        return labels, np.zeros(len(Z))
    off = np.full(len(Z), np.inf)
    best = np.full(len(Z), -np.inf)

    def consider(c: int, rows: Int[np.ndarray, " r"]) -> None:
        for start in range(0, len(rows), block):
            some = rows[start : start + block]
            score, distance = log_likelihood(sheets[c], Z[some], tolerance, n_jobs)
            better = score > best[some]
            best[some[better]] = score[better]
            labels[some[better]] = c
            off[some[better]] = distance[better]

    near = _nearby_sheets(sheets, Z, n_jobs, block)
    for c in range(len(sheets)):
        consider(c, np.flatnonzero(near[:, c]))
    on_none = off > tolerance
    for c in range(len(sheets)):
        consider(c, np.flatnonzero(on_none & ~near[:, c]))
    return labels, off


def _nearby_sheets(
    sheets: list[Sheet], Z: Float[np.ndarray, "n D"], n_jobs: int, block: int
) -> Bool[np.ndarray, "n c"]:
    """Which components the nearest core points of every point belong to."""
    if sheets[0].noise is not None:
        Z = Z / sheets[0].noise
    points = np.concatenate([sheet.points for sheet in sheets])
    owner = np.repeat(np.arange(len(sheets)), [len(sheet.points) for sheet in sheets])
    near = np.zeros((len(Z), len(sheets)), dtype=bool)
    tree, k = KDTree(points), min(NEARBY, len(points))
    for start in range(0, len(Z), block):
        indices = np.asarray(tree.query(Z[start : start + block], k, workers=n_jobs)[1]).reshape(-1, k)
        rows = np.arange(start, start + len(indices))
        for rank in range(k):
            near[rows, owner[indices[:, rank]]] = True
    return near


def residuals(sheet: Sheet, n: int = 2000) -> Float[np.ndarray, " s"]:
    """Distances of some core points from the flats of their nearest fellow core points."""
    rows = np.linspace(0, len(sheet.points) - 1, min(len(sheet.points), n)).astype(int)
    if sheet.noise is not None:
        return np.full(len(rows), sheet.noise.mean())
    if len(sheet.points) < 2 or sheet.dimension == sheet.points.shape[1]:
        return np.zeros(len(rows))
    distances, nearest = _others(sheet.points, sheet.points[rows], 1, 1)
    other = nearest[:, 0]
    off = relative_distances(sheet.points[rows], sheet.points[other], sheet.bases[other])
    return off * distances[:, 0]
