"""What a data set is: observations, the codes they were made from, and the way back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from disentree.hierarchy import Hierarchy

SPLIT_STREAM = (2,)  # of a seed: its uses have streams of their own (`disentree.runs.data`)


def split_rows(n_rows: int, seed: int, held_out: float) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " m"]]:
    """Rows to train on and rows held out, each in order."""
    order = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=SPLIT_STREAM)).permutation(n_rows)
    n_test = max(1, round(n_rows * held_out))
    return np.sort(order[n_test:]), np.sort(order[:n_test])


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
    >>> train, test = load_dataset("chopsticks-depth2-slope", n_samples=100).split(seed=0)
    >>> len(train), len(test), train[:5].X.shape
    (90, 10, (5, 64))
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

    def split(self, seed: int = 0, held_out: float = 0.1) -> tuple[Dataset, Dataset]:
        """Rows to train on and rows held out, as in a run with this seed.

        Parameters
        ----------
        seed : int, default=0
            Seed of the split.
        held_out : float, default=0.1
            Fraction of the rows that are held out.

        Returns
        -------
        tuple of two Dataset
        """
        train, test = split_rows(len(self), seed, held_out)
        return self[train], self[test]

    def __getitem__(self, rows: Any) -> Any:
        """A row of `X` for a number; for a slice, a mask or an array of numbers the data set of these rows."""
        X = self.X.iloc if hasattr(self.X, "iloc") else self.X
        if isinstance(rows, int | np.integer):
            return X[int(rows)]
        codes, paths = (None if known is None else known[rows] for known in (self.codes, self.paths))
        return replace(self, X=X[rows], codes=codes, paths=paths)

    def __len__(self) -> int:
        return len(self.X)

    def __repr__(self) -> str:
        shape = "x".join(map(str, self.X.shape[1:]))
        known = f", {len(self.hierarchy.paths)} paths" if self.hierarchy is not None else ""
        return f"<Dataset {self.name}: {len(self)} samples of {shape}{known}>"
