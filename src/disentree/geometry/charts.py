"""Quadratic charts: a piece of a manifold as a graph over its tangent space; local dimension and tangents by them.

In a neighborhood of radius r a curved manifold leaves its tangent space by about r squared, and a subspace of the
right dimension may fit no better than noise. A chart gives the normal coordinates as a quadratic function of the
tangent coordinates; what remains is of third order. Charts are judged by leave-one-out residuals, so that more
coefficients are no advantage by themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import no_type_check

import numpy as np
from jaxtyping import Float, Int
from numba import njit

from disentree.geometry.subspaces import Tangents
from disentree.utils.threads import over_rows

REFITS = 2  # times that a chart is refitted to the neighbors nearest to it
TRIMMED = 2 / 3  # fraction of neighbors that a chart is judged by: the others may lie on other manifolds


def n_quadratic_terms(d: int, degree: int = 2) -> int:
    """Number of coefficients of a quadratic function of d variables; of degree 1, of a linear one."""
    return 1 + d + d * (d + 1) // 2 if degree == 2 else 1 + d


def quadratic_terms(U: Float[np.ndarray, "*rows d"], degree: int = 2) -> Float[np.ndarray, "*rows terms"]:
    """The terms of a quadratic function for each row: 1, the variables, their products; of degree 1, without
    products."""
    parts = [np.ones((*U.shape[:-1], 1)), U]
    if degree == 2:
        a, b = _pairs(U.shape[-1])
        parts.append(U[..., a] * U[..., b])
    return np.concatenate(parts, axis=-1)


@cache
def _pairs(d: int) -> tuple[np.ndarray, np.ndarray]:
    return np.triu_indices(d)


@dataclass(frozen=True)
class QuadraticGraph:
    """A row z has tangent coordinates u and normal coordinates v along the rows of a frame; on the graph v = q(u)
    with q a polynomial of degree 1 or 2."""

    center: Float[np.ndarray, " D"]
    frame: Float[np.ndarray, "D D"]  # rows: d tangent directions, then normal directions
    scale: Float[np.ndarray, " d"]  # tangent coordinates are divided by this before the polynomial
    coefficients: Float[np.ndarray, "t c"]  # of the normal coordinates

    @property
    def dimension(self) -> int:
        return len(self.scale)

    @property
    def degree(self) -> int:
        d = self.dimension
        return 2 if d and len(self.coefficients) > 1 + d else 1

    def split(self, Z: Float[np.ndarray, "n D"]) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, "n c"]]:
        """Tangent coordinates (scaled to unit deviation) and residuals across the graph."""
        W = (Z - self.center) @ self.frame.T
        U = W[:, : self.dimension] / self.scale
        return U, W[:, self.dimension :] - quadratic_terms(U, self.degree) @ self.coefficients


# Coefficients, given terms and normal coordinates.
Solver = Callable[[Float[np.ndarray, "m t"], Float[np.ndarray, "m c"]], Float[np.ndarray, "t c"]]


def fit_graph(
    Y: Float[np.ndarray, "m D"], center: np.ndarray, frame: np.ndarray, d: int, degree: int, solve: Solver
) -> tuple[QuadraticGraph, Float[np.ndarray, "m c"]]:
    """The graph over the first d rows of a frame through rows around a center (Y: rows minus center), and the
    residuals of the rows."""
    W = Y @ frame.T
    scale = W[:, :d].std(axis=0)
    scale = np.where(scale > 1e-100, scale, 1.0)  # rows that are all at one place have no width
    A = quadratic_terms(W[:, :d] / scale, degree)
    C = solve(A, W[:, d:])
    return QuadraticGraph(center, frame, scale, C), W[:, d:] - A @ C


def chart_residuals(
    Z: Float[np.ndarray, "n D"],
    neighbors: Int[np.ndarray, "n k"],
    rows: Int[np.ndarray, " m"] | None = None,
) -> tuple[Float[np.ndarray, "m q"], Float[np.ndarray, "m q D D"]]:
    """For every point (of `rows`, or of all) and every dimension d = 1, 2, ... the leave-one-out residual of the
    chart of that dimension, relative to the size of the neighborhood, and its tangent basis at the point (the
    first d rows)."""
    n_dims, k = Z.shape[1], neighbors.shape[1]
    top = n_dims - 1
    while top > 1 and 1.5 * n_quadratic_terms(top) > TRIMMED * k:
        top -= 1
    rows = np.arange(len(Z)) if rows is None else rows
    if top < 1:
        return np.ones((len(rows), 0)), np.zeros((len(rows), 0, n_dims, n_dims))
    residuals = np.ones((len(rows), top))
    bases = np.zeros((len(rows), top, n_dims, n_dims))
    over_rows(_charts, len(rows), np.ascontiguousarray(Z), neighbors, rows, top, residuals, bases)
    return residuals, bases


def chance_residuals(k: int, n_dims: int) -> Float[np.ndarray, " q"]:
    """For every dimension d the residual below which a chart of that dimension is more than chance: half of its
    residual in clouds without any structure. They are half balls with the point in the middle of the flat side, as
    at the border of a cloud, where charts fit better than inside."""
    rng, n_clouds = np.random.default_rng(0), 200
    clouds = rng.standard_normal((n_clouds, k, n_dims))
    clouds *= rng.random((n_clouds, k, 1)) ** (1 / n_dims) / np.linalg.norm(clouds, axis=2, keepdims=True)
    clouds[:, :, 0] = np.abs(clouds[:, :, 0])
    Z = np.concatenate([np.zeros((n_clouds, 1, n_dims)), clouds], axis=1).reshape(-1, n_dims)
    rows = np.arange(n_clouds) * (k + 1)
    neighbors = np.zeros((len(Z), k), dtype=np.int64)
    neighbors[rows] = rows[:, None] + np.arange(1, k + 1)
    return np.median(chart_residuals(Z, neighbors, rows)[0], axis=0) / 2


def curved_tangents(
    residuals: Float[np.ndarray, "m q"],
    bases: Float[np.ndarray, "m q D D"],
    tolerance: float,
    limits: Float[np.ndarray, " q"],
) -> Tangents:
    """The lowest dimension whose chart has a residual of at most `tolerance` and of at most the `limits` of
    chance; the full dimension where there is none."""
    n, n_dims = len(residuals), bases.shape[-1]
    good = residuals <= np.minimum(tolerance, limits)
    found = good.any(axis=1)
    first = np.argmax(good, axis=1) if good.shape[1] else np.zeros(n, dtype=np.int64)
    chosen = np.broadcast_to(np.eye(n_dims), (n, n_dims, n_dims)).copy()
    chosen[found] = bases[np.flatnonzero(found), first[found]]
    return Tangents(np.where(found, first + 1, n_dims), chosen)


@njit(cache=True)
@no_type_check
def _fit_chart(Y, used, d):
    """Axes of the used rows of Y, coefficients of the chart over the first d of them, and for all rows
    their squared residuals: leave-one-out for the used ones."""
    m, n_dims = Y.shape
    rows = np.flatnonzero(used)
    S = np.ascontiguousarray(Y[rows])
    _, vectors = np.linalg.eigh(S.T @ S)
    axes = np.ascontiguousarray(vectors[:, ::-1])
    W = Y @ axes
    n_terms = 1 + d + d * (d + 1) // 2
    A = np.ones((m, n_terms))
    for j in range(m):
        t = 1
        for a in range(d):
            A[j, t] = W[j, a]
            t += 1
        for a in range(d):
            for b in range(a, d):
                A[j, t] = W[j, a] * W[j, b]
                t += 1
    N = np.ascontiguousarray(W[:, d:])
    A_used = np.ascontiguousarray(A[rows])
    G = A_used.T @ A_used
    for t in range(n_terms):
        G[t, t] += 1e-10
    inverse = np.linalg.inv(G)
    C = inverse @ (A_used.T @ np.ascontiguousarray(N[rows]))
    R = N - A @ C
    H = A @ inverse
    errors = np.empty(m)
    for j in range(m):
        off = 0.0
        for a in range(n_dims - d):
            off += R[j, a] ** 2
        if used[j]:
            leverage = 0.0
            for t in range(n_terms):
                leverage += H[j, t] * A[j, t]
            off /= max(1.0 - leverage, 0.05) ** 2
        errors[j] = off
    return axes, C, errors


@njit(nogil=True, cache=True)
@no_type_check
def _charts(start, stop, Z, neighbors, rows, top, residuals, bases):
    k, n_dims = neighbors.shape[1], Z.shape[1]
    n_kept = int(TRIMMED * (k + 1))
    for i in range(start, stop):
        # the point itself comes last: its own chart has to hold it
        Y = np.zeros((k + 1, n_dims))
        size = 0.0
        for j in range(k):
            for a in range(n_dims):
                Y[j, a] = Z[neighbors[rows[i], j], a] - Z[rows[i], a]
                size += Y[j, a] ** 2
        if size == 0.0:
            continue
        Y /= np.sqrt(size / k)
        for d in range(1, top + 1):
            used = np.ones(k + 1, dtype=np.bool_)
            axes, C, errors = _fit_chart(Y, used, d)
            for _ in range(REFITS):
                errors[k] = 0.0
                order = np.argsort(errors)
                used[:] = False
                used[order[:n_kept]] = True
                axes, C, errors = _fit_chart(Y, used, d)
            residuals[i, d - 1] = np.sqrt(np.sort(errors)[:n_kept].mean())
            # tangent directions: the axes, tilted by the linear terms
            T = np.zeros((d, n_dims))
            for c in range(d):
                for a in range(n_dims):
                    T[c, a] = axes[a, c]
                    for b in range(n_dims - d):
                        T[c, a] += C[1 + c, b] * axes[a, d + b]
            Q, _ = np.linalg.qr(T.T)
            bases[i, d - 1, :d] = Q.T


def chart_offsets(
    Z: Float[np.ndarray, "n D"], points: Float[np.ndarray, "n k D"], d: int
) -> Float[np.ndarray, " n"]:
    """Distance of each point from the chart of dimension d through its own set of other points, relative to their
    distance."""
    out = np.empty(len(Z))
    over_rows(_offsets, len(Z), np.ascontiguousarray(Z), np.ascontiguousarray(points), d, out)
    return out


@njit(nogil=True, cache=True)
@no_type_check
def _offsets(start, stop, Z, points, d, out):
    _, k, n_dims = points.shape
    for i in range(start, stop):
        # the point itself comes last, and is not fitted to
        Y = np.zeros((k + 1, n_dims))
        Y[:k] = points[i] - Z[i]
        Y /= max(np.sqrt((Y**2).sum() / k), 1e-300)
        for a in range(n_dims):
            Y[:, a] -= Y[:k, a].mean()
        used = np.ones(k + 1, dtype=np.bool_)
        used[k] = False
        out[i] = np.sqrt(_fit_chart(Y, used, d)[2][k])
