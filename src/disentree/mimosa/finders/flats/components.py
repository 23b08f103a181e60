"""Components: neighbors of equal dimension are linked when each lies on the other's flat; connected sets of
well-linked points are the components. Pieces of one manifold are joined over gaps, and what is no manifold of its
own is dropped."""

from __future__ import annotations

from typing import no_type_check

import numpy as np
from jaxtyping import Bool, Float, Int
from numba import njit
from scipy.sparse import coo_matrix, csr_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree

from disentree.geometry.neighbors import nearest_neighbors, thinned
from disentree.geometry.subspaces import (
    Tangents,
    plane_cosine,
    relative_distance,
    relative_distances,
    subspace_cosines,
)
from disentree.mimosa.constants import FIT
from disentree.mimosa.finders.flats.constants import FLATS
from disentree.mimosa.finders.labels import drop_small, renumber, rows_of
from disentree.utils.threads import over_rows


def link_components(
    Z: Float[np.ndarray, "n D"], tangents: Tangents, tolerance: float, n_jobs: int = -1
) -> Int[np.ndarray, " n"]:
    """A component number for every point, -1 for points without enough links.

    Neighbors are looked for among points of the same dimension only: a dense low-dimensional component would
    otherwise crowd out the links between the two sides of a sheet that it lies in.
    """
    labels = np.full(len(Z), -1)
    n_found = 0
    for d in np.unique(tangents.dimensions):
        rows = np.flatnonzero(tangents.dimensions == d)
        if len(rows) <= FLATS.min_links:
            continue
        _, near = nearest_neighbors(Z[rows], min(FLATS.nearby, len(rows) - 1), n_jobs)
        pieces = _connected(near, mutual_links(Z[rows], tangents.bases[rows, :d], near, tolerance))
        found = pieces >= 0
        labels[rows[found]] = pieces[found] + n_found
        n_found += pieces.max() + 1
    return labels


def mutual_links(
    Z: Float[np.ndarray, "n D"],
    bases: Float[np.ndarray, "n d D"],
    neighbors: Int[np.ndarray, "n k"],
    tolerance: float,
) -> Bool[np.ndarray, "n k"]:
    """Which neighbors lie on each other's flats, within `tolerance` of their distance, with tangent planes
    whose directions differ by no more than that either."""
    d = bases.shape[1]
    cos_thresh = (1 - min(0.5, 4 * tolerance**2)) ** max(d, 1)
    linked = np.zeros(neighbors.shape, dtype=np.bool_)
    planes = np.ascontiguousarray(bases)
    over_rows(
        _mutual_links, len(linked), np.ascontiguousarray(Z), planes, neighbors, tolerance, cos_thresh, linked
    )
    return linked


@njit(nogil=True, cache=True)
@no_type_check
def _mutual_links(start, stop, Z, bases, neighbors, tolerance, cos_thresh, linked):
    k, d = neighbors.shape[1], bases.shape[1]
    full = d == bases.shape[2]
    for i in range(start, stop):
        for j in range(k):
            other = neighbors[i, j]
            if full or d == 0:
                linked[i, j] = full or np.all(Z[i] == Z[other])
                continue
            if relative_distance(Z[other], Z[i], bases[i]) > tolerance:
                continue
            if relative_distance(Z[i], Z[other], bases[other]) > tolerance:
                continue
            linked[i, j] = plane_cosine(bases[i], bases[other]) >= cos_thresh


def _connected(neighbors: Int[np.ndarray, "n k"], linked: Bool[np.ndarray, "n k"]) -> Int[np.ndarray, " n"]:
    """Connected sets of points with enough links; other linked points join the set that most of
    their links lead to."""
    n = len(neighbors)
    i, j = np.nonzero(linked)
    graph = coo_matrix((np.ones(len(i), dtype=np.int8), (i, neighbors[i, j])), shape=(n, n)).tocsr()
    graph = csr_matrix(graph.maximum(graph.T))
    strong = np.flatnonzero(np.diff(graph.indptr) >= min(FLATS.min_links, n - 1))
    labels = np.full(n, -1)
    if not len(strong):
        return labels
    _, labels[strong] = connected_components(graph[strong][:, strong], directed=False)
    weak = np.setdiff1d(np.flatnonzero(np.diff(graph.indptr) > 0), strong)
    for row in weak:
        joined = labels[graph.indices[graph.indptr[row] : graph.indptr[row + 1]]]
        joined = joined[joined >= 0]
        if len(joined):
            labels[row] = np.bincount(joined).argmax()
    return labels


