"""Modes of the density along the manifold that rows lie on: hills that are separated by valleys.

The density of a row follows from the distance to its k-th neighbor, in as many dimensions as neighbors fill. Rows
climb to the densest of their few nearest neighbors; a hill whose peak is not above the saddle to a higher one by
more than the sampling error is a part of that one (ToMATo: Chazal, Guibas, Oudot and Skraba 2013).
"""

from __future__ import annotations

from typing import no_type_check

import numba
import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree

from disentree.mimosa.constants import FIT
from disentree.mimosa.density.constants import DENSITY


class Neighborhoods:
    """The nearest neighbors of rows, looked up again only if more of them are asked for than before."""

    def __init__(self, Z: Float[np.ndarray, "n q"], n_jobs: int = -1):
        self.Z, self.tree, self._n_jobs = Z, KDTree(Z), n_jobs
        self._known = np.zeros((len(Z), 0)), np.zeros((len(Z), 0), int)

    def nearest(self, k: int) -> tuple[Float[np.ndarray, "n k1"], Int[np.ndarray, "n k1"]]:
        """Distances and numbers of each row itself and of the k nearest others."""
        if self._known[0].shape[1] <= k:
            self._known = self.of(self.Z, k + 1)
        return self._known[0][:, : k + 1], self._known[1][:, : k + 1]

    def of(self, Y: Float[np.ndarray, "m q"], k: int) -> tuple[Float[np.ndarray, "m k"], Int[np.ndarray, "m k"]]:
        """Distances and numbers of the k rows that are nearest to each point."""
        distances, neighbors = self.tree.query(Y, k, workers=self._n_jobs)
        return np.asarray(distances).reshape(len(Y), k), np.asarray(neighbors).reshape(len(Y), k)


def find_modes(
    around: Neighborhoods, k: int, weights: Float[np.ndarray, " n"] | None = None
) -> Int[np.ndarray, " n"]:
    """The mode of each row, by the density within its k nearest neighbors; all zero if there is one. A row may
    stand for several."""
    Z, n, near = around.Z, len(around.Z), DENSITY.near
    if n < 2 * k or k <= near:
        return np.zeros(n, int)
    distances, neighbors = around.nearest(min(max(k, FIT.fewest), n - 1))
    reach = np.maximum(distances[:, : k + 1], np.finfo(float).tiny)
    # in d dimensions the log of the ratio of the distances to the k-th and to a nearer neighbor has the mean 1 / d
    dimension = min(1 / max(float(np.log(reach[:, k:] / reach[:, 1:k]).mean()), 1e-9), Z.shape[1])
    weight, variance = _log_weight(weights, neighbors[:, 1 : k + 1])
    height = weight - dimension * np.log(reach[:, k])
    height = height[neighbors[:, : near + 1]].mean(axis=1)
    ends = np.stack([np.repeat(np.arange(n), near), neighbors[:, 1 : near + 1].ravel()])
    between = _gaps(ends, distances, neighbors)
    if between.size:
        # a gap is a node of its own, as low as its middle
        middle = (Z[between[0]] + Z[between[1]]) / 2
        width, beside = around.of(middle, k)
        weight, own = _log_weight(weights, beside)
        low = weight - dimension * np.log(np.maximum(width[:, -1], np.finfo(float).tiny))
        low = np.minimum(low, height[between].min(axis=0))
        height, variance = np.concatenate([height, low]), np.concatenate([variance, own])
        nodes = np.tile(n + np.arange(len(low)), 2)
        ends = np.concatenate([ends, [nodes, between.ravel()]], axis=1)
    links = csr_matrix((np.ones(ends.shape[1], bool), (ends[0], ends[1])), shape=(len(height),) * 2)
    links = (links + links.T).tocsr()
    order = np.argsort(-height, kind="stable")
    # averages do not lessen the variance along a curve, where rows that are near have the same neighbors
    errors = FIT.doubt * max(1.0, 2 / dimension)
    peaks = climb(height, variance, order, links.indptr, links.indices, errors)
    return _without_small(peaks[:n], neighbors[:, : k + 1], k)


