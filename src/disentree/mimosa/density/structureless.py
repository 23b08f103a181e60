"""Models without structure: what a decomposition must beat to be worth its parts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import gammaln

from disentree.mimosa.coordinates.columns import Columns
from disentree.mimosa.density.candidate import Undirected
from disentree.mimosa.density.constants import DENSITY
from disentree.mimosa.density.gaussians import dimension_of, log_gaussians, not_below
from disentree.mimosa.density.margins import Margins


def shrunk_covariance(Z: Float[np.ndarray, "n D"], floor: Float[np.ndarray, " D"]) -> Float[np.ndarray, "D D"]:
    """Sample covariance, its correlations shrunk to none as far as the rows leave doubt (Ledoit and Wolf).

    Shrinking correlations, not covariances, keeps the scale of each axis: principal components differ by orders of
    magnitude, and an average variance says nothing about the small ones.
    """
    n, D = Z.shape
    scale = np.maximum(Z.std(axis=0), floor)
    U = (Z - Z.mean(axis=0)) / scale
    C = U.T @ U / n
    if n > 20 * D:
        return not_below(C * np.outer(scale, scale), floor)
    noise = max(((U**2).sum(axis=1) ** 2).mean() - (C**2).sum(), 0.0) / n
    off = (C**2).sum() - (np.diag(C) ** 2).sum()
    # expected squared error of off-diagonal entries over their squared size
    share = float(np.clip(noise / max(off + noise, 1e-12), 0.0, 1.0))
    C = C * (1 - share) + share * np.diag(np.diag(C))
    return not_below(C * np.outer(scale, scale), floor)


@dataclass(frozen=True)
class Gaussian(Undirected):
    mean: Float[np.ndarray, " D"]
    covariance: Float[np.ndarray, "D D"]
    dimension: int

    def log_density(self, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, " n"]:
        return log_gaussians(Z, self.mean[None], self.covariance[None])[:, 0]


def fit_gaussian(Z, floor) -> Gaussian:
    covariance = shrunk_covariance(Z, floor)
    return Gaussian(Z.mean(axis=0), covariance, dimension_of(covariance, floor, len(Z)))


def fit_ppca(Z, floor) -> Gaussian:
    """Leading principal components and one variance for the rest; their number by BIC."""
    n, D = Z.shape
    mean = Z.mean(axis=0)
    values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(Z.T, bias=True)))
    values, vectors = np.maximum(values[::-1], np.min(floor) ** 2), vectors[:, ::-1]
    d = np.arange(min(D, n - 1))
    tail = np.cumsum(values[::-1])[::-1][: len(d)] / (D - d)
    logs = np.concatenate([[0], np.cumsum(np.log(values))])[: len(d)]
    cost = d * D - d * (d + 1) / 2 + d + 1
    best = int(np.argmin(n * (logs + (D - d) * np.log(tail)) + cost * np.log(n)))
    spectrum = np.concatenate([values[:best], np.full(D - best, tail[best])])
    covariance = not_below((vectors * spectrum) @ vectors.T, floor)
    return Gaussian(mean, covariance, dimension_of(covariance, floor, n))


@dataclass(frozen=True)
class MarginsGaussian(Undirected):
    """Columns with normal margins, and a Gaussian of their scores (a Gaussian copula with smooth margins)."""

    columns: Columns
    margins: Margins
    gaussian: Gaussian
    dimension: int

    def log_density(self, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, " n"]:
        S, jacobian = self.margins(self.columns.of(Z))
        return self.gaussian.log_density(S) + jacobian + self.columns.log_volume


def fit_margins(Z, columns: Columns) -> MarginsGaussian:
    columns = columns.independent()
    X = columns.of(Z)
    margins = Margins.fit(X, columns.precision)
    S, _ = margins(X)
    D = S.shape[1]
    dimension = dimension_of(np.atleast_2d(np.cov(Z.T, bias=True)), np.zeros(D), len(Z))
    return MarginsGaussian(columns, margins, fit_gaussian(S, np.full(D, DENSITY.score_floor)), dimension)


@dataclass(frozen=True)
class Background:
    """A broad density that every candidate gets alike, so that one strange row does not decide: a multivariate
    Cauchy with the deviations of the data as its scale, whose share is one row of the data."""

    mean: Float[np.ndarray, " D"]
    deviations: Float[np.ndarray, " D"]
    share: float

    @classmethod
    def fit(cls, Z: Float[np.ndarray, "n D"], floor: Float[np.ndarray, " D"]) -> Background:
        """Of rows; no deviation is below the precision."""
        return cls(np.median(Z, axis=0), np.maximum(Z.std(axis=0), floor), 1.0 / (len(Z) + 1))

    def log_density(self, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, " n"]:
        r2 = (((Z - self.mean) / self.deviations) ** 2).sum(axis=1)
        return self.highest - 0.5 * (1 + Z.shape[1]) * np.log1p(r2)

    @property
    def highest(self) -> float:
        """The log density in the middle."""
        D = len(self.mean)
        return gammaln((1 + D) / 2) - gammaln(0.5) - 0.5 * D * np.log(np.pi) - np.log(self.deviations).sum()

    def mixed(self, log_density: Float[np.ndarray, " n"], Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, " n"]:
        """The log density of a candidate with its share of the background."""
        return np.logaddexp(np.log1p(-self.share) + log_density, np.log(self.share) + self.log_density(Z))


def fits_nowhere(
    log_density: Float[np.ndarray, " n"], broad: Background, Z: Float[np.ndarray, "n D"]
) -> Bool[np.ndarray, " n"]:
    """Which rows fit no leaf: the background describes them better than leaves, whose log density is given, do."""
    out = ~(np.log1p(-broad.share) + log_density >= np.log(broad.share) + broad.highest)
    out[out] = ~(np.log1p(-broad.share) + log_density[out] >= np.log(broad.share) + broad.log_density(Z[out]))
    return out


def background_of(fitted: Float[np.ndarray, "m D"], n: int) -> Background:
    """That of n rows, of which some were fitted. Its share is one of them: of as many rows that are on leaves less
    than one is described better by it by chance."""
    broad = Background.fit(fitted, np.full(fitted.shape[1], np.finfo(float).tiny))
    return Background(broad.mean, broad.deviations, 1.0 / (n + 1))
