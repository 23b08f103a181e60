"""Categories for the rows of a minibatch: cheap ones, and not the same for all."""

from __future__ import annotations

from typing import no_type_check

import numpy as np
from jaxtyping import Float, Int
from numba import njit


def assign(costs: Float[np.ndarray, "n k"], crowding: float) -> Int[np.ndarray, " n"]:
    """The categories d that minimize the sum of costs[i, d_i] plus `crowding` for every pair of rows of the same
    category.

    A minimum-cost flow from rows to categories, in which the m-th row of a category pays m - 1 times `crowding`.
    Rows are added one by one. A new row may push another row of its category into a third, and so on: the
    cheapest such chain is a shortest path among the categories, with which the solution stays optimal (Jewell
    1962).
    """
    if not np.isfinite(costs).all():  # training has diverged, which the loop reports
        return np.zeros(len(costs), dtype=np.int64)
    if crowding == 0:
        return costs.argmin(axis=1)
    return _successive_shortest_paths(np.ascontiguousarray(costs), float(crowding))


@njit(cache=True)
@no_type_check
def _successive_shortest_paths(costs, crowding):
    n, k = costs.shape
    chosen = np.empty(n, np.int64)
    sizes = np.zeros(k, np.int64)
    move = np.empty((k, k))  # the cheapest move of a row from category a to b, and which row that is
    mover = np.empty((k, k), np.int64)
    distance = np.empty(k)
    before = np.empty(k, np.int64)
    scale = np.abs(costs).max() + crowding * n
    for new in range(n):
        move[:] = np.inf
        for i in range(new):
            a = chosen[i]
            for b in range(k):
                step = costs[i, b] - costs[i, a]
                if step < move[a, b]:
                    move[a, b] = step
                    mover[a, b] = i
        for b in range(k):
            distance[b] = costs[new, b]
            before[b] = -1
        for _ in range(k - 1):  # Bellman and Ford
            changed = False
            for a in range(k):
                for b in range(k):
                    if a != b and distance[a] + move[a, b] < distance[b] - 1e-12 * scale:
                        distance[b] = distance[a] + move[a, b]
                        before[b] = a
                        changed = True
            if not changed:
                break
        best = 0
        for b in range(1, k):
            if distance[b] + crowding * sizes[b] < distance[best] + crowding * sizes[best]:
                best = b
        sizes[best] += 1
        while before[best] >= 0:
            chosen[mover[before[best], best]] = best
            best = before[best]
        chosen[new] = best
    return chosen
