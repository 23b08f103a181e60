"""Affine subspaces: fitted to points, or through points as their tangent spaces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import no_type_check

import numpy as np
from jaxtyping import Bool, Float, Int
from numba import njit, prange


@dataclass(frozen=True)
class AffineSubspace:
    """A flat piece of space: a center and orthonormal directions.

    Attributes
    ----------
    center : array of shape (D,)
        Mean of the points that it was fitted to.
    basis : array of shape (d, D)
        Orthonormal rows, those of largest variance first.
    spread : array of shape (d,)
        Standard deviation of the points along each row of the basis.
    explained : float
        Fraction of the points' variance that lies within the subspace.

    Examples
    --------
    >>> line = AffineSubspace.fit(np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]]), 1)
    >>> line.distances(np.array([[5.0, 3.0]]))
    array([2.])
    """

    center: Float[np.ndarray, " D"]
    basis: Float[np.ndarray, "d D"]
    spread: Float[np.ndarray, " d"]
    explained: float = 1.0

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
    """For every point its local dimension and an orthonormal basis of its tangent space.

    Attributes
    ----------
    dimensions : array of shape (n,)
    bases : array of shape (n, q, D)
        Rows 0 to dimension - 1 are the basis of a point's tangent space.
    """

    dimensions: Int[np.ndarray, " n"]
    bases: Float[np.ndarray, "n q D"]

    def __getitem__(self, rows: Int[np.ndarray, " m"] | Bool[np.ndarray, " n"]) -> Tangents:
        return Tangents(self.dimensions[rows], self.bases[rows])


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
    return _relative_distances(Z, anchors, np.ascontiguousarray(bases))


@njit(parallel=True, cache=True)
@no_type_check
def _relative_distances(Z, anchors, bases):
    out = np.empty(len(Z))
    for i in prange(len(Z)):
        out[i] = relative_distance(Z[i], anchors[i], bases[i])
    return out


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
