"""The default decomposition of a representation into components, and the choice of its one tolerance."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from disentree.mimosa.components import link_components
from disentree.mimosa.merge import drop_explained, drop_small, merge_over_seams, renumber
from disentree.mimosa.neighbors import nearest_neighbors
from disentree.mimosa.tangents import Tangents, anchored_flats

log = logging.getLogger(__name__)

# How far neighbours may lie off a flat, relative to their distance: rounding, then noise or curvature.
TOLERANCES = (1e-6, 1e-4, 1e-2, 0.03, 0.06, 0.1, 0.15, 0.2, 0.25, 0.3)
MIN_SHARE = 0.003  # a component has at least this share of the points, and half a neighbourhood
GLANCE_ROWS = 2000


@dataclass(frozen=True)
class Decomposition:
    """Components of a representation: labels number them by dimension, -1 where none was found."""

    labels: Int[np.ndarray, " n"]
    tangents: Tangents
    tolerance: float
    saving: float  # nats per point, see `choose_decomposition`

    @property
    def dimensions(self) -> list[int]:
        first = [np.flatnonzero(self.labels == c)[0] for c in range(self.labels.max(initial=-1) + 1)]
        return [int(self.tangents.dimensions[row]) for row in first]


def decompose(
    Z: Float[np.ndarray, "n D"],
    distances: Float[np.ndarray, "n k"],
    neighbors: Int[np.ndarray, "n k"],
    tolerance: float,
    seed: np.random.SeedSequence,
    n_jobs: int = -1,
) -> Decomposition:
    """Local flats, links between neighbours on each other's flats, seams, and what is no manifold dropped."""
    tangents = anchored_flats(Z, neighbors, tolerance, np.random.default_rng(seed))
    linked = link_components(Z, tangents, 2 * tolerance, n_jobs=n_jobs)
    k = neighbors.shape[1]
    labels = merge_over_seams(Z, tangents, linked, 3 * tolerance, k // 2)
    labels = renumber(drop_small(labels, max(k // 2, int(MIN_SHARE * len(Z)))), tangents.dimensions)
    labels = drop_explained(Z, tangents, labels, distances[:, -1], 2 * tolerance)
    codimension = Z.shape[1] - tangents.dimensions
    saving = float(np.mean(np.where(labels >= 0, codimension, 0)) * -np.log(tolerance))
    return Decomposition(labels, tangents, tolerance, saving)


def choose_decomposition(
    Z: Float[np.ndarray, "n D"],
    k: int,
    seed: np.random.SeedSequence,
    n_jobs: int = -1,
    tolerances: tuple[float, ...] = TOLERANCES,
) -> Decomposition:
    """Try tolerances from tight to loose and keep the decomposition that saves most of the description.

    To tell where a point is to a precision p takes log(r / p) nats for each of D coordinates in a
    neighbourhood of size r. On a component of dimension d within a relative tolerance t, D - d of them need
    only log(t r / p), which saves (D - d) log(1 / t) for every point that a component holds.
    """
    distances, neighbors = nearest_neighbors(Z, k, n_jobs)
    best: Decomposition | None = None
    some = np.random.default_rng(seed).choice(len(Z), min(len(Z), GLANCE_ROWS), replace=False)
    for tolerance in tolerances:
        most = (Z.shape[1] - 1) * -np.log(tolerance)  # everything on curves
        if best is not None and best.saving >= most:
            break
        glance = anchored_flats(Z, neighbors, tolerance, np.random.default_rng(seed), rows=some)
        promise = float(np.mean(Z.shape[1] - glance.dimensions) * -np.log(tolerance))
        if best is not None and promise <= best.saving:
            continue
        found = decompose(Z, distances, neighbors, tolerance, seed, n_jobs)
        log.info(
            "tolerance %g: %d components, %.1f %% of points, saves %.2f nats per point",
            tolerance, found.labels.max() + 1, 100 * np.mean(found.labels >= 0), found.saving,
        )  # fmt: skip
        if best is None or found.saving > best.saving:
            best = found
    assert best is not None
    return best