def merge_over_seams(
    Z: Float[np.ndarray, "n D"],
    tangents: Tangents,
    labels: Int[np.ndarray, " n"],
    tolerance: float,
    min_size: int,
) -> Int[np.ndarray, " n"]:
    """Join pieces of equal dimension where most of their closest pairs of points lie on each other's flats,
    and number the pieces anew by dimension and then size; those below `min_size` are dropped."""
    labels = drop_small(labels, min_size)
    pieces = rows_of(labels)
    dims = [int(tangents.dimensions[rows[0]]) for rows in pieces]
    few = [thinned(rows, FIT.many) for rows in pieces]
    trees = [KDTree(Z[rows]) for rows in few]
    joined = []
    for a in range(len(pieces)):
        for b in range(a):
            if dims[a] == dims[b] and _continue_each_other(
                Z, tangents, few[a], few[b], trees[b], dims[a], tolerance
            ):
                joined.append((a, b))
    if joined:
        a, b = np.array(joined).T
        graph = coo_matrix((np.ones(len(a)), (a, b)), shape=(len(pieces), len(pieces)))
        _, group = connected_components(graph, directed=False)
        labels = np.where(labels >= 0, group[labels], -1)
    return renumber(labels, tangents.dimensions)


def _continue_each_other(
    Z: np.ndarray, tangents: Tangents, A: np.ndarray, B: np.ndarray, tree_b: KDTree, d: int, tolerance: float
) -> bool:
    if d == Z.shape[1]:
        return True
    A = thinned(A, FIT.sample)
    distances, nearest = map(np.asarray, tree_b.query(Z[A]))
    order = np.argsort(distances, kind="stable")[: FIT.sample // 10]
    a, b = A[order], B[nearest[order]]
    if d == 0:
        return bool((distances[order] == 0).all())
    off = np.maximum(
        relative_distances(Z[b], Z[a], tangents.bases[a, :d]),
        relative_distances(Z[a], Z[b], tangents.bases[b, :d]),
    )
    cos = subspace_cosines(tangents.bases[a, :d], tangents.bases[b, :d])
    fits = (off <= tolerance) & (cos >= (1 - min(0.5, 4 * tolerance**2)) ** d)
    return bool(fits.mean() >= 0.5)


def drop_explained(
    Z: Float[np.ndarray, "n D"],
    tangents: Tangents,
    labels: Int[np.ndarray, " n"],
    radii: Float[np.ndarray, " n"],
    tolerance: float,
    n_jobs: int = -1,
) -> Int[np.ndarray, " n"]:
    """Drop components most of whose points lie on the flats of components of lower dimension, or of larger
    ones of the same: points between manifolds for which no flat of their own was found.

    A component of full dimension takes in every point for which no flat was found, without evidence for any
    of them, so there it is the points that are dropped, one by one.
    """
    labels = labels.copy()
    kept: list[tuple[KDTree, np.ndarray, int]] = []
    for rows in rows_of(labels):  # in order of dimension, larger ones first
        d = int(tangents.dimensions[rows[0]])
        full = d == Z.shape[1]
        some = rows if full else thinned(rows, FIT.sample)
        explained = np.zeros(len(some), dtype=bool)
        for tree, core, e in kept:
            left = np.flatnonzero(~explained)
            distances, nearest = tree.query(Z[some[left]], workers=n_jobs)
            anchor = core[nearest]
            off = relative_distances(Z[some[left]], Z[anchor], tangents.bases[anchor, :e])
            explained[left] = (off <= tolerance) & (distances <= 4 * radii[anchor])
        if explained.mean() >= 0.5:
            labels[rows] = -1
            continue
        if full:
            labels[rows[explained]] = -1
        kept.append((KDTree(Z[rows]), rows, d))
    return renumber(labels, tangents.dimensions)
