"""One interface for rows that come in blocks: arrays, memory maps, data frames, files and Dask collections.

A source has parts that can be read by themselves (row groups, files, partitions), each in blocks. A pass calls a
function with every block, on the engine: threads of this process, or the processes of a Dask cluster. What it
gives depends on the rows and their order alone, not on where they are or how they are divided.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from jaxtyping import Int
from scipy.sparse import csr_array, csr_matrix, issparse, sparray

from disentree.rows.dask_parts import DaskParts, is_dask
from disentree.rows.engines import Engine, Local
from disentree.rows.files import open_files
from disentree.rows.memory import InMemory
from disentree.rows.source import Source
from disentree.tables.frames import as_pandas


@dataclass(frozen=True, eq=False)
class Blocks:
    """Rows that are read a block at a time.

    Examples
    --------
    >>> rows = Blocks.of(np.arange(10.0).reshape(5, 2), step=2)
    >>> len(rows), [float(block.sum()) for block in rows.map(lambda block, start: block)]
    (5, [6.0, 22.0, 17.0])
    >>> rows.take(np.array([0, 4])).tolist()
    [[0.0, 1.0], [8.0, 9.0]]
    """

    source: Source
    engine: Engine
    steps: tuple[Callable[[Any], Any], ...] = ()  # what is done with each block before anything else

    @classmethod
    def of(cls, X: Any, engine: Engine | None = None, step: int | None = None) -> Blocks:
        """Rows in blocks: an array, a data frame, a Dask collection, or the path of a .parquet, .csv, .tsv or .npy
        file, of a folder of tables, or a pattern of such files.

        Parameters
        ----------
        X : array, data frame, Dask collection, path or Blocks
        engine : Engine or None, default=None
            Where passes are made; None for threads of this process.
        step : int or None, default=None
            Rows of a block; None for as many as have some two million cells.

        Returns
        -------
        Blocks
        """
        if isinstance(X, Blocks):
            return X
        if isinstance(X, str | os.PathLike):
            return cls(open_files(X, step), engine or Local())
        if is_dask(X):
            own = DaskParts.of(X, step)
            return cls(own, own)
        return cls(InMemory.of(X, step), engine or Local())

    def __len__(self) -> int:
        return self._starts[-1]

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the columns; None of an array."""
        return self.source.names

    @property
    def is_flat(self) -> bool:
        """Whether each row is one of numbers or of a table, and no image."""
        return next(iter(self.source.read(0))).ndim == 2

    @cached_property
    def _starts(self) -> list[int]:
        return list(accumulate(self.source.sizes, initial=0))

    def then(self, step: Callable[[Any], Any]) -> Blocks:
        """The same rows with something done to each block."""
        return replace(self, steps=(*self.steps, step))

    def map(self, function: Callable[[Any, int], Any], parts: Sequence[int] | None = None) -> Iterator[Any]:
        """What a function makes of each block and the number of its first row, in the order of the rows; of all
        parts or of some."""
        some = range(len(self.source.sizes)) if parts is None else parts
        places = [(part, self._starts[part]) for part in some]
        yield from self.engine.run(self.source, places, _Steps(self.steps, function))

    def take(self, rows: Int[np.ndarray, " m"]) -> Any:
        """Some rows by their numbers, in ascending order, as an array or a data frame."""
        edges = np.searchsorted(rows, self._starts)
        held = [part for part, (a, b) in enumerate(pairwise(edges)) if a < b]
        return concatenated(list(self.map(partial(taken_of, rows), held or [0])))

    def all(self) -> Any:
        """All rows at once."""
        return concatenated(list(self.map(_as_it_is)))


@dataclass(frozen=True)
class _Steps:
    """One function after another."""

    steps: tuple[Callable[[Any], Any], ...]
    last: Callable[[Any, int], Any]

    def __call__(self, rows: Any, start: int) -> Any:
        for step in self.steps:
            rows = step(rows)
        return self.last(rows, start)


def _as_it_is(rows: Any, start: int) -> Any:
    return rows


def taken_of(chosen: Int[np.ndarray, " m"], rows: Any, start: int) -> Any:
    """Those of a block of rows that are among the chosen numbers, in ascending order."""
    a, b = np.searchsorted(chosen, [start, start + len(rows)])
    own = chosen[a:b] - start
    return rows.iloc[own] if hasattr(rows, "iloc") else rows[own]


def taken(X: Any, rows: Any) -> Any:
    """Some rows of a data frame, an array or blocks, perhaps several times."""
    if isinstance(X, Blocks):
        order = np.argsort(rows, kind="stable")
        return taken(X.take(rows[order]), np.argsort(order, kind="stable"))
    if hasattr(X, "iloc"):
        return X.iloc[rows].reset_index(drop=True)
    return X[rows] if hasattr(X, "shape") else np.asarray(X)[rows]


def sampled(X: Any, rows: Int[np.ndarray, " m"] | None) -> Any:
    """Some rows, or all."""
    return X if rows is None else taken(X, rows)


def concatenated(parts: Sequence[Any]) -> Any:
    """Blocks one below the other."""
    if not hasattr(parts[0], "iloc"):
        return np.concatenate(parts)
    import pandas as pd

    # empty ones would make columns lose their type
    return pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)


def is_blocks(X: Any) -> bool:
    """Whether these are rows that are not in memory: in blocks, in files, or of Dask."""
    return isinstance(X, Blocks | str | os.PathLike) or is_dask(X)


def opened(X: Any) -> Any:
    """Rows that are not in memory as blocks, all others as pandas and numpy have them."""
    return Blocks.of(X) if is_blocks(X) else as_pandas(X)


def in_blocks(X: Any, function: Callable[[Any], Any], most: int) -> Any:
    """What a function makes of rows: at once of at most so many in memory, else block by block."""
    X = opened(X)
    if issparse(X):
        X = csr_array(X) if isinstance(X, sparray) else csr_matrix(X)  # others cannot be cut
        starts = range(0, max(X.shape[0], 1), most)
        return concatenated([function(X[start : start + most]) for start in starts])
    if not isinstance(X, Blocks):
        shape = getattr(X, "shape", ())
        if len(shape) != 2 or shape[0] <= most or not hasattr(X, "__array__"):
            return function(X)
    return concatenated(list(Blocks.of(X).map(partial(_only_rows, function))))


def _only_rows(function: Callable[[Any], Any], rows: Any, start: int) -> Any:
    return function(rows)
