"""A layout of rows in few dimensions in which only nearness counts: rows that are neighbors attract each other,
and all repel each other (UMAP: McInnes, Healy and Melville 2018).

Of images of digits, or of cells, no distance means anything but the smallest: two sevens with and without a bar
are as far apart as a seven and a one. A layout keeps the smallest and opens gaps where hardly any neighbors are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import no_type_check

import numba
import numpy as np
from jaxtyping import Float
from scipy.sparse import coo_matrix, csr_matrix
from sklearn.neighbors import NearestNeighbors


@dataclass(frozen=True)
class LayoutConstants:
    """Those of the method's authors, but for the first and the dimension."""

    # Principal components in which the neighbors of images and cells are looked for. With 20, 50 and 100 of them
    # the 15 nearest are of the same class in MNIST: .891, .898, .891, in Fashion-MNIST: .751, .759, .761.
    coordinates: int = 50
    neighbors: int = 15  # of a row, that it is to be near to
    dimension: int = 5  # curves of one kind need not cross those of another, as they must in two
    epochs: int = 200
    repelled: int = 5  # rows at random that a row is moved away from, for each neighbor that it is moved to
    # of the similarity 1 / (1 + a r^2b): that which is nearest to exp(-r), so that neighbors may be at one place
    a: float = 1.929
    b: float = 0.7915
    width: float = 10.0  # half that of the layout at first
    step: float = 4.0  # in each coordinate, at most


LAYOUT = LayoutConstants()


def neighbor_graph(Z: Float[np.ndarray, "n q"], n_jobs: int = -1) -> csr_matrix:
    """How far rows are neighbors of each other: 1 for the nearest, as much less for the others as they are farther
    in units of the row's own neighborhood, so that dense and sparse regions are alike."""
    n, k = len(Z), min(LAYOUT.neighbors, len(Z) - 1)
    # exact: trees of rows are no faster in the dimensions of codes
    search = NearestNeighbors(n_neighbors=k, algorithm="brute", n_jobs=n_jobs).fit(Z.astype(np.float32))
    distances, neighbors = map(np.asarray, search.kneighbors())
    beyond = np.maximum(distances - distances[:, :1], 0.0).astype(np.float64)
    weights = np.exp(-beyond / _units(beyond))
    rows = np.repeat(np.arange(n), k)
    one = coo_matrix((weights.ravel(), (rows, neighbors.ravel())), shape=(n, n)).tocsr()
    return csr_matrix(one + one.T - one.multiply(one.T))


def _units(beyond: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n 1"]:
    """For each row the unit of distance in which its neighbors weigh as much as the log2 of their number."""
    wanted, low, high = np.log2(beyond.shape[1] + 1), np.zeros((len(beyond), 1)), np.full((len(beyond), 1), np.inf)
    least = 1e-3 * max(float(beyond.mean()), np.finfo(float).tiny)
    unit = np.maximum(beyond.mean(axis=1, keepdims=True), least)
    for _ in range(64):
        many = np.exp(-beyond / unit).sum(axis=1, keepdims=True) > wanted
        low, high = np.where(many, low, unit), np.where(many, unit, high)
        unit = np.maximum(np.where(np.isinf(high), 2 * unit, (low + np.where(np.isinf(high), 0, high)) / 2), least)
    return unit


def layout(Z: Float[np.ndarray, "n q"], graph: csr_matrix, rng: np.random.Generator) -> Float[np.ndarray, "n d"]:
    """Rows in a few dimensions, each near to its neighbors in a graph. It begins with the leading principal
    components of the coordinates that are given."""
    links = graph.tocoo()
    kept = links.data * LAYOUT.epochs > links.data.max()  # others are not drawn once
    U, s, _ = np.linalg.svd(Z - Z.mean(axis=0), full_matrices=False)
    Y = (U * s)[:, : LAYOUT.dimension]
    Y = LAYOUT.width * Y / max(float(np.abs(Y).max(initial=0.0)), np.finfo(float).tiny)
    Y = Y + rng.normal(scale=1e-4, size=Y.shape)  # rows at one place would never part
    seed = rng.integers(1, 2**63, dtype=np.uint64)
    chance = links.data[kept] / links.data.max(initial=0.0)
    own = LAYOUT.epochs, LAYOUT.a, LAYOUT.b, LAYOUT.repelled, LAYOUT.step
    _descend(Y, links.row[kept], links.col[kept], chance, *own, seed)
    return Y


@numba.njit(cache=True, nogil=True)
@no_type_check
def _random(state):  # pragma: no cover
    """The next state of xorshift64, which is also the random number: numba's own generator is a global one."""
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    state ^= state << np.uint64(17)
    return state


@numba.njit(cache=True, nogil=True)
@no_type_check
def _descend(Y, rows, others, chance, epochs, a, b, repelled, step, state):  # pragma: no cover
    """Stochastic gradient steps of the cross entropy, each neighbor as often as it weighs."""
    n, dimension = Y.shape
    whole = 2.0**64
    for epoch in range(epochs):
        rate = 1.0 - epoch / epochs
        for e in range(len(rows)):
            state = _random(state)
            if state / whole >= chance[e]:
                continue
            i, j = rows[e], others[e]
            apart = 0.0
            for q in range(dimension):
                apart += (Y[i, q] - Y[j, q]) ** 2
            if apart > 0.0:
                pull = -2.0 * a * b * apart ** (b - 1.0) / (1.0 + a * apart**b)
                for q in range(dimension):
                    move = rate * min(step, max(-step, pull * (Y[i, q] - Y[j, q])))
                    Y[i, q] += move
                    Y[j, q] -= move
            for _ in range(repelled):
                state = _random(state)
                j = np.int64(state % np.uint64(n))
                apart = 0.0
                for q in range(dimension):
                    apart += (Y[i, q] - Y[j, q]) ** 2
                push = 2.0 * b / ((1e-3 + apart) * (1.0 + a * apart**b))
                for q in range(dimension):
                    Y[i, q] += rate * min(step, max(-step, push * (Y[i, q] - Y[j, q])))
