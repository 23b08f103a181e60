"""Which component a point belongs to, by likelihood: a mixture of local flats or sheets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lgamma, log, pi
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.spatial import KDTree

from disentree.geometry.charts import chart_offsets, n_quadratic_terms
from disentree.geometry.neighbors import thinned
from disentree.geometry.subspaces import relative_distances


@runtime_checkable
class Surface(Protocol):
    """A component that points can be assigned to."""

    @property
    def points(self) -> Float[np.ndarray, "m D"]: ...

    def log_likelihood(
        self, Z: Float[np.ndarray, "n D"], tolerance: float, n_jobs: int = -1
    ) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """Log density of points, up to a constant, and how far off the component they are."""
        ...


@dataclass(frozen=True)
class Sheet:
    """The core points of a component with their flats: all that is needed to place other points."""

    points: Float[np.ndarray, "m D"]
    bases: Float[np.ndarray, "m d D"]
    curved: bool = False

    @property
    def dimension(self) -> int:
        return self.bases.shape[1]

    def log_likelihood(
        self, Z: Float[np.ndarray, "n D"], tolerance: float, n_jobs: int = -1
    ) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """Log density of points, up to a constant, and their distance off the component relative to the distance
        of the core points that define it there. A core point itself is left out of its neighbors.

        Along the component the density is that of the m nearest core points; across it, in the other D - d
        directions, Gaussian with standard deviation `tolerance` * r with r the distance of the m-th.
        """
        d, n_dims = self.dimension, Z.shape[1]
        m = min(d + 4, len(self.points))
        n_fit = min(max(25, 2 * n_quadratic_terms(d)), len(self.points)) if self.curved else m
        distances, nearest = other_points(self.points, Z, n_fit, n_jobs)
        n_fit = nearest.shape[1]
        if d == 0:  # an atom has no directions: a point is on it or off it
            off = np.where(distances[:, 0] == 0, 0.0, 1.0)
        elif self.curved and d < n_dims and n_fit > n_quadratic_terms(d):
            off = chart_offsets(Z, self.points[nearest], d)
        else:
            off = np.full(len(Z), np.inf)
            for j in range(min(m, n_fit)):
                anchors = nearest[:, j]
                off = np.minimum(off, relative_distances(Z, self.points[anchors], self.bases[anchors]))
        distances = distances[:, : min(m, n_fit)]
        r = np.maximum(distances[:, -1], 1e-300)
        across = -(n_dims - d) * (0.5 * log(2 * pi) + log(tolerance) + np.log(r)) - 0.5 * (off / tolerance) ** 2
        return log_density_of_nearest(distances, d) + (across if d < n_dims else 0.0), off

    def residuals(self, n: int = 2000) -> Float[np.ndarray, " s"]:
        """Distances of some core points from the flats of their nearest fellow core points."""
        rows = thinned(np.arange(len(self.points)), n)
        if len(self.points) < 2 or self.dimension == self.points.shape[1]:
            return np.zeros(len(rows))
        distances, nearest = other_points(self.points, self.points[rows], 1, 1)
        other = nearest[:, 0]
        off = relative_distances(self.points[rows], self.points[other], self.bases[other])
        return off * distances[:, 0]


def log_density_of_nearest(distances: Float[np.ndarray, "n m"], d: int) -> Float[np.ndarray, " n"]:
    """Log of m / (V_d r^d), the density in d dimensions of m points at these distances, the last one at r."""
    log_ball = d / 2 * log(pi) - lgamma(d / 2 + 1)
    return log(distances.shape[1]) - log_ball - d * np.log(np.maximum(distances[:, -1], 1e-300))


def other_points(
    points: Float[np.ndarray, "m D"], Z: Float[np.ndarray, "n D"], k: int, n_jobs: int
) -> tuple[np.ndarray, np.ndarray]:
    """Distances and indices of the k nearest of `points`, not counting one at the very place of a row of Z."""
    k = min(k + 1, len(points))
    distances, nearest = map(np.asarray, KDTree(points).query(Z, k, workers=n_jobs))
    distances, nearest = distances.reshape(-1, k), nearest.reshape(-1, k)
    if k == 1:
        return distances, nearest
    skip = distances[:, 0] == 0
    keep = np.arange(k - 1) + skip[:, None]
    return np.take_along_axis(distances, keep, axis=1), np.take_along_axis(nearest, keep, axis=1)


def assign(
    surfaces: Sequence[Surface],
    Z: Float[np.ndarray, "n D"],
    tolerance: float,
    n_neighbors: int = 40,
    n_jobs: int = -1,
    block: int = 50_000,
) -> tuple[Int[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """The most likely component of every point, and how far off it the point is.

    The components that the nearest `n_neighbors` core points of a point belong to are tried first; only if it is
    on none of them, all others are. Searching a component for the nearest to a point far from it is slow.
    """
    labels = np.zeros(len(Z), dtype=np.int64)
    if Z.shape[1] == 0:  # constant data: one place, and everything is there
        return labels, np.zeros(len(Z))
    off = np.full(len(Z), np.inf)
    best = np.full(len(Z), -np.inf)

    def consider(c: int, rows: Int[np.ndarray, " r"]) -> None:
        for start in range(0, len(rows), block):
            some = rows[start : start + block]
            score, distance = surfaces[c].log_likelihood(Z[some], tolerance, n_jobs)
            better = score > best[some]
            best[some[better]] = score[better]
            labels[some[better]] = c
            off[some[better]] = distance[better]

    near = _nearby(surfaces, Z, n_neighbors, n_jobs, block)
    for c in range(len(surfaces)):
        consider(c, np.flatnonzero(near[:, c]))
    on_none = off > tolerance
    for c in range(len(surfaces)):
        consider(c, np.flatnonzero(on_none & ~near[:, c]))
    return labels, off


def _nearby(
    surfaces: Sequence[Surface], Z: Float[np.ndarray, "n D"], k: int, n_jobs: int, block: int
) -> Bool[np.ndarray, "n c"]:
    """Which components the k nearest core points of every point belong to."""
    points = np.concatenate([surface.points for surface in surfaces])
    owner = np.repeat(np.arange(len(surfaces)), [len(surface.points) for surface in surfaces])
    near = np.zeros((len(Z), len(surfaces)), dtype=bool)
    tree, k = KDTree(points), min(k, len(points))
    for start in range(0, len(Z), block):
        indices = np.asarray(tree.query(Z[start : start + block], k, workers=n_jobs)[1]).reshape(-1, k)
        rows = np.arange(start, start + len(indices))
        for rank in range(k):
            near[rows, owner[indices[:, rank]]] = True
    return near
