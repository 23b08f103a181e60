"""Numbers that are not known, imputed by a Gaussian of those that are."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Float

from disentree.mimosa.coordinates.constants import COORDINATES
from disentree.mimosa.coordinates.reach import unit_of


@dataclass(frozen=True)
class Imputation:
    """A Gaussian that fills in numbers which are not known."""

    mean: Float[np.ndarray, " k"]
    covariance: Float[np.ndarray, "k k"]
    unit: Float[np.ndarray, " _"] = field(default_factory=lambda: np.ones(1))  # that numbers are multiplied by

    def __call__(self, X: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n k"]:
        """Rows without a gap: what is expected, given the numbers that are there."""
        return self._filled(X * self.unit) / self.unit

    def _filled(self, X: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n k"]:
        gaps = np.isnan(X)
        for pattern in np.unique(gaps[gaps.any(axis=1)], axis=0):
            rows = (gaps == pattern).all(axis=1)
            off = X[np.ix_(rows, ~pattern)] - self.mean[~pattern]
            X[np.ix_(rows, pattern)] = self.mean[pattern] + off @ self._given(pattern)[0]
        return X

    def _given(self, gap: Bool[np.ndarray, " k"]) -> tuple[Float[np.ndarray, "a b"], Float[np.ndarray, "b b"]]:
        """Slopes of the numbers of a gap on the others, and the covariance that these leave."""
        C = self.covariance
        slopes = np.linalg.solve(C[np.ix_(~gap, ~gap)], C[np.ix_(~gap, gap)])
        return slopes, C[np.ix_(gap, gap)] - C[np.ix_(gap, ~gap)] @ slopes


def fit_imputation(X: Float[np.ndarray, "n k"], steps: int = 10) -> Imputation:
    """Mean and covariance of rows with gaps, by expectation maximization."""
    unit = unit_of(X)
    X = X * unit
    mean = np.nanmean(X, axis=0) if X.size else np.zeros(X.shape[1])
    variance = np.nanvar(X, axis=0) if X.size else np.zeros(X.shape[1])
    ridge = np.diag(COORDINATES.exact * np.maximum(variance, 1e-300))
    imputation = Imputation(mean, np.diag(variance) + ridge, unit)
    gaps = np.isnan(X)
    if not gaps.any():
        return Imputation(mean, np.atleast_2d(np.cov(X.T, bias=True)) + ridge if X.size else ridge, unit)
    for _ in range(steps):
        Y = imputation._filled(X.copy())
        extra = np.zeros_like(imputation.covariance)
        for pattern, count in zip(*np.unique(gaps[gaps.any(axis=1)], axis=0, return_counts=True), strict=True):
            extra[np.ix_(pattern, pattern)] += count * imputation._given(pattern)[1]
        mean = Y.mean(axis=0)
        imputation = Imputation(mean, (Y - mean).T @ (Y - mean) / len(Y) + extra / len(Y) + ridge, unit)
    return imputation
