"""Dask arrays and data frames: work is done partition by partition, wherever the partitions are."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from disentree.rows.source import check_size, problems_in, rows_of


def is_dask(X: Any) -> bool:
    """Without importing Dask, which need not be installed."""
    module = type(X).__module__
    return module.startswith(("dask.array", "dask.dataframe", "dask_expr"))


def lazily(X: Any, function: Callable[[Any], np.ndarray], n_columns: int | None, dtype: type) -> Any:
    """A Dask array of what `function` makes of each block of rows: `n_columns` of them, or None for a vector."""
    meta = np.empty((0,) if n_columns is None else (0, n_columns), dtype)
    function = partial(_of_some, function, meta)
    if not type(X).__module__.startswith("dask.array"):
        return _of_frame(X, function, meta)
    rows = X.rechunk(dict.fromkeys(range(1, X.ndim), -1))
    settings: dict[str, Any] = {"dtype": np.dtype(dtype), "meta": meta}
    if n_columns is None:
        return rows.map_blocks(function, drop_axis=list(range(1, X.ndim)), **settings)
    chunks = (rows.chunks[0], (n_columns,))
    return rows.map_blocks(function, chunks=chunks, drop_axis=list(range(2, X.ndim)), **settings)


def _of_some(function: Callable[[Any], np.ndarray], nothing: np.ndarray, rows: Any) -> np.ndarray:
    """Of a partition that may have no rows."""
    return function(rows) if len(rows) else nothing


def _of_frame(X: Any, function: Callable[[Any], np.ndarray], meta: np.ndarray) -> Any:
    import dask.array as da
    from dask.delayed import delayed

    shape = (np.nan, *meta.shape[1:])
    made = [da.from_delayed(delayed(function)(part), shape, meta=meta) for part in X.to_delayed()]
    return da.concatenate(made, allow_unknown_chunksizes=True)


@dataclass(frozen=True, eq=False)
class DaskParts:
    """The partitions of a collection, as delayed objects. It is its own engine: the scheduler that is set, or the
    client that is open, calls functions where partitions are."""

    parts: Sequence[Any]
    sizes: Sequence[int]
    names: tuple[str, ...] | None
    step: int
    empty: Any  # a block without rows

    @classmethod
    def of(cls, X: Any, step: int | None = None) -> DaskParts:
        """The partitions of an array or a data frame; those of unknown size are counted in a pass."""
        from dask.base import compute
        from dask.delayed import delayed

        if hasattr(X, "columns"):
            parts, names, empty = list(X.to_delayed()), tuple(map(str, X.columns)), X._meta
            sizes = compute(*[delayed(len)(part) for part in parts])
        else:
            rows = X.rechunk(dict.fromkeys(range(1, X.ndim), -1))
            parts, names, sizes = list(rows.to_delayed().ravel()), None, rows.chunks[0]
            if any(n != n for n in sizes):
                sizes = compute(*[delayed(len)(part) for part in parts])
            empty = np.empty((0, *X.shape[1:]), X.dtype)
        return cls(parts, [int(n) for n in sizes], names, step or rows_of(math.prod(X.shape[1:])), empty)

    def read(self, part: int) -> Iterator[Any]:
        rows = self.parts[part].compute()
        for start in range(0, len(rows), self.step):
            yield _some(rows, start, self.step)

    def where(self, part: int) -> str:
        return f"partition {part} of X"

    def run(self, source: Any, places: Any, function: Callable[[Any, int], Any]) -> Iterator[Any]:
        from dask.base import compute
        from dask.delayed import delayed

        at = delayed(_of_partition)
        own = [(self.parts[k], self.where(k), start, self.sizes[k]) for k, start in places]
        for made in compute(*[at(*of, self.step, function) for of in own]):
            yield from made


def _of_partition(
    rows: Any, where: str, start: int, n: int, step: int, function: Callable[[Any, int], Any]
) -> list[Any]:
    """What a function makes of each block of a partition of `n` rows."""
    check_size(where, len(rows), n)
    out = []
    for first in range(0, len(rows), step):
        some = _some(rows, first, step)
        with problems_in(where, start + first, len(some)):
            out.append(function(some, start + first))
    return out


def _some(rows: Any, start: int, step: int) -> Any:
    some = slice(start, start + step)
    return rows.iloc[some] if hasattr(rows, "iloc") else rows[some]
