"""Components: sets of points that share a manifold.

`link_components` is the default: neighbors of equal dimension are linked when each lies on the other's flat,
and components are the connected sets of well-linked points.
"""

from __future__ import annotations

from typing import no_type_check

import numpy as np
from jaxtyping import Bool, Float, Int
from numba import njit, prange
from scipy.sparse import coo_matrix, csr_matrix
from scipy.sparse.csgraph import connected_components

from disentree.geometry.neighbors import nearest_neighbors
from disentree.geometry.subspaces import Tangents, relative_distance, small_determinant

MIN_LINKS = 3  # a point spreads its component only with this many links of its own


def link_components(
    Z: Float[np.ndarray, "n D"],
    tangents: Tangents,
    tolerance: float,
    n_neighbors: int = 15,
    n_jobs: int = -1,
) -> Int[np.ndarray, " n"]:
    """A component number for every point, -1 for points without enough links.

    Neighbors are looked for among points of the same dimension only: a dense low-dimensional component would
    otherwise crowd out the links between the two sides of a sheet that it lies in.
    """
    labels = np.full(len(Z), -1)
    n_found = 0
    for d in np.unique(tangents.dimensions):
        rows = np.flatnonzero(tangents.dimensions == d)
        if len(rows) <= MIN_LINKS:
            continue
        k = min(n_neighbors, len(rows) - 1)
        _, near = nearest_neighbors(Z[rows], k, n_jobs)
        linked = mutual_links(Z[rows], tangents.bases[rows, :d], near, tolerance)
        pieces = _connected(near, linked)
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
    d, n_dims = bases.shape[1], bases.shape[2]
    full = d == n_dims
    for i in prange(n):
        A = np.empty((d, d))
        for j in range(k):
            other = neighbors[i, j]
            if full or d == 0:
                linked[i, j] = full or np.all(Z[i] == Z[other])
                continue
            if relative_distance(Z[other], Z[i], bases[i]) > tolerance:
                continue
            if relative_distance(Z[i], Z[other], bases[other]) > tolerance:
                continue
            for r in range(d):
                for c in range(d):
                    dot = 0.0
                    for b in range(n_dims):
                        dot += bases[i, r, b] * bases[other, c, b]
                    A[r, c] = dot
            linked[i, j] = abs(small_determinant(A)) >= cos_thresh
    return linked


def _connected(neighbors: Int[np.ndarray, "n k"], linked: Bool[np.ndarray, "n k"]) -> Int[np.ndarray, " n"]:
    """Connected sets of points with at least MIN_LINKS links; other linked points join the set that most of
    their links lead to."""
    n = len(neighbors)
    i, j = np.nonzero(linked)
    graph = coo_matrix((np.ones(len(i), dtype=np.int8), (i, neighbors[i, j])), shape=(n, n)).tocsr()
    graph = csr_matrix(graph.maximum(graph.T))
    strong = np.flatnonzero(np.diff(graph.indptr) >= min(MIN_LINKS, n - 1))
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
