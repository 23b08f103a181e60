"""Which component a point belongs to, by likelihood: a mixture of local flats."""

from __future__ import annotations

from dataclasses import dataclass
from math import lgamma, log, pi

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial import KDTree

from disentree.mimosa.merge import distances_off_flats


@dataclass(frozen=True)
class Sheet:
    """The core points of a component with their flats: all that is needed to place other points."""

    points: Float[np.ndarray, "m D"]
    bases: Float[np.ndarray, "m d D"]

    @property
    def dimension(self) -> int:
        return self.bases.shape[1]


def log_likelihood(
    sheet: Sheet, Z: Float[np.ndarray, "n D"], tolerance: float, n_jobs: int = -1
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Log density of points under a component, up to a constant, and their distance off its flats relative to
    the distance from the core points that define them.

    Along the component the density is that of the m nearest core points, m / (V_d r^d) with r the distance of
    the m-th; across it, in the other D - d directions, Gaussian with standard deviation `tolerance` * r.
    """
    d, n_dims = sheet.dimension, Z.shape[1]
    m = min(d + 4, len(sheet.points))
    distances, nearest = KDTree(sheet.points).query(Z, m, workers=n_jobs)
    distances, nearest = distances.reshape(-1, m), nearest.reshape(-1, m)
    off = np.full(len(Z), np.inf)
    for j in range(m):
        anchors = nearest[:, j]
        off = np.minimum(off, distances_off_flats(Z, sheet.points[anchors], sheet.bases[anchors]))
    if d == 0:  # an atom has no directions: a point is on it or off it
        off = np.where(distances[:, 0] == 0, 0.0, 1.0)
    r = np.maximum(distances[:, -1], 1e-300)
    log_ball = d / 2 * log(pi) - lgamma(d / 2 + 1)
    along = log(m) - log_ball - d * np.log(r)
    across = -(n_dims - d) * (0.5 * log(2 * pi) + log(tolerance) + np.log(r)) - 0.5 * (off / tolerance) ** 2
    return along + (across if d < n_dims else 0.0), off


def assign(
    sheets: list[Sheet],
    Z: Float[np.ndarray, "n D"],
    tolerance: float,
    n_jobs: int = -1,
    block: int = 200_000,
) -> tuple[Int[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """The most likely component of every point, and how far off its flats the point is."""
    labels = np.empty(len(Z), dtype=np.int64)
    off = np.empty(len(Z))
    for start in range(0, len(Z), block):
        part = slice(start, start + block)
        best = np.full(len(Z[part]), -np.inf)
        labels[part], off[part] = 0, np.inf
        for c, sheet in enumerate(sheets):
            score, distance = log_likelihood(sheet, Z[part], tolerance, n_jobs)
            better = score > best
            best[better] = score[better]
            labels[part][better] = c
            off[part][better] = distance[better]
    return labels, off


def residuals(sheet: Sheet, n: int = 2000) -> Float[np.ndarray, " s"]:
    """Distances of core points from the flats of their nearest fellow core points."""
    rows = np.linspace(0, len(sheet.points) - 1, min(len(sheet.points), n)).astype(int)
    if len(sheet.points) < 2 or sheet.dimension == sheet.points.shape[1]:
        return np.zeros(len(rows))
    distances, nearest = map(np.asarray, KDTree(sheet.points).query(sheet.points[rows], 2))
    other = np.where(nearest[:, 1] == rows, nearest[:, 0], nearest[:, 1])
    off = distances_off_flats(sheet.points[rows], sheet.points[other], sheet.bases[other])
    return off * distances[:, 1]
