"""The finder of clusters: mixtures of Gaussians."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from disentree.mimosa.constants import FIT
from disentree.mimosa.density.candidate import Candidate
from disentree.mimosa.density.mixture_leaf import MixtureCandidate
from disentree.mimosa.finders.constants import FINDERS
from disentree.mimosa.finders.modes import mixture
from disentree.mimosa.finders.protocol import Rows


@dataclass(frozen=True)
class Mixtures:
    name: str = "mixture"

    @property
    def whole_below(self) -> int:
        return FIT.plenty

    def propose(self, rows: Rows, rng: np.random.Generator) -> Sequence[Candidate]:
        Z, floor = rows.jittered(rng), wide_enough(rows.Z, rows.floor)
        return mixture.find(Z, floor, rng, rows.columns, rows.part)

    def refit(self, rows: Rows, rng: np.random.Generator, found: Sequence[Candidate]) -> Sequence[Candidate]:
        return self._again(rows, rng, found, None)

    def of_part(self, rows: Rows, rng: np.random.Generator, found: Sequence[Candidate]) -> Sequence[Candidate]:
        """What a part of the rows shows of the mixtures of all."""
        return self._again(rows, rng, found, rows.part)

    @staticmethod
    def _again(
        rows: Rows, rng: np.random.Generator, found: Sequence[Candidate], part: float | None
    ) -> Sequence[Candidate]:
        own = [candidate for candidate in found if isinstance(candidate, MixtureCandidate)]
        floor = wide_enough(rows.Z, rows.floor)
        return mixture.refit(rows.jittered(rng), floor, rng, rows.columns, own, part)


def wide_enough(Y: Float[np.ndarray, "n q"], floor: Float[np.ndarray, " q"]) -> Float[np.ndarray, " q"]:
    """The least deviations of Gaussians in coordinates of a given precision."""
    return np.maximum(floor, FINDERS.thinnest * Y.std(axis=0).max(initial=0.0))
