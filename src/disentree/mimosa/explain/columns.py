"""The columns that a tree is explained by: their cells and precision, how values are written, which rows are held
out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from disentree.mimosa.coordinates.precision import column_precision
from disentree.mimosa.inputs import is_frame
from disentree.tables import Codec
from disentree.tables.frames import as_pandas

HELD_OUT = 3  # every third row of a path: reasons are looked for in the others and measured on these
MOST_ROWS = 20_000  # that reasons are looked for in and measured on: more do not change a percentage
LONGEST_LEVEL = 40  # letters of a category in sentences
DIGITS = 6  # of numbers in sentences


@dataclass(frozen=True)
class Columns:
    """Cells of a table or an array, with the names and values that sentences use.

    Attributes
    ----------
    numbers : array of shape (n, p)
        NaN where a cell is empty.
    categories : array of shape (n, q)
        Positions among the levels; -1 where a cell is empty.
    number_names, category_names : tuple of str
    levels : tuple of tuple of str
        The values of each categorical column.
    dates : frozenset of int
        Columns of numbers that are days since 1970.
    are_named : bool
        Whether the names are those of the data; else they are x1, x2, ...
    """

    numbers: Float[np.ndarray, "n p"]
    categories: Int[np.ndarray, "n q"]
    number_names: tuple[str, ...]
    category_names: tuple[str, ...] = ()
    levels: tuple[tuple[str, ...], ...] = ()
    dates: frozenset[int] = frozenset()
    are_named: bool = True

    @property
    def names(self) -> tuple[str, ...]:
        """All names: numbers first."""
        return (*self.number_names, *self.category_names)

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, rows: Int[np.ndarray, " m"]) -> Columns:
        """Some of the rows."""
        about = (self.number_names, self.category_names, self.levels, self.dates, self.are_named)
        return Columns(self.numbers[rows], self.categories[rows], *about)

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

    @cached_property
    def hashes(self) -> Any:
        """A number for the content of each row, which neither the order of rows or columns nor the units of a
        column change: equal rows have equal numbers."""
        total = np.zeros(len(self), np.uint64)
        for values in (*self.numbers.T, *self.categories.T):
            ranks = np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.uint64)
            total += _mixed(ranks + np.uint64(1))
        return _mixed(total)


def _mixed(x: Any) -> Any:
    """The finalizer of SplitMix64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@np.errstate(over="ignore", invalid="ignore")  # numbers of 1e300 have no variance
def read_columns(
    X: Any, names: Sequence[str] | None = None, codec: Codec | None = None, are_named: bool | None = None
) -> Columns:
    """The columns of a data frame or of an array with two axes.

    Parameters
    ----------
    X : data frame or array of shape (n, p)
    names : sequence of str, default=None
        Of the columns of an array; None calls them x1, x2, ...
    codec : Codec, default=None
        What the columns of a data frame are, if that is known.
    are_named : bool, default=None
        Whether names are those of the data; None if any are given.

    Returns
    -------
    Columns
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
    return Columns(
        X.astype(np.float64),
        np.zeros((len(X), 0), np.int64),
        own,
        are_named=names is not None if are_named is None else are_named,
    )


def choose_rows(
    columns: Columns, labels: Int[np.ndarray, " n"], most: int = MOST_ROWS
) -> tuple[Int[np.ndarray, " m"], Bool[np.ndarray, " m"]]:
    """Rows that a tree is explained by, and which of them are held out: every third, path by path.

    Both follow from the content of rows, not from their order, and equal rows are on one side.
    """
    hashes = columns.hashes
    order = np.lexsort((hashes, labels))
    order = order[labels[order] >= 0]
    sizes = np.bincount(labels[order]) if len(order) else np.zeros(0, int)
    kept = []
    start, share = 0, max(1.0, len(order) / most)
    for size in sizes:
        rows = order[start : start + size]
        start += size
        if share > 1:
            rows = rows[: max(min(size, 30 * HELD_OUT), int(size / share))]
        kept.append(rows)
    chosen = np.concatenate([*kept, np.zeros(0, np.int64)]).astype(np.int64)
    # Equal rows of a path are next to each other, and go where the first of them goes.
    new = np.ones(len(chosen), bool)
    new[1:] = (hashes[chosen[1:]] != hashes[chosen[:-1]]) | (labels[chosen[1:]] != labels[chosen[:-1]])
    first = np.maximum.accumulate(np.where(new, np.arange(len(chosen)), 0))
    return chosen, first % HELD_OUT == HELD_OUT - 1


def number_text(value: float) -> str:
    """A number with as few digits as it needs, at most six."""
    value = float(f"{value:.{DIGITS}g}")
    if value == 0:
        return "0"
    if 1e-4 <= abs(value) < 1e15:
        places = max(0, DIGITS - 1 - math.floor(math.log10(abs(value))))
        text = f"{value:.{places}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return f"{value:.{DIGITS}g}"


def level_text(level: str, longest: int = LONGEST_LEVEL) -> str:
    """A value of a categorical column; a long one is cut, which "…" says."""
    return level if len(level) <= longest else f"{level[: longest - 1].rstrip()}…"


def round_between(low: float, high: float) -> float:
    """The number with the fewest digits that is at least `low` and less than `high`.

    Examples
    --------
    >>> round_between(205.3, 207.1), round_between(0.0, 0.3), round_between(203.0, 211.0)
    (206.0, 0.0, 210.0)
    """
    if not low < high or low <= 0 < high:
        return low if not low < high or low == 0 else 0.0
    top = math.floor(math.log10(max(abs(low), abs(high)))) + 1
    for power in range(top, top - 16, -1):
        unit = 10.0**power
        value = float(f"{math.ceil(low / unit - 1e-9) * unit:.15g}")
        if low <= value < high:
            return value
    return low


def percent(share: float) -> str:
    """A share in words of a sentence: all and none only if it is exactly that."""
    if share >= 1:
        return "all"
    if share <= 0:
        return "none"
    percents = 100 * share
    if percents >= 99.95:
        return "nearly all"
    if percents < 0.05:
        return "almost none"
    return f"{percents:.1f} %" if percents > 99 or percents < 1 else f"{percents:.0f} %"


def listed(words: Sequence[str], most: int = 4) -> str:
    """A list as it is written: "a, b and c", "a, b, c and 4 more"."""
    words = list(words)
    if len(words) > most + 1:
        return f"{', '.join(words[:most])} and {len(words) - most} more"
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1]))) if words else ""
