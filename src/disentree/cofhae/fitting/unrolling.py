"""Guides for the continuous variables of curved leaves.

Distances along a curved leaf are measured through chains of neighbors, and points are laid out flat so as to keep
them (Isomap with landmarks: Tenenbaum, de Silva and Langford 2000; de Silva and Tenenbaum 2002). The independent
components of the layout are close to the leaf's variables, as far as it can be laid out without stretching. A
variable whose spread is below the errors of the layout is found on the curves along which the others are constant:
the rank of a point along its curve does not depend on the others if all are independent.

Coordinates that stand out clearly are targets all through training; the others guide its start, after which the
penalty on dependence determines them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from sklearn.neighbors import KNeighborsRegressor, NearestNeighbors

from disentree.cofhae import constants
from disentree.cofhae.fitting.offsets import not_told_by, shared_and_offset
from disentree.cofhae.fitting.targets import Targets
from disentree.geometry.charts import n_quadratic_terms, quadratic_terms
from disentree.geometry.maps.leaf_factors import fast_ica
from disentree.geometry.maps.linear_maps import fit_linear_maps
from disentree.hierarchy import Hierarchy, Path


class Guide(NamedTuple):
    """What the layout of a leaf says about its variables."""

    path: int
    rows: Int[np.ndarray, " m"]
    factors: Float[np.ndarray, "m k"]  # standardized, k of the leaf's variables
    firm: int  # how many of them, the first, stand out so far that they need no further settling


def lay_out(
    Y: Float[np.ndarray, "m r"], d: int, rng: np.random.Generator
) -> tuple[Float[np.ndarray, "m _"], Float[np.ndarray, " _"]]:
    """Coordinates of points on a d-dimensional leaf, variances largest first, and the d + 1 leading variances."""
    m, k = len(Y), min(constants.NEIGHBORS, len(Y) - 1)
    distance, index = NearestNeighbors(n_neighbors=k + 1, algorithm="brute").fit(Y).kneighbors(Y)
    links = (distance[:, 1:].ravel(), (np.repeat(np.arange(m), k), index[:, 1:].ravel()))
    graph = csr_array(links, shape=(m, m))
    landmarks = rng.choice(m, min(constants.LANDMARKS, m), replace=False)
    squared = dijkstra(graph, directed=False, indices=landmarks) ** 2
    if not np.isfinite(squared).all():  # the leaf is in pieces: as far apart as any two points of one
        squared[~np.isfinite(squared)] = squared[np.isfinite(squared)].max()
    among = squared[:, landmarks]
    mean = among.mean(axis=0)
    values, vectors = np.linalg.eigh(-0.5 * (among - mean - among.mean(axis=1)[:, None] + among.mean()))
    values, vectors = values[::-1].clip(min=0), vectors[:, ::-1]
    if values[0] == 0:  # all points are one point
        return np.zeros((m, 1)), values[: d + 1]
    kept = max(1, int((values[:d] > 1e-9 * values[0]).sum()))
    layout = -0.5 * (squared.T - mean) @ (vectors[:, :kept] / np.sqrt(values[:kept]))
    return layout, values[: d + 1] / len(landmarks)


def guide_of(
    Y: Float[np.ndarray, "m r"], rows: Int[np.ndarray, " m"], path: int, d: int, rng: np.random.Generator
) -> Guide | None:
    """The independent components of a leaf's layout, as many as stand out from what it gets wrong."""
    layout, variances = lay_out(Y, d, rng)
    over = variances[: layout.shape[1]] / max(float(variances[-1]), 1e-300)
    # Coordinates of very different size are settled apart: small ones would blur the large.
    firm = int((over > constants.FIRM).cumprod().sum())
    clear = int((over > constants.CLEAR).cumprod().sum())
    factors = [
        _independent(layout[:, first:last], rng) for first, last in ((0, firm), (firm, clear)) if last > first
    ]
    return Guide(path, rows, np.concatenate(factors, axis=1), firm) if factors else None


def _independent(layout: Float[np.ndarray, "m k"], rng: np.random.Generator) -> Float[np.ndarray, "m k"]:
    u, _, _ = np.linalg.svd(layout - layout.mean(axis=0), full_matrices=False)
    return u @ fast_ica(u * np.sqrt(len(u)), rng) * np.sqrt(len(u))


