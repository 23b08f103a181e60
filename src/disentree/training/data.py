"""Where rows come from: an array in memory or on disk, a data frame, blocks that are read one by one, or a torch
`Dataset`, whose rows are read by their indices."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from jaxtyping import Int, Shaped
from numpy.typing import ArrayLike

_BLOCK_BYTES = 8e6  # a block of an array, as 64-bit floats: what a process of a cluster may be sent at once


def rows_per_block(shape: tuple[int, ...]) -> int:
    """Rows of a block, for rows of this shape."""
    return max(1, int(_BLOCK_BYTES / (8 * max(1, int(np.prod(shape))))))


class ArraySource:
    """An array, in memory or memory-mapped; rows are read a block at a time."""

    def __init__(self, X: Shaped[np.ndarray, "n ..."]):
        self.X = X
        self.n_rows, self.dtype = len(X), X.dtype
        self.shape: tuple[int, ...] = X.shape[1:]  # of a row

    def blocks(self) -> Iterator[Shaped[np.ndarray, "n ..."]]:
        step = rows_per_block(self.shape)
        for start in range(0, self.n_rows, step):
            yield np.asarray(self.X[start : start + step])


class BlockSource:
    """Blocks of rows from an object that can be iterated over again and again, such as a list of
    memory-mapped arrays or an object that reads a file per block. Only one block is in memory at a time. Every
    pass is compared with the first: what goes with a row is known by its place."""

    def __init__(self, X: Any):
        if not _is_torch_dataset(X) and iter(X) is X:
            raise ValueError(
                "X is an iterator, which can be read only once; give an object that starts again at every "
                "iter(X), such as a list of arrays or a class with __iter__"
            )
        self.X = X
        self.n_rows, self.dtype, self.checksum = 0, np.dtype(np.float32), 0
        self.shape: tuple[int, ...] = ()
        for i, block in enumerate(blocks_of(X)):
            if i == 0:
                self.shape, self.dtype = block.shape[1:], block.dtype
            if block.ndim < 2:
                raise ValueError(f"X yields values of shape {block.shape}; it must yield blocks of rows")
            if block.shape[1:] != self.shape:
                raise ValueError(f"block {i} of X has rows of shape {block.shape[1:]}, those before {self.shape}")
            check_finite(block, self.n_rows)
            self.n_rows += len(block)
            self.checksum = _checksum(block, self.checksum)
        if self.n_rows < 2:
            raise ValueError(f"X has {self.n_rows} row(s) in its blocks; at least 2 are needed")

    def blocks(self) -> Iterator[Shaped[np.ndarray, "n ..."]]:
        n_rows = checksum = 0
        for block in blocks_of(self.X):
            n_rows, checksum = n_rows + len(block), _checksum(block, checksum)
            yield block
        if n_rows != self.n_rows:
            raise ValueError(f"the blocks of X held {self.n_rows} rows at first and {n_rows} now")
        if checksum != self.checksum:
            raise ValueError(
                "X yields other rows, or in another order, each time it is read (shuffle=True?); "
                "what else is known of a row goes by its place: give the Dataset or the array itself"
            )


def _checksum(block: Shaped[np.ndarray, "n ..."], before: int) -> int:
    return zlib.crc32(np.ascontiguousarray(block).reshape(-1).view(np.uint8).data, before)


def blocks_of(X: Any) -> Iterator[Shaped[np.ndarray, "n ..."]]:
    """The blocks of rows that X yields, or those made of the rows of a torch `Dataset`."""
    if not _is_torch_dataset(X):
        for block in X:
            _refuse_records(block, "yields")
            yield as_numeric(block)
        return
    rows = [_row(X, i) for i in range(min(1, len(X)))]
    step = rows_per_block(rows[0].shape) if rows else 1
    for start in range(0, len(X), step):
        yield np.stack([_row(X, i) for i in range(start, min(start + step, len(X)))])


def _row(X: Any, i: int) -> Shaped[np.ndarray, "..."]:
    row = X[i]
    if isinstance(row, tuple | list) and len(row) == 1:  # of a TensorDataset of one tensor
        row = row[0]
    _refuse_records(row, "holds")
    return as_numeric(row)


def _refuse_records(value: Any, verb: str) -> None:
    """An error if rows come together with something else, and which of it is X would have to be guessed."""
    if isinstance(value, Mapping):
        names = ", ".join(map(str, value))
        raise ValueError(f"X {verb} dicts with the keys {names}: give the rows alone, as X[{next(iter(value))!r}]")
    if isinstance(value, tuple | list) and any(hasattr(part, "shape") for part in value):
        raise ValueError(
            f"X {verb} tuples of {len(value)}: give the rows alone, as an array, as a Dataset whose items are "
            "rows, or as blocks that are arrays"
        )


def _is_torch_dataset(X: Any) -> bool:
    """Whether rows are asked for by their indices. Known by name: torch need not be imported."""
    kinds = {(cls.__module__, cls.__name__) for cls in type(X).__mro__}
    is_dataset = ("torch.utils.data.dataset", "Dataset") in kinds
    return is_dataset and ("torch.utils.data.dataset", "IterableDataset") not in kinds


Source = ArraySource | BlockSource


def is_blocks(X: Any) -> bool:
    """Whether X is to be read block by block: an iterable that is not itself an array or a table, or a torch
    `Dataset`."""
    if _is_torch_dataset(X):
        return True
    if hasattr(X, "__array__") or hasattr(X, "shape") or hasattr(X, "iloc") or hasattr(X, "__dataframe__"):
        return False
    if isinstance(X, list | tuple):
        return bool(X) and all(isinstance(block, np.ndarray) and block.ndim > 1 for block in X)
    return isinstance(X, Iterable) and not isinstance(X, str | bytes | dict)


def as_numeric(X: ArrayLike) -> Shaped[np.ndarray, "n ..."]:
    array = np.asanyarray(X)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"X must be an array of real numbers, got {array.dtype}")
    return array


def check_finite(block: Shaped[np.ndarray, "n ..."], offset: int = 0) -> None:
    """Raise a ValueError that names the first row with a NaN or an infinity."""
    if block.dtype.kind != "f":
        return
    bad = ~np.isfinite(block.reshape(len(block), -1)).all(axis=1)
    if bad.any():
        raise ValueError(
            f"X must be finite: row {offset + int(np.argmax(bad))} holds NaN or infinity "
            f"({int(bad.sum())} such rows here)"
        )


def sample_rows(source: Source, n: int, rng: np.random.Generator) -> Shaped[np.ndarray, "m ..."]:
    """At most `n` rows, drawn without replacement, in the order in which they come."""
    if source.n_rows <= n:
        return np.concatenate(list(source.blocks()))
    return rows_of(source, np.sort(rng.choice(source.n_rows, n, replace=False)))


def rows_of(source: Source, chosen: Int[np.ndarray, " m"]) -> Shaped[np.ndarray, "m ..."]:
    """Some rows, by their indices in ascending order."""
    out, start = [], 0
    for block in source.blocks():
        low, high = np.searchsorted(chosen, [start, start + len(block)])
        out.append(block[chosen[low:high] - start])
        start += len(block)
    return np.concatenate(out)
