"""The default decomposition of a representation into components, and the choice of its one tolerance."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from disentree.geometry.charts import chance_residuals, chart_residuals, curved_tangents
from disentree.geometry.neighbors import nearest_neighbors, thinned
from disentree.geometry.subspaces import Tangents, relative_distances
from disentree.mimosa.constants import FIT
from disentree.mimosa.density.constants import DENSITY
from disentree.mimosa.density.sheet import Sheet, assign
from disentree.mimosa.finders.constants import FINDERS
from disentree.mimosa.finders.flats.components import drop_explained, link_components, merge_over_seams
from disentree.mimosa.finders.flats.constants import FLATS
from disentree.mimosa.finders.flats.tangents import anchored_flats
from disentree.mimosa.finders.labels import drop_small, renumber

log = logging.getLogger("disentree.mimosa")


@dataclass(frozen=True)
class Local:
    """A local model of every point."""

    tangents: Tangents
    tolerance: float  # within which the local model holds
    flatness: float  # within which neighbors lie on each other's flats
    bases: np.ndarray | None = None  # for sheets: of every dimension that was tried
    residuals: np.ndarray | None = None  # likewise

    def saving(self, n_dims: int, held: np.ndarray | bool = True) -> float:
        """Nats per point that the model saves: see `choose_decomposition`."""
        d = self.tangents.dimensions
        left = np.full(len(d), self.tolerance)
        if self.residuals is not None:  # curvature differs from place to place: each point by its own sheet
            found = np.flatnonzero(d < n_dims)
            least = min(FLATS.fine, self.tolerance) / 2
            left[found] = np.clip(self.residuals[found, d[found] - 1], least, self.tolerance)
        return float(np.mean(np.where(held, n_dims - d, 0) * -np.log(left)))


@dataclass(frozen=True)
class Decomposition:
    """Components of a representation: labels number them by dimension, -1 where none was found."""

    labels: Int[np.ndarray, " n"]
    tangents: Tangents
    tolerance: float
    saving: float
    bases: np.ndarray | None = None  # for sheets: of every dimension that was tried

    @property
    def curved(self) -> bool:
        return self.bases is not None

    @property
    def dimensions(self) -> list[int]:
        first = [np.flatnonzero(self.labels == c)[0] for c in range(self.labels.max(initial=-1) + 1)]
        return [int(self.tangents.dimensions[row]) for row in first]


def components_of(
    Z: Float[np.ndarray, "n D"], radii: Float[np.ndarray, " n"], local: Local, k: int, n_jobs: int = -1
) -> Decomposition:
    """Links between neighbors on each other's flats, seams, and what is no manifold of its own dropped."""
    tangents, tolerance = local.tangents, local.flatness
    labels = link_components(Z, tangents, tolerance, n_jobs=n_jobs)
    labels = merge_over_seams(Z, tangents, labels, 1.5 * tolerance, k // 2)
    labels = renumber(drop_small(labels, max(k // 2, int(FLATS.min_share * len(Z)))), tangents.dimensions)
    labels = drop_explained(Z, tangents, labels, radii, tolerance, n_jobs)
    saving = local.saving(Z.shape[1], labels >= 0)
    return Decomposition(labels, tangents, local.tolerance, saving, local.bases)


def polish(
    Z: Float[np.ndarray, "n D"], neighbors: Int[np.ndarray, "n k"], found: Decomposition, n_jobs: int = -1
) -> Decomposition:
    """Assign points that have neighbors of other components anew, by likelihood, until few change.

    Where two curved components come close, a neighborhood holds points of both, and its dimension says little
    about the point in the middle. Once components are known, each can be judged by its own points alone.
    """
    labels, dimensions = found.labels, found.dimensions
    if len(dimensions) < 2:
        return found
    off = np.zeros(len(Z))
    for _ in range(2 * FINDERS.rounds):
        cores = [np.flatnonzero(labels == c) for c in range(len(dimensions))]
        if min(map(len, cores)) < neighbors.shape[1] // 2:
            break
        sheets = [Sheet(Z[c], found.tangents.bases[c, :d], True) for c, d in zip(cores, dimensions, strict=True)]
        mixed = np.flatnonzero((labels[neighbors] != labels[:, None]).any(axis=1) | (labels < 0))
        before = labels[mixed]
        labels = labels.copy()
        labels[mixed], off[mixed] = assign(sheets, Z[mixed], found.tolerance, neighbors.shape[1], n_jobs)
        if np.mean(labels[mixed] != before) * len(mixed) < DENSITY.settled * len(Z):
            break
    labels = np.where(off <= 3 * found.tolerance, labels, -1)  # the cores hold what is on the components
    local = np.where(labels >= 0, np.array(dimensions)[labels], found.tangents.dimensions)
    bases = found.tangents.bases.copy()
    moved = np.flatnonzero(local != found.tangents.dimensions)
    assert found.bases is not None
    for row in moved:
        d = local[row]
        bases[row] = found.bases[row, d - 1] if d <= found.bases.shape[1] else np.eye(Z.shape[1])
    return replace(found, labels=labels, tangents=Tangents(local, bases))


def choose_decomposition(
    Z: Float[np.ndarray, "n D"], k: int, seed: np.random.SeedSequence, n_jobs: int = -1
) -> Decomposition:
    """Of flats and sheets, with tolerances from tight to loose, keep the decomposition that saves most of the
    description.

    The position of a point to a precision p takes log(r / p) nats for each of D coordinates in a
    neighborhood of size r. On a component of dimension d within a relative tolerance t, D - d of them need
    only log(t r / p), which saves (D - d) log(1 / t) for every point that a component holds.
    """
    n_dims = Z.shape[1]
    distances, neighbors = nearest_neighbors(Z, k, n_jobs)
    some = np.random.default_rng(seed).choice(len(Z), min(len(Z), FIT.many), replace=False)
    models = _models_of_sample(Z, neighbors, some, seed)
    estimates = [(local.saving(n_dims), local.bases is not None, local.tolerance) for local in models]
    best, sheets = None, None
    for estimate, curved, tolerance in sorted(estimates, reverse=True):
        if best is not None and estimate <= best.saving:
            break  # the others save no more, even if components achieve all that is estimated
        if curved:
            sheets = chart_residuals(Z, neighbors) if sheets is None else sheets
            tangents = curved_tangents(*sheets, tolerance, chance_residuals(k, n_dims))
            local = Local(tangents, tolerance, _flatness(Z, neighbors, tangents), sheets[1], sheets[0])
        else:
            tangents = anchored_flats(Z, neighbors, tolerance, np.random.default_rng(seed))
            local = Local(tangents, tolerance, 2 * tolerance)
        found = components_of(Z, distances[:, -1], local, k, n_jobs)
        log.debug(
            "%s within %g: %d components hold %.1f %% of the points and save %.2f nats per point",
            "sheets" if curved else "flats", tolerance,
            found.labels.max() + 1, 100 * np.mean(found.labels >= 0), found.saving,
        )  # fmt: skip
        if best is None or found.saving > best.saving:
            best = found
    assert best is not None
    return polish(Z, neighbors, best, n_jobs) if best.curved else best


def _models_of_sample(
    Z: np.ndarray, neighbors: np.ndarray, some: np.ndarray, seed: np.random.SeedSequence
) -> list[Local]:
    """Local models of some rows with every tolerance, except those that cannot save the most."""
    n_dims = Z.shape[1]
    models: list[Local] = []

    def cannot_win(tolerance: float) -> bool:
        """Whether another model is expected to save more, even if all points lay on curves at this tolerance."""
        most = (n_dims - 1) * -np.log(tolerance if tolerance in FLATS.flat_tolerances else tolerance / 2)
        return bool(models) and bool(FLATS.achieved * max(local.saving(n_dims) for local in models) >= most)

    for tolerance in FLATS.flat_tolerances:
        if cannot_win(tolerance):
            break
        tangents = anchored_flats(Z, neighbors, tolerance, np.random.default_rng(seed), rows=some)
        models.append(Local(tangents, tolerance, 2 * tolerance))
    if not cannot_win(FLATS.sheet_tolerances[0]):
        limits = chance_residuals(neighbors.shape[1], n_dims)
        residuals, bases = chart_residuals(Z, neighbors, some)
        for tolerance in FLATS.sheet_tolerances:
            tangents = curved_tangents(residuals, bases, tolerance, limits)
            models.append(Local(tangents, tolerance, 0, bases, residuals))
    return models


def estimated_saving(Z: Float[np.ndarray, "n D"], k: int, seed: np.random.SeedSequence, n_jobs: int = -1) -> float:
    """Nats per point that the best local model saves on a sample of rows, counted from unit length, not from the
    size of a neighborhood."""
    distances, neighbors = nearest_neighbors(Z, k, n_jobs)
    n_dims = Z.shape[1]
    some = np.random.default_rng(seed).choice(len(Z), min(len(Z), FIT.sample), replace=False)
    nearness = -np.log(np.maximum(distances[some, -1], 1e-300))
    return max(
        local.saving(n_dims) + float(np.mean((n_dims - local.tangents.dimensions) * nearness))
        for local in _models_of_sample(Z, neighbors, some, seed)
    )


def _flatness(Z: np.ndarray, neighbors: np.ndarray, tangents: Tangents) -> float:
    """How far the nearer neighbors of the same dimension lie off a point's flat, for most points."""
    rows = thinned(np.arange(len(Z)), FIT.many)
    off = []
    for j in range(neighbors.shape[1] // 3):
        other = neighbors[rows, j]
        for d in np.unique(tangents.dimensions[rows]):
            if d == Z.shape[1]:
                continue
            here = (tangents.dimensions[rows] == d) & (tangents.dimensions[other] == d)
            a, b = rows[here], other[here]
            off.append(relative_distances(Z[b], Z[a], tangents.bases[a, :d]))
    if not off or not sum(map(len, off)):
        return 0.2
    return float(np.clip(np.quantile(np.concatenate(off), 0.9), 0.05, 0.45))
