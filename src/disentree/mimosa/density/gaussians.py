"""Mixtures of Gaussians by expectation maximization, with covariances as parsimonious as the rows allow.

One E step serves all families of covariances; a family is only the step from sample covariances to covariances
and a number of parameters:

``pooled``
    All components share the pooled covariance within components, except in the directions in which a component
    differs from it by more than those directions cost in BIC. No direction: equal covariances (linear
    discriminants). All directions: free covariances. Columns of noise, which are the same in all components,
    cost nothing. Invariant to any affine map of the data.
``lowrank``
    Each component has its own directions of own variance and one variance in the remaining ones (HDDC,
    Bouveyron et al. 2007; mixtures of probabilistic PCA). The number of directions is chosen by BIC.
``full``
    Free covariances.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from disentree.mimosa.density import em_kernels as kernels
from disentree.mimosa.density.constants import GAUSSIANS
from disentree.mimosa.density.logs import LOG_2PI, log_sum


@dataclass(frozen=True)
class Mixture:
    """Gaussians with shares; `parameters` is the number that BIC charges for."""

    shares: Float[np.ndarray, " k"]
    means: Float[np.ndarray, "k q"]
    covariances: Float[np.ndarray, "k q q"]
    parameters: float
    within: Float[np.ndarray, "k q q"]  # sample covariances, from which the family made `covariances`

    def __len__(self) -> int:
        return len(self.shares)

    def joint(self, Y: Float[np.ndarray, "n q"]) -> Float[np.ndarray, "n k"]:
        """Log of share times density, for each row and component."""
        return log_gaussians(Y, self.means, self.covariances) + np.log(self.shares)

    def log_density(self, Y: Float[np.ndarray, "n q"]) -> Float[np.ndarray, " n"]:
        return log_sum(self.joint(Y))

    def posteriors(self, Y: Float[np.ndarray, "n q"]) -> Float[np.ndarray, "n k"]:
        joint = self.joint(Y)
        return np.exp(joint - log_sum(joint)[:, None])


def log_gaussians(
    Y: Float[np.ndarray, "n q"], means: Float[np.ndarray, "k q"], covariances: Float[np.ndarray, "k q q"]
) -> Float[np.ndarray, "n k"]:
    q = Y.shape[1]
    out = np.empty((len(Y), len(means)))
    roots = np.linalg.cholesky(covariances)
    inverses = np.linalg.inv(roots)
    volumes = np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1)
    for k in range(len(means)):
        U = (Y - means[k]) @ inverses[k].T
        out[:, k] = -0.5 * (np.einsum("ij,ij->i", U, U) + q * LOG_2PI) - volumes[k]
    return out


def not_below(covariance: Float[np.ndarray, "q q"], floor: Float[np.ndarray, " q"]) -> Float[np.ndarray, "q q"]:
    """The covariance with no standard deviation, in any direction, below the precision of the data."""
    return kernels.not_below(np.ascontiguousarray(covariance), np.ascontiguousarray(floor))


def maximized(Y, R, n, floor, family, elsewhere=None) -> Mixture:
    """The M step: a mixture from weights of rows."""
    shares, means, covariances, S, parameters, ok = kernels.maximized(
        _rows(Y), _rows(R), float(n), *_shape(floor, family, elsewhere)
    )
    _check(ok)
    return Mixture(shares, means, covariances, parameters, S)


def expectation_maximization(
    Y, R, floor, family, weights=None, n=None, elsewhere=None, steps=50, tolerance=1e-4, fewest=0.0
) -> tuple[Mixture, float, Float[np.ndarray, "n k"]]:
    """EM from weights of rows; the mixture, its log likelihood and its posteriors.

    A component that falls below `fewest` rows is dropped. `tolerance` is in nats per row. `elsewhere` is the
    scatter of rows of other components, for the pooled covariance.
    """
    weights = np.ones(len(Y)) if weights is None else weights
    shares, means, covariances, S, parameters, likelihood, R, ok = kernels.iterate(
        _rows(Y),
        _rows(R),
        _rows(weights),
        float(weights.sum() if n is None else n),
        *_shape(floor, family, elsewhere),
        steps,
        float(tolerance),
        float(fewest),
    )
    _check(ok)
    return Mixture(shares, means, covariances, parameters, S), likelihood, R


def _check(ok: bool) -> None:
    if not ok:
        raise np.linalg.LinAlgError("a covariance is not positive definite")


def _rows(array) -> np.ndarray:
    """As kernels take it."""
    return np.ascontiguousarray(array, dtype=np.float64)


def _shape(floor, family: str, elsewhere) -> tuple[np.ndarray, int, np.ndarray, bool]:
    none = elsewhere is None
    other = np.zeros((len(floor), len(floor))) if none else _rows(elsewhere)
    return _rows(floor), int(kernels.Family[family.upper()]), other, not none


def bic(mixture: Mixture, likelihood: float, n: float) -> float:
    """Higher is better, in nats."""
    return likelihood - 0.5 * mixture.parameters * float(np.log(n))


def dimension_of(covariance: Float[np.ndarray, "D D"], floor: Float[np.ndarray, " D"], count: float) -> int:
    """Directions of a leaf that are clearly wider than its narrowest ones, if those are all alike.

    A blob has no such residual directions and the full dimension; a cluster no wider than the precision has none.
    """
    values, vectors = np.linalg.eigh(covariance)
    values, vectors = values[::-1], vectors[:, ::-1]
    least = (floor**2) @ vectors**2
    if np.all(values <= 1.01 * least):
        return 0
    values = np.maximum(values, least)
    D = len(values)
    for d in range(1, D):
        rest = values[d:]
        ratio = min(np.sqrt(len(rest) / max(count, 1.0)), 0.9)
        gap = GAUSSIANS.gap * ((1 + ratio) / (1 - ratio)) ** 2  # beside what few rows make of equal variances
        if values[d - 1] >= gap * rest.max() and rest.max() <= gap * rest.min():
            return d
    return D
