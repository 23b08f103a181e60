"""A component that was found within a region, in the region's own coordinates, as a density of all coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from disentree.mimosa.density.candidate import Leaf
from disentree.mimosa.density.logs import LOG_2PI


@dataclass(frozen=True)
class Frame:
    """Coordinates of a region: its leading principal axes, and the deviations along the others."""

    center: Float[np.ndarray, " D"]
    axes: Float[np.ndarray, "D q"]
    others: Float[np.ndarray, "D r"]
    deviations: Float[np.ndarray, " r"]

    @classmethod
    def fit(cls, Z: Float[np.ndarray, "n D"], q: int, floor: Float[np.ndarray, " D"]) -> Frame:
        """The frame with `q` axes; no deviation is below the precision."""
        center = Z.mean(axis=0)
        vectors = np.linalg.svd(Z - center, full_matrices=len(Z) < Z.shape[1])[2].T
        others = vectors[:, q:]
        deviations = np.sqrt((((Z - center) @ others) ** 2).mean(axis=0))
        return cls(center, vectors[:, :q], others, np.maximum(deviations, np.sqrt((floor**2) @ others**2)))

    def __call__(self, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "n q"]:
        return (Z - self.center) @ self.axes

    def across(self, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "n r"]:
        """The other coordinates, in deviations."""
        return (Z - self.center) @ self.others / self.deviations


@dataclass(frozen=True)
class InnerLeaf:
    """A component in a frame; across the frame it is a Gaussian."""

    frame: Frame
    leaf: Leaf

    @property
    def dimension(self) -> int:
        return int(self.leaf.dimension)

    @property
    def noise_across(self) -> float:
        return self.leaf.noise_across

    @property
    def has_edge(self) -> bool:
        return self.leaf.has_edge

    def log_density(self, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, " n"]:
        across = self.frame.across(Z)
        outside = 0.5 * (across**2).sum(axis=1) + 0.5 * across.shape[1] * LOG_2PI
        return self.leaf.log_density(self.frame(Z)) - outside - np.log(self.frame.deviations).sum()

    def outwardness(self, Z: Float[np.ndarray, "n D"]) -> tuple[Float[np.ndarray, " n"], ...]:
        return *self.leaf.outwardness(self.frame(Z)), (self.frame.across(Z) ** 2).sum(axis=1)

    def limits(self, quantiles: Sequence[float]) -> list[float]:
        return [*self.leaf.limits(quantiles[:-1]), quantiles[-1]]

    def along(
        self, Z: Float[np.ndarray, "n D"]
    ) -> tuple[Float[np.ndarray, "n q"], Float[np.ndarray, " q"] | float]:
        return self.leaf.along(self.frame(Z))
