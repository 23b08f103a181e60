"""The columns that a tree is explained by: their cells, their precision, and which rows are held out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int, UInt64

from disentree.mimosa.constants import FIT
from disentree.mimosa.coordinates.precision import column_precision
from disentree.mimosa.explain.constants import EXPLAIN
from disentree.mimosa.explain.formatting import number_text
from disentree.mimosa.inputs import is_frame
from disentree.tables import Codec
from disentree.tables.frames import as_pandas


@dataclass(frozen=True)
class Columns:
    """Cells of a table or an array, with the names and values that sentences use."""

    numbers: Float[np.ndarray, "n p"]  # NaN where a cell is empty
    categories: Int[np.ndarray, "n q"]  # positions among the levels, -1 where a cell is empty
    number_names: tuple[str, ...]
    category_names: tuple[str, ...] = ()
    levels: tuple[tuple[str, ...], ...] = ()  # the values of each categorical column
    dates: frozenset[int] = frozenset()  # columns of numbers that are days since 1970
    are_named: bool = True  # whether the names are those of the data; else they are x1, x2, ...

    @property
    def names(self) -> tuple[str, ...]:
        """All names: numbers first."""
        return (*self.number_names, *self.category_names)

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, rows: Int[np.ndarray, " m"]) -> Columns:
        """Some of the rows."""
        return replace(self, numbers=self.numbers[rows], categories=self.categories[rows])

    @cached_property
    def empty(self) -> Bool[np.ndarray, "n m"]:
        """Which cells are empty: numbers first, then categories."""
        return np.concatenate([np.isnan(self.numbers), self.categories < 0], axis=1)

    @cached_property
    def steps(self) -> Float[np.ndarray, " p"]:
        """The precision of each column of numbers: the grid that its values are on, or the rounding of floats."""
        return np.array([column_precision(x[~np.isnan(x)]) for x in self.numbers.T])

    @cached_property
    def order(self) -> Int[np.ndarray, "n p"]:
        """Rows by each column of numbers, empty cells last."""
        return np.argsort(self.numbers, axis=0, kind="stable")

    def show(self, column: int, value: float) -> str:
        """A value of a column of numbers as text."""
        if column in self.dates:
            return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=float(value))).date().isoformat()
        return number_text(value)

    def between(self, column: int, low: float | None, high: float | None) -> str:
        """That a value is above a limit, at most another, or both."""
        name = self.number_names[column]
        lower, upper = ("" if limit is None else self.show(column, limit) for limit in (low, high))
        if column in self.dates:
            return " ".join([name, *[f"after {lower}"] * bool(lower), *[f"until {upper}"] * bool(upper)])
        if lower and upper:
            return f"{lower} < {name} ≤ {upper}"
        return f"{name} > {lower}" if lower else f"{name} ≤ {upper}"

    @cached_property
    def hashes(self) -> UInt64[np.ndarray, " n"]:
        """A number for the content of each row, which neither the order of rows or columns nor the units of a
        column change: equal rows have equal numbers."""
        total = np.zeros(len(self), np.uint64)
        for values in (*self.numbers.T, *self.categories.T):
            ranks = np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.uint64)
            total += _mixed(ranks + np.uint64(1))
        return _mixed(total)


def _mixed(x: UInt64[np.ndarray, " n"]) -> UInt64[np.ndarray, " n"]:
    """The finalizer of SplitMix64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@np.errstate(over="ignore", invalid="ignore")  # numbers of 1e300 have no variance
def read_columns(
    X: Any, names: Sequence[str] | None = None, codec: Codec | None = None, are_named: bool | None = None
) -> Columns:
    """The columns of a data frame, by its codec if that is known, or of an array with two axes.

    Columns of an array are called x1, x2, ... without `names`; `are_named` says whether these are those of the
    data, by default if any are given.
    """
    X = as_pandas(X)
    if is_frame(X):
        codec = Codec.fit(X) if codec is None else codec
        schema, cells = codec.schema, codec.read(X)
        own = [str(name) for name in X.columns] == [str(i) for i in range(X.shape[1])]
        known = {str(i): f"x{i + 1}" for i in range(X.shape[1])} if own else {}
        return Columns(
            cells.numbers,
            cells.categories,
            tuple(known.get(c.name, c.name) for c in schema.numeric),
            tuple(known.get(c.name, c.name) for c in schema.categorical),
            tuple(c.levels for c in schema.categorical),
            frozenset(i for i, c in enumerate(schema.numeric) if c.kind == "date"),
            not own,
        )
    X = np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"reasons are told in terms of columns, and images have none (got shape {X.shape})")
    if names is not None and len(names) != X.shape[1]:
        raise ValueError(f"columns must have {X.shape[1]} names, got {len(names)}")
    own = tuple(f"x{i + 1}" for i in range(X.shape[1])) if names is None else tuple(map(str, names))
    named = names is not None if are_named is None else are_named
    return Columns(X.astype(np.float64), np.zeros((len(X), 0), np.int64), own, are_named=named)


def choose_rows(
    columns: Columns, labels: Int[np.ndarray, " n"], most: int | None = None
) -> tuple[Int[np.ndarray, " m"], Bool[np.ndarray, " m"]]:
    """Rows that a tree is explained by, and which of them are held out: every third, path by path.

    Both follow from the content of rows, not from their order, and equal rows are on one side.
    """
    hashes, every = columns.hashes, EXPLAIN.held_out_every
    order = np.lexsort((hashes, labels))
    order = order[labels[order] >= 0]
    sizes = np.bincount(labels[order]) if len(order) else np.zeros(0, int)
    kept = []
    start, share = 0, max(1.0, len(order) / (FIT.landmarks if most is None else most))
    for size in sizes:
        rows = order[start : start + size]
        start += size
        if share > 1:
            rows = rows[: max(min(size, 30 * every), int(size / share))]
        kept.append(rows)
    chosen = np.concatenate([*kept, np.zeros(0, np.int64)]).astype(np.int64)
    # Equal rows of a path are next to each other, and go where the first of them goes.
    new = np.ones(len(chosen), bool)
    new[1:] = (hashes[chosen[1:]] != hashes[chosen[:-1]]) | (labels[chosen[1:]] != labels[chosen[:-1]])
    first = np.maximum.accumulate(np.where(new, np.arange(len(chosen)), 0))
    return chosen, first % every == every - 1
