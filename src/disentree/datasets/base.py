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
    """Observations with their ground truth.

    Attributes
    ----------
    name : str
        The name that `load_dataset` knows it by.
    X : array of shape (n, ...)
        Observations: series (n, length) or images (n, height, width).
    codes : array of shape (n, v)
        The factors they were made from, NaN where a factor is not active.
    hierarchy : Hierarchy
        The tree that the codes follow.
    paths : array of shape (n,)
        The path of each row, an index into ``hierarchy.paths``.
    seed : int
        The seed that it was made with.
    options : mapping
        The options that it was made with.
    render : callable
        Observations without noise for valid codes.

    Examples
    --------
    >>> from disentree.datasets import load_dataset
    >>> load_dataset("spaceshapes", n_samples=10)
    <Dataset spaceshapes: 10 samples of 64x64, 4 paths>
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
        """Observations without noise for any codes.

        Parameters
        ----------
        codes : array-like of shape (n, v)
            Codes that are valid for `hierarchy`.

        Returns
        -------
        array of shape (n, ...)
            For a data set without noise, ``ds.generate(ds.codes)`` equals ``ds.X`` exactly.
        """
        return self.render(self.hierarchy.validate(codes))

    def __len__(self) -> int:
        return len(self.X)

    def __repr__(self) -> str:
        shape = "x".join(map(str, self.X.shape[1:]))
        return f"<Dataset {self.name}: {len(self)} samples of {shape}, {len(self.hierarchy.paths)} paths>"
