"""Affine subspaces: fitted to points, or through points as their tangent spaces; compiled kernels for both."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import no_type_check

import numpy as np
from jaxtyping import Bool, Float, Int
from numba import njit
from scipy import stats

from disentree.utils.threads import over_rows


@dataclass(frozen=True)
class AffineSubspace:
    """A flat piece of space: a center and orthonormal directions.

    >>> line = AffineSubspace.fit(np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]]), 1)
    >>> line.distances(np.array([[5.0, 3.0]]))
    array([2.])
    """

    center: Float[np.ndarray, " D"]
    basis: Float[np.ndarray, "d D"]  # orthonormal rows, those of largest variance first
    spread: Float[np.ndarray, " d"]  # standard deviation of the points along each of them
    explained: float = 1.0  # share of the points' variance within the subspace

    @classmethod
    def fit(cls, Y: Float[np.ndarray, "m D"], d: int) -> AffineSubspace:
        """The subspace of dimension d with the smallest squared distances from some points."""
        center = Y.mean(axis=0)
        values, vectors = np.linalg.eigh((Y - center).T @ (Y - center) / len(Y))
        values, vectors = values[::-1].clip(min=0), vectors[:, ::-1]
        explained = float(values[:d].sum() / max(values.sum(), 1e-300))
        return cls(center, vectors[:, :d].T, np.sqrt(values[:d]), explained)

    @property
    def dimension(self) -> int:
        return len(self.basis)

    def coordinates(self, Y: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "n d"]:
        """Coordinates of points along the basis, counted from the center."""
        return (Y - self.center) @ self.basis.T

    def project(self, Y: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "n D"]:
        """The nearest points of the subspace."""
        return self.center + self.coordinates(Y) @ self.basis

    def distances(self, Y: Float[np.ndarray, "n D"]) -> Float[np.ndarray, " n"]:
        """Distances of points from the subspace."""
        return np.linalg.norm(Y - self.project(Y), axis=1)


@dataclass(frozen=True)
class Tangents:
    """For every point its local dimension and an orthonormal basis of its tangent space."""

    dimensions: Int[np.ndarray, " n"]
    bases: Float[np.ndarray, "n q D"]  # rows 0 to dimension - 1 are the basis of a point's tangent space

    def __getitem__(self, rows: Int[np.ndarray, " m"] | Bool[np.ndarray, " n"]) -> Tangents:
        return Tangents(self.dimensions[rows], self.bases[rows])


@cache
def reach(codimension: int) -> float:
    """The distance from a flat within which 95 % of its rows lie, in so many directions of unit noise."""
    return float(np.sqrt(stats.chi2.ppf(0.95, codimension)))


@njit(cache=True)
@no_type_check
def clearness(held, around, spent):
    """By how many deviations of chance a flat or chart that holds `held` rows, `spent` of them in any case, stands
    out from as much space around it: a set of one dimension more puts as many rows there (compiled)."""
    return (held - spent - 2.0 * around) / np.sqrt(held + 4.0 * around + 1)


def subspace_cosines(
    U: Float[np.ndarray, "*pairs d D"], V: Float[np.ndarray, "*pairs d D"]
) -> Float[np.ndarray, "*pairs"]:
    """The product of the cosines of the principal angles between subspaces, pair by pair of orthonormal bases."""
    return np.abs(np.linalg.det(U @ np.swapaxes(V, -1, -2)))


def relative_distances(
    Z: Float[np.ndarray, "m D"], anchors: Float[np.ndarray, "m D"], bases: Float[np.ndarray, "m d D"]
) -> Float[np.ndarray, " m"]:
    """Row by row, the distance of a point from the subspace through an anchor, relative to its distance from the
    anchor."""
    out = np.empty(len(Z))
    over_rows(_relative_distances, len(Z), Z, anchors, np.ascontiguousarray(bases), out)
    return out


@njit(nogil=True, cache=True)
@no_type_check
def _relative_distances(start, stop, Z, anchors, bases, out):
    for i in range(start, stop):
        out[i] = relative_distance(Z[i], anchors[i], bases[i])


@njit(cache=True)
@no_type_check
def relative_distance(z, anchor, basis):
    """Distance of z from the subspace through `anchor`, relative to its distance from `anchor` (compiled)."""
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


@njit(cache=True)
@no_type_check
def small_determinant(A):
    """Determinant by elimination with pivots; overwrites A (compiled).

    `np.linalg.det` in a compiled loop calls LAPACK, which for one to four dimensions is 3 to 30 times as slow
    (`python benchmarks/geometry.py`).
    """
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


@njit(cache=True)
@no_type_check
def plane_cosine(U, V):
    """`subspace_cosines` of one pair of orthonormal bases (compiled)."""
    d, n_dims = U.shape
    A = np.empty((d, d))
    for r in range(d):
        for c in range(d):
            dot = 0.0
            for a in range(n_dims):
                dot += U[r, a] * V[c, a]
            A[r, c] = dot
    return abs(small_determinant(A))


@njit(cache=True)
@no_type_check
def gram_schmidt(Y, rows, d, least, B):
    """Orthonormalize the first d of `rows` of Y into B (compiled); False if what one adds to those before it has a
    squared length of no more than `least`."""
    n_dims = Y.shape[1]
    for c in range(d):
        for a in range(n_dims):
            B[c, a] = Y[rows[c], a]
        for _ in range(2):  # twice is enough for orthogonality to rounding
            for b in range(c):
                dot = 0.0
                for a in range(n_dims):
                    dot += B[b, a] * B[c, a]
                for a in range(n_dims):
                    B[c, a] -= dot * B[b, a]
        square = 0.0
        for a in range(n_dims):
            square += B[c, a] ** 2
        if square <= least:
            return False
        norm = np.sqrt(square)
        for a in range(n_dims):
            B[c, a] /= norm
    return True