def next_coordinate(
    known: Float[np.ndarray, "m k"], Y: Float[np.ndarray, "m r"], rng: np.random.Generator
) -> Float[np.ndarray, " m"] | None:
    """How far along points lie on the curves, or the widest direction of the sheets, on which `known` coordinates
    are constant: standardized ranks. None if there are too few points to see curves.

    Many overlapping windows, each of points that nearly agree in what is known. What still varies linearly or
    quadratically with that is removed; points are ranked along the widest direction of the rest; windows are
    turned to agree on the points that they share.
    """
    m, k = known.shape
    terms = n_quadratic_terms(k)
    size = min(constants.WINDOW, m // 10, max(8 * terms, m // constants.NARROW**k))
    if size < 3 * terms:
        return None
    known = (known - known.mean(axis=0)) / known.std(axis=0)
    centers = rng.choice(m, min(max(600, constants.OVERLAP * m // size), m), replace=False)
    _, windows = NearestNeighbors(n_neighbors=size).fit(known).kneighbors(known[centers])
    ranks = np.zeros((len(centers), m), dtype=np.float32)
    for i, (center, window) in enumerate(zip(centers, windows, strict=True)):
        q, _ = np.linalg.qr(quadratic_terms(known[window] - known[center]))
        rest = Y[window] - q @ (q.T @ Y[window])
        along = np.linalg.svd(rest, full_matrices=False)[0][:, 0]
        ranks[i, window] = (np.argsort(np.argsort(along)) + 0.5) / size - 0.5
    inside = (ranks != 0).astype(np.float32)
    sizes = np.sqrt(np.square(ranks) @ inside.T)
    agreement = (ranks @ ranks.T) / np.maximum(sizes * sizes.T, 1e-9) * np.sqrt(inside @ inside.T)
    np.fill_diagonal(agreement, 0)
    sign = np.where(np.linalg.eigh(agreement)[1][:, -1] < 0, -1.0, 1.0)
    for _ in range(50):
        before, sign = sign, np.where(agreement @ sign < 0, -1.0, 1.0)
        if (before == sign).all():
            break
    count = inside.sum(axis=0)
    value = (sign @ ranks) / np.maximum(count, 1)
    if (count == 0).any():  # a point in no window is like the points nearest to it
        covered = count > 0
        nearest = KNeighborsRegressor(constants.INTERPOLATED_FROM).fit(Y[covered], value[covered])
        value[~covered] = nearest.predict(Y[~covered])
    return (value - value.mean()) / value.std()


def guides(
    geometry: Float[np.ndarray, "n r"],
    hierarchy: Hierarchy,
    paths: Int[np.ndarray, " n"],
    curved: Int[np.ndarray, " c"],
    rng: np.random.Generator,
    targets: Targets,
) -> Targets:
    """Add guides for the rows of curved paths to the targets of others. Distances are measured in `geometry`.

    From the path with the fewest dimensions up: a variable that a path shares with one that is settled already
    is the coordinate that goes with it among the points where the two paths come close. A path that has one
    variable more than a settled one is described by that instead, if this tells as much about the rows.
    """
    values, kept, guided = (array.copy() for array in (targets.values, targets.kept, targets.guided))
    unrolling = _Unrolling(geometry, rng)
    by_dimension = sorted(curved, key=lambda index: (hierarchy.paths[index].dimension, index))
    for path in (hierarchy.paths[index] for index in by_dimension):
        rows = np.flatnonzero(paths == path.index)
        if path.dimension == 0 or len(rows) < constants.FEWEST_POINTS:
            continue
        found = unrolling.settle(rows, path)
        if found is None:
            continue
        guide, columns = found
        for j, column in enumerate(columns):
            if column >= 0:
                values[rows, column] = guide.factors[:, j]
                (kept if j < guide.firm else guided)[path.index, column] = 1
    return Targets(values, targets.trust, kept, guided)


def product_guides(
    geometry: Float[np.ndarray, "n r"],
    hierarchy: Hierarchy,
    paths: Int[np.ndarray, " n"],
    curved: Int[np.ndarray, " c"],
    rng: np.random.Generator,
    targets: Targets,
) -> Targets:
    """Guides for a product of which some cells are curved: those of one linear map for all cells, or if every cell
    that is curved can be laid out on its own, and that tells more of its rows, of layouts."""
    linear = cell_guides(geometry, hierarchy, paths, rng)
    rows_of = {int(index): np.flatnonzero(paths == index) for index in curved}
    fewest = min(len(rows) for rows in rows_of.values())
    most = max(hierarchy.paths[index].dimension for index in rows_of)
    if fewest < constants.FEWEST_POINTS or most > constants.CELL_DIMENSIONS:
        return linear
    laid_out = guides(geometry, hierarchy, paths, curved, rng, targets)

    def untold(found: Targets) -> float:
        total = 0.0
        for index, rows in rows_of.items():
            some = rng.permutation(rows)[: constants.LAID_OUT]
            factors = found.values[some][:, list(hierarchy.paths[index].continuous)]
            if factors.shape[1]:
                total += len(rows) * (1.0 if np.isnan(factors).any() else not_told_by(factors, geometry[some]))
        return total

    return laid_out if untold(laid_out) < untold(linear) else linear


def cell_guides(
    geometry: Float[np.ndarray, "n r"],
    hierarchy: Hierarchy,
    paths: Int[np.ndarray, " n"],
    rng: np.random.Generator,
) -> Targets:
    """Guides for the cells of a product of which some are curved: the variables of one linear map for all of them.

    A cell has too few rows, and too many dimensions, to be laid out on its own. That a variable is shared by half
    of the cells makes up for what a linear map gets wrong, and it means the same in each of them.
    """
    known = np.flatnonzero(paths >= 0)
    maps, _ = fit_linear_maps(geometry[known], hierarchy, paths[known], rng)
    values = np.full((len(geometry), hierarchy.n_variables), np.nan)
    values[known] = np.where(hierarchy.is_categorical, np.nan, maps.encode(geometry[known], paths[known]))
    trust, none = np.zeros(len(hierarchy.paths)), np.zeros((len(hierarchy.paths), hierarchy.n_variables))
    return Targets(values, trust, none, np.ones_like(none))


@dataclass
class _Unrolling:
    """Guides of leaves, one after the other. Those that are settled, with the variable of each factor (-1
    for none), help with the next."""

    geometry: Float[np.ndarray, "n r"]
    rng: np.random.Generator
    settled: list[tuple[Guide, list[int]]] = field(default_factory=list)

    def settle(self, rows: Int[np.ndarray, " m"], path: Path) -> tuple[Guide, list[int]] | None:
        """The guide of a leaf and its variables, or None if it has none."""
        found = self._laid_out(rows, path)
        found = self._off_enclosed(rows, path, found) or found
        if found is not None:
            self.settled.append(found)
        return found

    def _laid_out(self, rows: Int[np.ndarray, " m"], path: Path) -> tuple[Guide, list[int]] | None:
        """A guide for all rows of a leaf and, where it can be had, for all of its variables; and the variables."""
        some = self._some(rows, constants.LAID_OUT)
        guide = guide_of(self.geometry[some], some, path.index, path.dimension, self.rng)
        if guide is None:
            return None
        factors = self._interpolated(guide.factors, some, rows)
        while factors.shape[1] < path.dimension:
            another = next_coordinate(factors, self.geometry[rows], self.rng)
            if another is None:
                break
            factors = np.column_stack([factors, another])
        guide = Guide(path.index, rows, factors, guide.firm)
        return guide, self._columns(guide, list(path.continuous))

    def _off_enclosed(
        self, rows: Int[np.ndarray, " m"], path: Path, laid_out: tuple[Guide, list[int]] | None
    ) -> tuple[Guide, list[int]] | None:
        """A guide by a settled path that has all variables of a path but one, and the variables: those that need
        no further settling first, and among them the one that is told by the distance. None if there is no such
        path, or if distances do not tell enough."""
        enclosed, columns, last = self._one_less(path)
        if enclosed is None:
            return None
        geometry, rng = self.geometry, self.rng
        some = self._some(rows, constants.COMPARED_ROWS)
        described = shared_and_offset(geometry[some], geometry[enclosed.rows], enclosed.factors, rng)
        if described is None:
            return None
        shared, offset = described
        factors = np.column_stack([shared, offset])
        places = rng.permutation(len(some))[: 2 * constants.LAID_OUT]
        seen = geometry[some[places]]
        untold = not_told_by(factors[places], seen)
        along = next_coordinate(shared, geometry[some], rng)
        if along is not None:
            # compared with a variable that tells nothing, since one more of them tells rows apart less well
            none = not_told_by(np.column_stack([shared, rng.permutation(offset)])[places], seen)
            told_along = none - not_told_by(np.column_stack([shared, along])[places], seen)
            if none - untold < constants.TOLD_BY_OFFSET * told_along:
                return None
        if laid_out is not None:
            among = np.searchsorted(rows, some[places])
            if untold > constants.LESS_TOLD * not_told_by(laid_out[0].factors[among], seen):
                return None
        order = [*range(enclosed.firm), len(columns), *range(enclosed.firm, len(columns))]
        factors = self._interpolated(factors[:, order], some, rows)
        return Guide(path.index, rows, factors, enclosed.firm + 1), [[*columns, last][i] for i in order]

    def _one_less(self, path: Path) -> tuple[Guide | None, list[int], int]:
        """A settled guide with all variables of a path but one, its variables, and the one that is missing."""
        for guide, columns in self.settled:
            missing = set(path.continuous) - set(columns)
            if len(columns) + 1 == path.dimension and len(missing) == 1:
                return guide, columns, missing.pop()
        return None, [], -1

    def _some(self, rows: Int[np.ndarray, " m"], most: int) -> Int[np.ndarray, " s"]:
        return np.sort(self.rng.choice(rows, most, replace=False)) if len(rows) > most else rows

    def _interpolated(
        self, factors: Float[np.ndarray, "s k"], some: Int[np.ndarray, " s"], rows: Int[np.ndarray, " m"]
    ) -> Float[np.ndarray, "m k"]:
        """The factors of all rows of a leaf from those of some of them."""
        if len(some) == len(rows):
            return factors
        nearest = KNeighborsRegressor(constants.INTERPOLATED_FROM, weights="distance")
        return nearest.fit(self.geometry[some], factors).predict(self.geometry[rows])

    def _columns(self, guide: Guide, active: list[int]) -> list[int]:
        """The variable of each factor of a guide. Factors of shared variables are turned, rescaled and shifted in
        place, to mean what they mean elsewhere; a variable that is shared and has no counterpart is not guided."""
        columns = [-1] * guide.factors.shape[1]
        shared = [(other, [j for j, c in enumerate(theirs) if c in active]) for other, theirs in self.settled]
        best = max(range(len(shared)), key=lambda i: len(shared[i][1]), default=None)
        taken: set[int] = set()
        if best is not None and shared[best][1]:
            (other, theirs), names = shared[best], self.settled[best][1]
            mine, near = self._pairs(guide.rows, other.rows)
            x, y = guide.factors[mine], other.factors[near][:, theirs]
            correlation = np.corrcoef(x.T, y.T)[: x.shape[1], x.shape[1] :]
            for j, i in zip(*linear_sum_assignment(-np.abs(correlation)), strict=True):
                if abs(correlation[j, i]) < constants.LEAST_CORRELATION:
                    continue
                columns[j] = names[theirs[i]]
                slope = np.sign(correlation[j, i]) * y[:, i].std() / x[:, j].std()
                guide.factors[:, j] = slope * guide.factors[:, j] + y[:, i].mean() - slope * x[:, j].mean()
            taken = {c for _, theirs in self.settled for c in theirs if c in active}
        own = [c for c in active if c not in columns and c not in taken]
        for j in range(len(columns)):
            if columns[j] < 0 and own:
                columns[j] = own.pop(0)
        return columns

    def _pairs(self, mine: Int[np.ndarray, " a"], theirs: Int[np.ndarray, " b"]) -> tuple[np.ndarray, np.ndarray]:
        """Where two leaves come closest: places in `mine`, and those of their nearest rows in `theirs`."""
        places = self.rng.choice(len(mine), min(len(mine), constants.LAID_OUT), replace=False)
        others = self.rng.choice(len(theirs), min(len(theirs), 2 * constants.LAID_OUT), replace=False)
        search = NearestNeighbors(n_neighbors=1, algorithm="brute").fit(self.geometry[theirs[others]])
        distance, index = search.kneighbors(self.geometry[mine[places]])
        near = distance[:, 0] <= np.quantile(distance[:, 0], constants.NEAREST_PAIRS)
        return places[near], others[index[near, 0]]