def _log_weight(
    weights: Float[np.ndarray, " n"] | None, neighbors: Int[np.ndarray, "m k"]
) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"]]:
    """The log of what k neighbors weigh, in units of k, and the variance of a log density that follows from it:
    1 / k where all weigh the same."""
    m, k = neighbors.shape
    if weights is None:
        return np.zeros(m), np.full(m, 1 / k)
    own = weights[neighbors]
    whole = own.sum(axis=1)
    return np.log(whole / k), (own**2).sum(axis=1) / whole**2


def _gaps(
    ends: Int[np.ndarray, "2 m"], distances: Float[np.ndarray, "n k"], neighbors: Int[np.ndarray, "n k"]
) -> Int[np.ndarray, "2 g"]:
    """The closest pair of rows of any two unconnected parts that are in each other's neighborhoods: few links
    leave gaps by chance, above all on curves."""
    n, k = neighbors.shape
    graph = csr_matrix((np.ones(ends.shape[1], bool), (ends[0], ends[1])), shape=(n, n))
    count, part = connected_components(graph, directed=False)
    if count == 1:
        return np.zeros((2, 0), int)
    here, there, apart = np.repeat(np.arange(n), k), neighbors.ravel(), distances.ravel()
    across = part[here] != part[there]
    here, there, apart = here[across], there[across], apart[across]
    pair = np.minimum(part[here], part[there]) * count + np.maximum(part[here], part[there])
    order = np.lexsort((apart, pair))
    first = order[np.unique(pair[order], return_index=True)[1]]
    return np.stack([here[first], there[first]])


def _without_small(
    peaks: Int[np.ndarray, " n"], neighbors: Int[np.ndarray, "n k"], fewest: int
) -> Int[np.ndarray, " n"]:
    """Modes, numbered. Rows of those that are smaller than the neighborhoods of the density, which could not see
    them, go to the mode of the nearest row of another."""
    _, modes, sizes = np.unique(peaks, return_inverse=True, return_counts=True)
    small = sizes < fewest
    if small.all():
        return np.zeros(len(peaks), int)
    others = ~small[modes[neighbors]]
    nearest = modes[neighbors[np.arange(len(peaks)), others.argmax(axis=1)]]
    nearest = np.where(others.any(axis=1), nearest, sizes.argmax())
    return np.unique(np.where(small[modes], nearest, modes), return_inverse=True)[1]


@numba.njit(cache=True, nogil=True)
@no_type_check
def _root(parent, a):  # pragma: no cover
    while parent[a] != a:
        parent[a] = parent[parent[a]]
        a = parent[a]
    return a


@numba.njit(cache=True, nogil=True)
@no_type_check
def climb(height, variance, order, starts, links, errors):  # pragma: no cover
    """The peak of each row: rows in the order of height, each joined to its highest neighbor, which joins hills
    that meet there if the lower peak is no more than so many sampling errors above."""
    n = len(height)
    parent, rank = np.arange(n), np.empty(n, np.int64)
    for j in range(n):
        rank[order[j]] = j
    for j in range(n):
        row, best = order[j], -1
        for e in range(starts[row], starts[row + 1]):
            other = links[e]
            if rank[other] < j and (best < 0 or rank[other] < rank[best]):
                best = other
        if best < 0:
            continue
        parent[row] = _root(parent, best)
        for e in range(starts[row], starts[row + 1]):
            if rank[links[e]] < j:
                a, b = _root(parent, row), _root(parent, links[e])
                if a != b:
                    low, high = (a, b) if rank[a] > rank[b] else (b, a)
                    if height[low] - height[row] < errors * np.sqrt(variance[low] + variance[row]):
                        parent[low] = high
    for j in range(n):
        parent[j] = _root(parent, j)
    return parent
