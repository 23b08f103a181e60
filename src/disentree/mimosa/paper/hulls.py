"""Which points lie on the edge of a component: outside the convex hull of their neighbors.

The paper uses a Delaunay triangulation, whose cost grows exponentially with dimension. The origin is in the hull
of some points if the shortest vector of the hull is zero, which Wolfe's algorithm finds in a few steps with
systems no larger than the dimension (P. Wolfe, Finding the nearest point in a polytope, Mathematical Programming
11, 1976). `scipy.optimize.nnls` gives the same answers, one point at a time, and takes 10 to 100 times as long
for one to seven dimensions (`python benchmarks/geometry.py`).
"""

from __future__ import annotations

from typing import no_type_check

import numpy as np
from jaxtyping import Bool, Float, Int
from numba import njit

from disentree.utils.threads import over_rows


def on_edge(
    Z: Float[np.ndarray, "n D"],
    bases: Float[np.ndarray, "m d D"],
    neighbors: Int[np.ndarray, "m k"],
    rows: Int[np.ndarray, " m"],
) -> Bool[np.ndarray, " m"]:
    """For every one of `rows` whether it is outside the hull of its neighbors, projected to its tangent space."""
    out = np.zeros(len(neighbors), dtype=np.bool_)
    over_rows(_on_edge, len(out), np.ascontiguousarray(Z), np.ascontiguousarray(bases), neighbors, rows, out)
    return out


def hull_contains_origin(P: Float[np.ndarray, "m d"]) -> bool:
    """Whether the origin is in the convex hull of some points."""
    return bool(_contains_origin(np.ascontiguousarray(P)))


@njit(nogil=True, cache=True)
@no_type_check
def _on_edge(start, stop, Z, bases, neighbors, rows, out):
    k = neighbors.shape[1]
    d, n_dims = bases.shape[1], bases.shape[2]
    for i in range(start, stop):
        P = np.empty((k, d))
        for j in range(k):
            for c in range(d):
                dot = 0.0
                for a in range(n_dims):
                    dot += bases[i, c, a] * (Z[neighbors[i, j], a] - Z[rows[i], a])
                P[j, c] = dot
        out[i] = not _contains_origin(P)


@njit(cache=True)
@no_type_check
def _contains_origin(P):
    """Wolfe's algorithm, left as soon as the answer is known: x, a point of the hull, is zero (inside), or all
    points are on one side of the plane through the origin that x is normal to (outside)."""
    m, d = P.shape
    scale = 0.0
    nearest, least = 0, np.inf
    for j in range(m):
        size = 0.0
        for a in range(d):
            size += P[j, a] ** 2
        scale = max(scale, size)
        if size < least:
            nearest, least = j, size
    limit = 1e-10 * scale  # rounding of squared lengths: a point this near to a hull is in it
    if least <= limit:
        return True
    corral = np.empty(d + 2, dtype=np.int64)
    weights = np.zeros(d + 2)
    affine = np.empty(d + 2)
    system = np.empty((d + 3, d + 4))
    x = P[nearest].copy()
    corral[0], weights[0], size = nearest, 1.0, 1
    for _ in range(100 * (d + 1)):
        xx = 0.0
        for a in range(d):
            xx += x[a] * x[a]
        if xx <= limit:
            return True
        lowest, at = np.inf, 0
        for j in range(m):
            dot = 0.0
            for a in range(d):
                dot += P[j, a] * x[a]
            if dot < lowest:
                lowest, at = dot, j
        if lowest > 0.0 or lowest >= xx * (1 - 1e-12):
            return False
        for s in range(size):
            if corral[s] == at:
                return False  # rounding: no point of the hull is nearer than x
        corral[size], weights[size] = at, 0.0
        size += 1
        while True:
            if not _affine_minimum(P, corral, size, system, affine):
                return False
            negative = False
            for s in range(size):
                negative |= affine[s] <= 1e-14
            if not negative:
                for s in range(size):
                    weights[s] = affine[s]
                break
            step = 1.0
            for s in range(size):
                if affine[s] <= 1e-14 and weights[s] - affine[s] > 0:
                    step = min(step, weights[s] / (weights[s] - affine[s]))
            kept = 0
            for s in range(size):
                w = weights[s] + step * (affine[s] - weights[s])
                if w > 1e-14:
                    corral[kept], weights[kept] = corral[s], w
                    kept += 1
            if kept == size:  # rounding: drop the smallest, so that this ends
                smallest = 0
                for s in range(size):
                    if weights[s] < weights[smallest]:
                        smallest = s
                for s in range(smallest, size - 1):
                    corral[s], weights[s] = corral[s + 1], weights[s + 1]
                kept -= 1
            size = kept
            if size == 0:
                return False
        for a in range(d):
            x[a] = 0.0
            for s in range(size):
                x[a] += weights[s] * P[corral[s], a]
    return False


@njit(cache=True)
@no_type_check
def _affine_minimum(P, corral, size, A, out):
    """Coefficients, summing to one, of the point nearest to the origin on the flat through some points: the
    system [G 1; 1' 0] by elimination with pivots. False if it is singular."""
    d = P.shape[1]
    n = size + 1
    scale = 0.0
    for r in range(size):
        for c in range(size):
            dot = 0.0
            for a in range(d):
                dot += P[corral[r], a] * P[corral[c], a]
            A[r, c] = dot
            scale = max(scale, abs(dot))
    for r in range(size):
        for c in range(size):
            A[r, c] /= scale
        A[r, size] = 1.0
        A[size, r] = 1.0
        A[r, n] = 0.0
    A[size, size], A[size, n] = 0.0, 1.0
    for c in range(n):
        pivot = c
        for r in range(c + 1, n):
            if abs(A[r, c]) > abs(A[pivot, c]):
                pivot = r
        if abs(A[pivot, c]) < 1e-15:
            return False
        if pivot != c:
            for b in range(c, n + 1):
                A[c, b], A[pivot, b] = A[pivot, b], A[c, b]
        for r in range(c + 1, n):
            f = A[r, c] / A[c, c]
            if f != 0.0:
                for b in range(c, n + 1):
                    A[r, b] -= f * A[c, b]
    for r in range(n - 1, -1, -1):
        value = A[r, n]
        for b in range(r + 1, n):
            value -= A[r, b] * A[b, n]
        A[r, n] = value / A[r, r]
    for r in range(size):
        out[r] = A[r, n]
    return True
