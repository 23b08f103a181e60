"""Algorithm 5, BuildComponent: neighbors with similar tangent planes, grown into components."""

from __future__ import annotations

from typing import no_type_check

import numpy as np
from jaxtyping import Bool, Int
from numba import njit


def build_components(
    neighbors: Int[np.ndarray, "n k"],
    similar: Bool[np.ndarray, "n k"],
    contagion_num: int,
) -> Int[np.ndarray, " n"]:
    """Algorithm 5 from every point in turn, skipping those that are in a component already.

    A component starts as a point and its similar neighbors, and takes in any point that `contagion_num` of its
    members have as a similar neighbor. The text counts the point's own neighbors instead; the two differ because
    one of two points may be among the nearest of the other and not the other way round. The published results
    were computed as here. `similar` says which of the neighbors have similar tangent planes (`similar_neighbors`);
    every point gets the number of a component.
    """
    return _contagion(neighbors, similar, contagion_num)


@njit(cache=True)
@no_type_check
def _contagion(neighbors, similar, contagion_num):
    n, k = neighbors.shape
    labels = np.full(n, -1)
    votes = np.zeros(n, dtype=np.int64)  # members of the growing component that list a point
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
                if votes[other] == 0:
                    touched[n_touched] = other
                    n_touched += 1
                votes[other] += 1
                if votes[other] >= contagion_num:
                    labels[other] = component
                    queue[tail] = other
                    tail += 1
        for t in range(n_touched):
            votes[touched[t]] = 0
        component += 1
    return labels
