"""A leaf of a mixture: one or several Gaussians, its dimension, and the candidate that leaves make."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from disentree.mimosa.finders.gaussians import LOG_2PI, Mixture
from disentree.mimosa.finders.margins import Margins
from disentree.mimosa.finders.structureless import Columns

GAP = 10.0  # a direction is wide if its variance is this many times that of the widest residual direction
FLAT = 4.0  # residual variances differ by no more than this factor, beside what few rows make of equal ones


@dataclass(frozen=True)
class Space:
    """Coordinates that a mixture lives in: leading axes of Z, or scores of columns; a density of Z in the end."""

    leading: int
    rest_deviations: Float[np.ndarray, " r"]
    columns: Columns | None = None
    margins: Margins | None = None

    def __call__(self, Z: Float[np.ndarray, "n D"]) -> tuple[Float[np.ndarray, "n q"], Float[np.ndarray, " n"]]:
        """Coordinates, and the log density of all that they leave out (with the Jacobian)."""
        if self.margins is not None and self.columns is not None:
            S, jacobian = self.margins(self.columns.of(Z))
            return S, jacobian + self.columns.log_volume
        rest = Z[:, self.leading :] / self.rest_deviations
        extra = -0.5 * ((rest**2).sum(axis=1) + rest.shape[1] * LOG_2PI) - np.log(self.rest_deviations).sum()
        return Z[:, : self.leading], extra


@dataclass(frozen=True)
class MixtureLeaf:
    space: Space
    pieces: Mixture
    dimension: int

    def log_density(self, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, " n"]:
        Y, extra = self.space(Z)
        return self.pieces.log_density(Y) + extra


def dimension_of(covariance: Float[np.ndarray, "D D"], floor: Float[np.ndarray, " D"], count: float) -> int:
    """Directions of a leaf that are clearly wider than its narrowest ones, if those are all alike.

    A blob has no such residual directions and the full dimension; a cluster no wider than the precision has none.
    """
    values, vectors = np.linalg.eigh(covariance)
    values, vectors = values[::-1], vectors[:, ::-1]
    least = (floor**2) @ vectors**2
    if np.all(values <= 4 * least):
        return 0
    values = np.maximum(values, least)
    D = len(values)
    for d in range(1, D):
        rest = values[d:]
        ratio = min(np.sqrt(len(rest) / max(count, 1.0)), 0.9)
        chance = ((1 + ratio) / (1 - ratio)) ** 2
        if values[d - 1] >= GAP * rest.max() and rest.max() <= FLAT * chance * rest.min():
            return d
    return D


def leaf_covariance(pieces: Mixture) -> Float[np.ndarray, "q q"]:
    """Covariance within pieces, on average: the local spread, which curvature between pieces does not widen."""
    return np.einsum("k,kij->ij", pieces.shares, pieces.within)
