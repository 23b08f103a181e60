"""What a data set is: observations, the codes they were made from, and the way back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from disentree.hierarchy import Hierarchy


@dataclass(frozen=True, eq=False)
class Dataset:
    """Observations `X` with what is known about them.

    Attributes
    ----------
    name : str
    X : array of shape (n, ...) or DataFrame
    codes : array of shape (n, v) or None
        The codes that the rows were made from; None for real data.
    hierarchy : Hierarchy or None
        The true hierarchy; None where it is not known.
    paths : array of shape (n,) or None
        The path of each row in `hierarchy`, or for real data the known class of each row.
    seed : int
    options : mapping
        What was given to `load_dataset`.
    render : callable or None
        Observations without noise for valid codes.
    path_names : tuple of str
        Of real data: the classes that `paths` counts.

    Examples
    --------
    >>> from disentree.datasets import load_dataset
    >>> load_dataset("spaceshapes", n_samples=10)
    <Dataset spaceshapes: 10 samples of 64x64, 4 paths>
    """

    name: str
    X: Any
    codes: Float[np.ndarray, "n v"] | None
    hierarchy: Hierarchy | None
    paths: Int[np.ndarray, " n"] | None
    seed: int
    options: Mapping[str, Any] = field(default_factory=dict)
    render: Callable[[np.ndarray], Any] | None = field(repr=False, default=None)
    path_names: tuple[str, ...] = ()

    def generate(self, codes: ArrayLike) -> Any:
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
        if self.hierarchy is None or self.render is None:
            raise ValueError(f"{self.name} is real data, which cannot be generated")
        return self.render(self.hierarchy.validate(codes))

    def __len__(self) -> int:
        return len(self.X)

    def __repr__(self) -> str:
        shape = "x".join(map(str, self.X.shape[1:]))
        known = f", {len(self.hierarchy.paths)} paths" if self.hierarchy is not None else ""
        return f"<Dataset {self.name}: {len(self)} samples of {shape}{known}>"
