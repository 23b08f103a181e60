"""Components: sets of points that share a manifold.

`link_components` is the default: neighbours of equal dimension are linked when each lies on the other's flat,
and components are the connected sets of well-linked points. `build_components` is the paper's Algorithm 5.
"""

from __future__ import annotations

from typing import no_type_check

import numpy as np
from jaxtyping import Bool, Float, Int
from numba import njit, prange
from scipy.sparse import coo_matrix, csr_matrix
from scipy.sparse.csgraph import connected_components

from disentree.geometry.neighbors import nearest_neighbors
from disentree.mimosa.finders.tangents import Tangents

MIN_LINKS = 3  # a point spreads its component only with this many links of its own


def link_components(
    Z: Float[np.ndarray, "n D"],
    tangents: Tangents,
    tolerance: float,
    n_neighbors: int = 15,
    n_jobs: int = -1,
) -> Int[np.ndarray, " n"]:
    """A component number for every point, -1 for points without enough links.

    Neighbours are looked for among points of the same dimension only: a dense low-dimensional component would
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
    """Which neighbours lie on each other's flats, within `tolerance` of their distance, with tangent planes
    whose directions differ by no more than that either."""
    d = bases.shape[1]
    cos_thresh = (1 - min(0.5, 4 * tolerance**2)) ** max(d, 1)
    return _mutual_links(np.ascontiguousarray(Z), np.ascontiguousarray(bases), neighbors, tolerance, cos_thresh)


@njit(cache=True)
@no_type_check
def off_flat(z, anchor, basis):
    """Distance of z from the flat through `anchor`, relative to its distance from `anchor`."""
    n_dims = len(z)
    length, inside = 0.0, 0.0
    for a in range(n_dims):
        length += (z[a] - anchor[a]) ** 2
    if length == 0.0:
        return 0.0
    for b in range(len(basis)):
        dot = 0.0
        for a in range(n_dims):
            dot += basis[b, a] * (z[a] - anchor[a])
        inside += dot * dot
    return np.sqrt(max(1.0 - inside / length, 0.0))


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
            if off_flat(Z[other], Z[i], bases[i]) > tolerance:
                continue
            if off_flat(Z[i], Z[other], bases[other]) > tolerance:
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


def similar_neighbors(
    tangents: Tangents,
    neighbors: Int[np.ndarray, "m k"],
    cos_simil_thresh: float,
    rows: Int[np.ndarray, " m"] | None = None,
) -> Bool[np.ndarray, "m k"]:
    """Algorithm 4 for every point (of `rows`, or of all) and each of its neighbours: do they have the same
    dimension and tangent planes whose cosine is at least `cos_simil_thresh`?"""
    if rows is None:
        rows = np.arange(len(neighbors))
    bases = np.ascontiguousarray(tangents.bases)
    return _similar(tangents.dimensions, bases, rows, neighbors, float(cos_simil_thresh))


@njit(parallel=True, cache=True)
@no_type_check
def _similar(dimensions, bases, rows, neighbors, cos_simil_thresh):
    n, k = neighbors.shape
    n_dims = bases.shape[2]
    similar = np.zeros((n, k), dtype=np.bool_)
    for i in prange(n):
        row = rows[i]
        d = dimensions[row]
        A = np.empty((d, d))
        for j in range(k):
            other = neighbors[i, j]
            if dimensions[other] != d:
                continue
            if d == n_dims:  # both planes are the whole space
                similar[i, j] = True
                continue
            for r in range(d):
                for c in range(d):
                    dot = 0.0
                    for a in range(n_dims):
                        dot += bases[row, r, a] * bases[other, c, a]
                    A[r, c] = dot
            similar[i, j] = abs(small_determinant(A)) >= cos_simil_thresh
    return similar


@njit(cache=True)
@no_type_check
def small_determinant(A):
    """By elimination with pivots; overwrites A."""
    n = len(A)
    value = 1.0
    for c in range(n):
        pivot = c
        for r in range(c + 1, n):
            if abs(A[r, c]) > abs(A[pivot, c]):
                pivot = r
        if A[pivot, c] == 0.0:
            return 0.0
        if pivot != c:
            value = -value
            for b in range(c, n):
                A[c, b], A[pivot, b] = A[pivot, b], A[c, b]
        value *= A[c, c]
        for r in range(c + 1, n):
            f = A[r, c] / A[c, c]
            for b in range(c + 1, n):
                A[r, b] -= f * A[c, b]
    return value


def build_components(
    neighbors: Int[np.ndarray, "n k"],
    similar: Bool[np.ndarray, "n k"],
    contagion_num: int,
) -> Int[np.ndarray, " n"]:
    """Algorithm 5 from every point in turn: a component starts as a point and its similar neighbours, and
    takes in any point that `contagion_num` of its members have as a similar neighbour."""
    return _contagion(neighbors, similar, contagion_num)


@njit(cache=True)
@no_type_check
def _contagion(neighbors, similar, contagion_num):
    n, k = neighbors.shape
    labels = np.full(n, -1)
    pressed = np.zeros(n, dtype=np.int64)  # members of the growing component that list a point
    touched = np.empty(n, dtype=np.int64)
    queue = np.empty(n, dtype=np.int64)
    component = 0
    for start in range(n):
        if labels[start] >= 0:
            continue
        head, tail, n_touched = 0, 0, 0
        labels[start] = component
        queue[tail] = start
        tail += 1
        for j in range(k):
            other = neighbors[start, j]
            if similar[start, j] and labels[other] < 0:
                labels[other] = component
                queue[tail] = other
                tail += 1
        while head < tail:
            member = queue[head]
            head += 1
            for j in range(k):
                other = neighbors[member, j]
                if not similar[member, j] or labels[other] >= 0:
                    continue
                if pressed[other] == 0:
                    touched[n_touched] = other
                    n_touched += 1
                pressed[other] += 1
                if pressed[other] >= contagion_num:
                    labels[other] = component
                    queue[tail] = other
                    tail += 1
        for t in range(n_touched):
            pressed[touched[t]] = 0
        component += 1
    return labels
