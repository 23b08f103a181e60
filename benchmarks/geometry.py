"""Time the compiled geometry against the library functions that could stand in for it.

    NUMBA_NUM_THREADS=1 OMP_NUM_THREADS=1 python benchmarks/geometry.py

Hulls: a point is in the hull of its neighbors if non-negative weights that sum to one take them to it, which
`scipy.optimize.nnls` finds with residual zero; `disentree.mimosa.paper.hulls` asks the same of Wolfe's algorithm.
Determinants: `np.linalg.det` inside a compiled loop against `disentree.geometry.subspaces.small_determinant`.
"""

from __future__ import annotations

import time

import numpy as np
from numba import njit
from scipy.optimize import nnls

from disentree.geometry.subspaces import small_determinant
from disentree.mimosa.paper.hulls import on_edge

N_POINTS, N_NEIGHBORS = 2000, 39
N_MATRICES = 200_000


def on_edge_by_nnls(points: np.ndarray) -> np.ndarray:
    """For clouds of shape (n, k, d) whether the origin is outside the hull of each."""
    out = np.empty(len(points), dtype=bool)
    for i, P in enumerate(points):
        A = np.vstack([P.T / np.abs(P).max(), np.ones(len(P))])
        out[i] = nnls(A, np.append(np.zeros(P.shape[1]), 1.0))[1] > 1e-5
    return out


@njit
def lapack_determinants(M):
    total = 0.0
    for i in range(len(M)):
        total += np.linalg.det(M[i])
    return total


@njit
def small_determinants(M):
    total, A = 0.0, np.empty(M.shape[1:])
    for i in range(len(M)):
        A[:] = M[i]
        total += small_determinant(A)
    return total


def timed(function, *args) -> tuple[float, np.ndarray]:
    start = time.perf_counter()
    result = function(*args)
    return time.perf_counter() - start, result


def hulls(rng: np.random.Generator) -> None:
    print("hulls: dimension  nnls (s)  Wolfe (s)  ratio  equal answers")
    for d in range(1, 8):
        # clouds around the origin and beside it
        clouds = rng.standard_normal((N_POINTS, N_NEIGHBORS, d)) + rng.uniform(0, 2, (N_POINTS, 1, 1))
        Z = np.concatenate([np.zeros((1, d)), clouds.reshape(-1, d)])
        neighbors = 1 + np.arange(N_POINTS * N_NEIGHBORS).reshape(N_POINTS, N_NEIGHBORS)
        bases = np.broadcast_to(np.eye(d), (N_POINTS, d, d))
        rows = np.zeros(N_POINTS, dtype=np.int64)
        on_edge(Z, bases[:2], neighbors[:2], rows[:2])  # compile
        a, by_nnls = timed(on_edge_by_nnls, clouds)
        b, by_wolfe = timed(on_edge, Z, bases, neighbors, rows)
        print(f"{d:16d}  {a:8.3f}  {b:9.4f}  {a / b:5.0f}  {np.mean(by_nnls == by_wolfe):.4f}")


def determinants(rng: np.random.Generator) -> None:
    print("determinants: dimension  np.linalg.det (s)  small_determinant (s)  ratio")
    for d in (1, 2, 3, 4, 6, 10):
        M = rng.standard_normal((N_MATRICES, d, d))
        lapack_determinants(M[:2]), small_determinants(M[:2])  # compile
        a, _ = timed(lapack_determinants, M)
        b, _ = timed(small_determinants, M)
        print(f"{d:23d}  {a:17.3f}  {b:21.3f}  {a / b:5.0f}")


if __name__ == "__main__":
    hulls(np.random.default_rng(0))
    determinants(np.random.default_rng(0))
