"""What a finder is: it proposes decompositions of rows into leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from disentree.mimosa.constants import FIT
from disentree.mimosa.coordinates.columns import Columns, precision_of_coordinates
from disentree.mimosa.coordinates.noise import WhiteNoise
from disentree.mimosa.density.candidate import Candidate
from disentree.mimosa.finders.budget import Budget, unbounded


@dataclass(frozen=True)
class Rows:
    """Rows in coordinates that hold the data, and what is known about them."""

    Z: Float[np.ndarray, "n D"]
    floor: Float[np.ndarray, " D"]  # the precision of each coordinate
    columns: Columns | None = None  # the table's own, if the coordinates are linear in them
    noise: WhiteNoise | None = None  # as measured from the spectrum of the data
    n_neighbors: int = 40  # of the neighborhoods in which flats and sheets are found
    n_jobs: int = -1  # threads of neighbor searches
    part: float = 1.0  # of all rows: what is beyond doubt in all of them must be seen in these
    budget: Budget = field(default_factory=unbounded)  # of the finder that is asked, also when it is asked again
    weights: Float[np.ndarray, " n"] | None = None  # how many rows each stands for, where valleys are looked for

    @property
    def rigor(self) -> float:
        """How many times the usual doubt a saving, or a valley of a mixture, must exceed: what all rows show is
        less clear in a part of them by its root, and by chance, since it is not the only part."""
        return self.part

    def some(self, chosen: Int[np.ndarray, " m"]) -> Rows:
        """A part of the rows, to show what all of them do."""
        weights = None if self.weights is None else self.weights[chosen]
        return replace(self, Z=self.Z[chosen], part=self.part * len(chosen) / len(self.Z), weights=weights)

    @property
    def errors(self) -> Float[np.ndarray, "p D"] | Float[np.ndarray, " D"]:
        """The precision as independent errors of the coordinates."""
        return self.floor if self.columns is None else precision_of_coordinates(self.columns)[0]

    def jittered(self, rng: np.random.Generator) -> Float[np.ndarray, "n D"]:
        """Rows anywhere within their cell of the grid that values come on: ties of rounding mean nothing."""
        return self.Z + rng.uniform(-0.5, 0.5, self.Z.shape) * self.floor


@runtime_checkable
class Finder(Protocol):
    """A way to propose decompositions."""

    @property
    def name(self) -> str: ...

    @property
    def whole_below(self) -> int:
        """With fewer rows than this, structure is found on all of them, and judged by candidates fitted again to
        a part; with more it is found on that part."""
        ...

    def propose(self, rows: Rows, rng: np.random.Generator) -> Sequence[Candidate]:
        """Decompositions of rows; none if there is nothing to find."""
        ...

    def refit(self, rows: Rows, rng: np.random.Generator, found: Sequence[Candidate]) -> Sequence[Candidate]:
        """The same candidates fitted to a part of the rows, given those of all rows."""
        ...


class FindsAgain:
    """A finder that refits by finding again."""

    @property
    def whole_below(self) -> int:
        return FIT.few

    def propose(self, rows: Rows, rng: np.random.Generator) -> Sequence[Candidate]:
        raise NotImplementedError

    def refit(self, rows: Rows, rng: np.random.Generator, found: Sequence[Candidate]) -> Sequence[Candidate]:
        return self.propose(rows, rng)
