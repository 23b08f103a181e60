"""A decomposition as a density: leaves with shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp

ROWS_AT_A_TIME = 20_000


class Leaf(Protocol):
    """One component of a decomposition."""

    @property
    def dimension(self) -> int:
        """Of its manifold."""
        ...

    def log_density(self, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, " n"]:
        """Natural log of the density of rows that are on it."""
        ...


@dataclass(frozen=True)
class NoLeaf:
    """A combination of choices that does not occur.

    Attributes
    ----------
    dimension : int
        That it would have.
    """

    dimension: int

    def log_density(self, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, " n"]:
        """No row is on it."""
        return np.full(len(Z), -np.inf)


@dataclass(frozen=True)
class Candidate:
    """What a finder proposes: p(z) = sum over leaves of share times density.

    Attributes
    ----------
    finder : str
    components : sequence of Leaf
    shares : array of shape (k,)
    details : dict
        What the finder wants to remember about it.
    """

    finder: str
    components: Sequence[Any]
    shares: Float[np.ndarray, " k"]
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def dimensions(self) -> list[int]:
        """Of the leaves."""
        return [int(leaf.dimension) for leaf in self.components]

    def log_joint(self, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "n k"]:
        """Log of share times density, for each row and leaf."""
        shares = np.log(np.maximum(self.shares, 1e-300))
        out = np.empty((len(Z), len(self.components)))
        for start in range(0, len(Z), ROWS_AT_A_TIME):
            some = Z[start : start + ROWS_AT_A_TIME]
            for k, leaf in enumerate(self.components):
                out[start : start + len(some), k] = shares[k] + leaf.log_density(some)
        return out

    def log_density(self, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, " n"]:
        """Log density of rows."""
        return np.asarray(logsumexp(self.log_joint(Z), axis=1))

    def posteriors(self, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "n k"]:
        """The probability of each leaf, given that a row is on one of them. Rows that are so far from all that
        every density is zero get the shares."""
        joint = self.log_joint(Z)
        none = ~np.isfinite(joint).any(axis=1)
        joint[none] = np.log(np.maximum(self.shares, 1e-300))
        return np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
