"""Components: neighbors of equal dimension are linked when each lies on the other's flat; connected sets of
well-linked points are the components."""

from __future__ import annotations

from typing import no_type_check

import numpy as np
from jaxtyping import Bool, Float, Int
from numba import njit, prange
from scipy.sparse import coo_matrix, csr_matrix
from scipy.sparse.csgraph import connected_components

from disentree.geometry.neighbors import nearest_neighbors
from disentree.geometry.subspaces import Tangents, plane_cosine, relative_distance
from disentree.mimosa.finders.flats.constants import FLATS


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
    return _mutual_links(np.ascontiguousarray(Z), np.ascontiguousarray(bases), neighbors, tolerance, cos_thresh)


@njit(parallel=True, cache=True)
@no_type_check
def _mutual_links(Z, bases, neighbors, tolerance, cos_thresh):
    n, k = neighbors.shape
    linked = np.zeros((n, k), dtype=np.bool_)
    d = bases.shape[1]
    full = d == bases.shape[2]
    for i in prange(n):
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
    return linked


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
