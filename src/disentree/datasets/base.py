"""What a data set is: observations, the codes they were made from, and the way back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float, Int, Shaped
from numpy.typing import ArrayLike

from disentree.hierarchy import Hierarchy


@dataclass(frozen=True, eq=False)
class Dataset:
    """Observations `X` with their ground truth.

    `generate` turns codes back into observations without noise: for a noise-free data set,
    ``ds.generate(ds.codes)`` equals ``ds.X`` exactly.
    """

    name: str
    X: Shaped[np.ndarray, "n ..."]
    codes: Float[np.ndarray, "n v"]
    hierarchy: Hierarchy
    paths: Int[np.ndarray, " n"]
    seed: int
    options: Mapping[str, Any] = field(default_factory=dict)
    render: Callable[[np.ndarray], np.ndarray] = field(repr=False, default=lambda codes: codes)

    def generate(self, codes: ArrayLike) -> Shaped[np.ndarray, "n ..."]:
        """Observations for any valid codes of this data set's hierarchy."""
        return self.render(self.hierarchy.validate(codes))

    def __len__(self) -> int:
        return len(self.X)

    def __repr__(self) -> str:
        shape = "x".join(map(str, self.X.shape[1:]))
        return f"<Dataset {self.name}: {len(self)} samples of {shape}, {len(self.hierarchy.paths)} paths>"
