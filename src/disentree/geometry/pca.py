"""Principal components and whitening, of arrays or of rows that are read in blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float
from sklearn.utils.extmath import randomized_svd

EXACT_COLUMNS = 1024  # wider data is decomposed by a randomized SVD
BLOCK = 8192  # rows of an array that are decomposed at a time
# Oversampling and power iterations of the randomized SVD (Halko, Martinsson and Tropp 2011). Fewer than three
# iterations are not normalized by scikit-learn, which loses the smaller singular values in single precision.
OVERSAMPLES, POWER_ITERATIONS = 20, 3

Solver = Literal["auto", "qr", "covariance", "randomized"]


@dataclass(frozen=True)
class PrincipalAxes:
    """Principal axes of centered rows, and how far the rows extend along them."""

    singular_values: Float[np.ndarray, " r"]  # largest first
    axes: Float[np.ndarray, "p r"]  # orthonormal columns
    n_rows: int  # that they were computed from

    @property
    def variances(self) -> Float[np.ndarray, " r"]:
        """Variance along each axis."""
        return self.singular_values**2 / self.n_rows

    def whitening(self, rank: int) -> Float[np.ndarray, "p rank"]:
        """The matrix that takes centered rows to their first `rank` components, each with standard deviation 1."""
        return self.axes[:, :rank] / self.singular_values[:rank] * np.sqrt(self.n_rows)


def principal_axes(
    rows: Float[np.ndarray, "n p"] | Iterable[Float[np.ndarray, "_ p"]],
    n_components: int | None = None,
    *,
    solver: Solver = "auto",
    random_state: int | np.random.Generator = 0,
) -> PrincipalAxes:
    """At most `n_components` principal axes of rows that have been centered (and scaled, if need be) before.

    Blocks are read once and are not kept. "qr" is accurate to rounding: it tells singular values of 1e-14 of the
    largest from zero. "covariance" is about five times as fast and accurate to 1e-8 of the largest. "randomized"
    approximates the leading axes of wide data; it needs an array and a number of components, and alone draws from
    `random_state`. "auto" is "qr" up to 1024 columns, else "randomized".

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((1000, 3)) * [5, 1, 0.1]
    >>> principal_axes(X - X.mean(axis=0)).singular_values.round()
    array([157.,  31.,   3.])
    """
    if solver == "auto":
        is_wide = isinstance(rows, np.ndarray) and rows.shape[1] > EXACT_COLUMNS
        solver = "randomized" if is_wide else "qr"
    if solver == "randomized":
        if not isinstance(rows, np.ndarray) or n_components is None:
            raise ValueError("solver='randomized' needs an array of rows and a number of components")
        return _randomized(rows, n_components, np.random.default_rng(random_state))
    found = (_by_qr if solver == "qr" else _by_covariance)(_blocks(rows))
    return PrincipalAxes(found.singular_values[:n_components], found.axes[:, :n_components], found.n_rows)


def _blocks(rows: np.ndarray | Iterable[np.ndarray]) -> Iterator[np.ndarray]:
    if not isinstance(rows, np.ndarray):
        yield from rows
        return
    step = max(BLOCK, 4 * rows.shape[1])
    for start in range(0, max(len(rows), 1), step):
        yield rows[start : start + step]


def _by_qr(blocks: Iterator[np.ndarray]) -> PrincipalAxes:
    """SVD of the triangular factor, which block-wise QR decompositions build up."""
    R = next(blocks)
    n_rows = len(R)
    for block in blocks:
        R = np.asarray(np.linalg.qr(np.concatenate([R, block]), mode="r"))
        n_rows += len(block)
    _, s, Vt = np.linalg.svd(R, full_matrices=False)
    return PrincipalAxes(s, Vt.T, n_rows)


def _by_covariance(blocks: Iterator[np.ndarray]) -> PrincipalAxes:
    first = next(blocks)
    squares, n_rows = first.T @ first, len(first)
    for block in blocks:
        squares += block.T @ block
        n_rows += len(block)
    values, vectors = np.linalg.eigh(squares)
    return PrincipalAxes(np.sqrt(values[::-1].clip(min=0)), vectors[:, ::-1], n_rows)


def _randomized(rows: np.ndarray, n_components: int, rng: np.random.Generator) -> PrincipalAxes:
    seed = int(rng.integers(2**31))
    options = {"n_oversamples": OVERSAMPLES, "n_iter": POWER_ITERATIONS, "power_iteration_normalizer": "LU"}
    _, s, Vt = randomized_svd(rows, min(n_components, *rows.shape), random_state=seed, **options)
    return PrincipalAxes(s, Vt.T, len(rows))
