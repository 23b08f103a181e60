"""A leaf of a mixture: one or several Gaussians, its dimension, and the candidate that leaves make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from disentree.mimosa.coordinates.columns import Columns
from disentree.mimosa.density.candidate import LeafCandidate, Undirected
from disentree.mimosa.density.gaussians import Mixture, dimension_of
from disentree.mimosa.density.logs import LOG_2PI, log_sum
from disentree.mimosa.density.margins import Margins


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
class MixtureLeaf(Undirected):
    space: Space
    pieces: Mixture
    dimension: int

    def log_density(self, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, " n"]:
        Y, extra = self.space(Z)
        return self.pieces.log_density(Y) + extra


@dataclass(frozen=True)
class GatedLeaf(Undirected):
    """A leaf that one mixture tells from the others, in a density that is another mixture's.

    The density of rows on it is that of all rows times its probability: p(z, k) = p(k | z) p(z).
    """

    space: Space
    density: Mixture  # of all rows
    gate_space: Space
    gate: Mixture  # tells the leaves apart
    own: Bool[np.ndarray, " pieces"]  # which pieces of the gate are the leaf's
    share: float  # of rows on the leaf
    dimension: int

    def log_density(self, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, " n"]:
        S, extra = self.space(Z)
        joint = self.gate.joint(self.gate_space(Z)[0])
        probability = log_sum(joint[:, self.own]) - log_sum(joint)
        return self.density.log_density(S) + extra + probability - np.log(self.share)


@dataclass(frozen=True)
class MixtureCandidate(LeafCandidate):
    """Leaves of one mixture, and the mixture: from it the same leaves are fitted to other rows."""

    components: Sequence[MixtureLeaf | GatedLeaf]
    _: KW_ONLY
    family: str  # of covariances
    mixture: Mixture
    space: Space  # that the mixture lives in
    groups: Int[np.ndarray, " pieces"]  # the leaf of each of its pieces


def leaf_dimension(pieces: Mixture, space: Space, floor: Float[np.ndarray, " q"], count: float) -> int:
    """The dimension of a leaf, with the axes that the mixture left out."""
    rest = space.rest_deviations
    q = len(floor)
    covariance = np.diag(np.concatenate([np.zeros(q), rest**2]))
    # Within pieces, on average: the local spread, which curvature between pieces does not widen.
    covariance[:q, :q] = np.einsum("k,kij->ij", pieces.shares, pieces.within)
    return dimension_of(covariance, np.concatenate([floor, rest / 3]), count)
