"""From the columns of a data frame to numbers, and back to a data frame of the same columns.

Numbers keep their unit or are transformed, and are centered and scaled. A categorical column of k values is k
features, one for each value. A column with empty cells has a feature that says where it has a value; columns that
are empty in the same rows share one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from disentree.tables.column import Column, Schema
from disentree.tables.dates import DAY, EXAMPLE_DATE, as_days
from disentree.tables.frames import as_pandas
from disentree.tables.kinds import as_levels, as_numbers, infer_schema, infinity_in
from disentree.tables.margins import backward, choose_scale, deviation, forward

INTEGER_LIMIT = 2.0**53  # above it, floats are not all the whole numbers


@dataclass(frozen=True)
class Cells:
    """The cells of a table's used columns."""

    numbers: Float[np.ndarray, "n p"]  # in the units of the table; NaN where a cell is empty
    categories: Int[np.ndarray, "n q"]  # positions among the levels; -1 where a cell is empty or its value unseen
    unseen: Bool[np.ndarray, "n q"] | None = None  # which values are no level; None if all are

    @property
    def is_unseen(self) -> Bool[np.ndarray, "n q"]:
        """Which categories have a value that was not there when the columns were measured."""
        return np.zeros(self.categories.shape, bool) if self.unseen is None else self.unseen

    def places(self, column: int, n_levels: int) -> Int[np.ndarray, " n"]:
        """Positions among the levels of a categorical column, then one for values that were never seen, then one
        for empty cells."""
        places = self.categories[:, column]
        return np.where(places >= 0, places, np.where(self.is_unseen[:, column], n_levels, n_levels + 1))

    @property
    def empty(self) -> Bool[np.ndarray, "n m"]:
        """Which cells are empty: numbers first, then categories."""
        return np.concatenate([np.isnan(self.numbers), self.categories < 0], axis=1)

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, rows: Any) -> Cells:
        """Some of the rows."""
        return Cells(self.numbers[rows], self.categories[rows], None if self.unseen is None else self.unseen[rows])


@dataclass(frozen=True)
class Codec:
    """The way from a data frame to numbers and back."""

    schema: Schema
    flags: tuple[int, ...] = ()  # for each column in use the flag that says where it has a value, -1 for none

    @classmethod
    def fit(
        cls, frame: Any, types: Mapping[str, str] | None = None, drop: Sequence[str] = (), log: Sequence[str] = ()
    ) -> Codec:
        """Infer the columns of a frame, see `infer_schema`, and measure them."""
        frame = as_pandas(frame)
        return cls(infer_schema(frame, types, drop, log)).measured(frame)

    def measured(self, frame: Any, transformed: bool = True) -> Codec:
        """With the transform, center and scale of each column of numbers, and the flags, as they are in a frame.
        Skewed columns are transformed, or only those for which it was asked."""
        columns = []
        for column in self.schema.columns:
            if column.is_numeric:
                x = self._numbers_of(frame, column)
                columns.append(_measured(column, x[~np.isnan(x)], transformed))
            else:
                columns.append(column)
        return Codec(Schema(tuple(columns)), _flags(self.read(frame).empty))

    # ---------------------------------------------------------------- cells

    def read(self, frame: Any) -> Cells:
        """The cells of a frame with at least the columns in use."""
        frame = as_pandas(frame)
        self.check(frame)
        numbers = [self._numbers_of(frame, c) for c in self.schema.numeric]
        found = [as_levels(_get(frame, c.name), c) for c in self.schema.categorical]
        n = len(frame)
        numbers = np.stack(numbers, axis=1) if numbers else np.zeros((n, 0))
        if not found:
            return Cells(numbers, np.zeros((n, 0), np.int64))
        categories, unseen = (np.stack(both, axis=1) for both in zip(*found, strict=True))
        return Cells(numbers, categories.astype(np.int64), unseen if unseen.any() else None)

    def check(self, frame: Any) -> None:
        """Refuse a frame without the columns in use."""
        if not hasattr(frame, "columns"):
            raise ValueError("this model was fitted on a data frame: give one with the same columns")
        names = {str(name) for name in frame.columns}
        if missing := [c.name for c in self.schema.columns if c.used and c.name not in names]:
            raise ValueError(f"there is no column {missing[0]!r}, which the model was fitted on")

    def new_values(self, frame: Any) -> dict[str, str]:
        """By categorical column, a value that it did not have before; such cells count as empty."""
        out = {}
        for column in self.schema.categorical:
            values = _get(frame, column.name)
            new = as_levels(values, column)[1]
            if new.any():
                out[column.name] = str(values[new].iloc[0])
        return out

    def unseen(self, frame: Any) -> list[str]:
        """For each row of a frame the categories that columns did not have before, as "area = Coast", or ""."""
        out: list[list[str]] = [[] for _ in range(len(frame))]
        for column in self.schema.categorical:
            values = _get(frame, column.name)
            for row in np.flatnonzero(as_levels(values, column)[1]):
                out[row].append(f"{column.name} = {values.iloc[row]}")
        return ["; ".join(row) for row in out]

    def _numbers_of(self, frame: Any, column: Column) -> Float[np.ndarray, " n"]:
        values = _get(frame, column.name)
        try:
            if column.kind == "date" and _became_numbers(values, column):
                raise ValueError("these are no dates")
            x = as_days(values, column.date_format) if column.kind == "date" else as_numbers(values)
        except (ValueError, TypeError):
            form = f" like {EXAMPLE_DATE:{column.date_format}}" if column.date_format else ""
            raise ValueError(f"column {column.name!r} must hold {column.kind}s{form}, as it did before") from None
        if np.isinf(x).any():
            raise ValueError(infinity_in(column.name, x))
        return x

    # ---------------------------------------------------------------- features

    @property
    def feature_names(self) -> tuple[str, ...]:
        """A name for each feature."""
        names = [c.name for c in self.schema.numeric]
        names += [f"{c.name}={level}" for c in self.schema.categorical for level in c.levels]
        return (*names, *(f"{self.used[j].name} exists" for j in self._first_of_flags()))

    @property
    def used(self) -> tuple[Column, ...]:
        """The columns in use: numbers first, then categories, as in `Cells.empty`."""
        return (*self.schema.numeric, *self.schema.categorical)

    @property
    def n_plain(self) -> int:
        """Features before the flags."""
        return len(self.schema.numeric) + sum(len(c.levels) for c in self.schema.categorical)

    def features(self, cells: Cells) -> Float[np.ndarray, "n f"]:
        """Cells as features without a gap: numbers around 0 with deviation 1, a feature for each level of a
        categorical column, and flags. Empty cells have the mean, and no level."""
        numbers = self.scaled(cells.numbers)
        blocks = [np.where(np.isnan(numbers), 0.0, numbers)]
        for j, column in enumerate(self.schema.categorical):
            blocks.append((cells.categories[:, [j]] == np.arange(len(column.levels))).astype(float))
        blocks.append((~cells.empty[:, self._first_of_flags()]).astype(float))
        return np.concatenate(blocks, axis=1)

    def _first_of_flags(self) -> list[int]:
        return [self.flags.index(flag) for flag in range(max(self.flags, default=-1) + 1)]

    def scaled(self, numbers: Float[np.ndarray, "n p"]) -> Float[np.ndarray, "n p"]:
        """Numbers transformed, around 0, with deviation 1."""
        out = np.empty_like(numbers)
        for j, column in enumerate(self.schema.numeric):
            out[:, j] = (forward(numbers[:, j], column.transform, column.unit) - column.center) / column.scale
        return out

    def cells(self, features: Float[np.ndarray, "n f"]) -> Cells:
        """The cells that features stand for: numbers in their units, the likeliest level of each categorical
        column. None is empty: what does not exist is for the tree to say."""
        numeric, categorical = self.schema.numeric, self.schema.categorical
        numbers = np.zeros((len(features), len(numeric)))
        for j, column in enumerate(numeric):
            transformed = features[:, j] * column.scale + column.center
            numbers[:, j] = backward(transformed, column.transform, column.unit)
        places, start = [], len(numeric)
        for column in categorical:
            places.append(features[:, start : start + len(column.levels)].argmax(axis=1))
            start += len(column.levels)
        empty = np.zeros((len(features), 0), np.int64)
        return Cells(numbers, np.stack(places, axis=1).astype(np.int64) if places else empty)

    # ---------------------------------------------------------------- back

    def frame(self, cells: Cells) -> Any:
        """Cells as a data frame with the columns, types and categories of the one that was fitted.

        Constant columns have their value; identifiers and texts, which no model knows, are empty, or "given" where
        it is known that there is one.
        """
        import pandas as pd

        out, i, j = {}, 0, 0
        for column in self.schema.columns:
            if column.is_numeric:
                out[column.name] = _as_dtype(cells.numbers[:, i], column)
                i += 1
            elif column.is_categorical:
                out[column.name] = _as_levels_dtype(cells.categories[:, j], column)
                j += 1
            elif column.kind == "constant":
                value = json.loads(column.fill)
                out[column.name] = pd.Series([value] * len(cells)).astype(_plain_dtype(column.dtype))
            elif column.kind != "dropped":
                out[column.name] = pd.Series([None] * len(cells), dtype=object)
        return pd.DataFrame(out, columns=pd.Index(list(out)))

    # ---------------------------------------------------------------- saving

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {**self.schema.to_dict(), "flags": list(self.flags)}

    @classmethod
    def from_dict(cls, about: Mapping[str, Any]) -> Codec:
        """What `to_dict` gave."""
        return cls(Schema.from_dict(about), tuple(about.get("flags", ())))

    def with_empty(self, meanings: Mapping[str, str]) -> Codec:
        """With what the empty cells of columns mean, by their names: "absent" or "random"."""
        columns = (replace(c, empty=meanings.get(c.name, c.empty)) for c in self.schema.columns)
        return replace(self, schema=Schema(tuple(columns)))


def _flags(empty: Bool[np.ndarray, "n m"]) -> tuple[int, ...]:
    """A number for each set of rows in which columns are empty."""
    seen: dict[bytes, int] = {}
    return tuple(seen.setdefault(np.packbits(rows).tobytes(), len(seen)) if rows.any() else -1 for rows in empty.T)


def _became_numbers(values: Any, column: Column) -> bool:
    """Whether there are numbers where there was something else."""
    from pandas.api import types

    return bool(
        types.is_numeric_dtype(values.dtype)
        and values.notna().any()
        and not column.dtype.lower().startswith(("int", "uint", "float"))
    )


def _get(frame: Any, name: str) -> Any:
    """A column by its name as text."""
    if name in frame.columns:
        return frame[name]
    return frame[next(own for own in frame.columns if str(own) == name)]


def _measured(column: Column, x: Float[np.ndarray, " n"], transformed: bool) -> Column:
    transform, unit = column.transform, column.unit
    if transform == "log":  # as asked
        unit = 0.0 if x.min() > 0 else float(np.median(x[x > 0]))
    elif transformed and column.kind != "date":
        transform, unit = choose_scale(x)
    else:
        transform, unit = "none", 1.0
    t = forward(x, transform, unit)
    first = t[0]
    center = float(first + (t - first).mean())
    scale = deviation(t - first)
    return replace(column, transform=transform, unit=unit, center=center, scale=scale or 1.0)


def _as_dtype(x: Float[np.ndarray, " n"], column: Column) -> Any:
    """Numbers as they were in the frame: rounded if whole, dates as dates."""
    import pandas as pd

    empty = np.isnan(x)
    if column.kind == "date":
        days = np.where(empty, 0.0, x)
        dates = pd.Series(pd.to_datetime((days * DAY).astype(np.int64)))
        dates = dates.mask(empty)
        if column.dtype.startswith("datetime64"):
            zone = column.dtype.partition(", ")[2].rstrip("]")
            return dates.dt.tz_localize("UTC").dt.tz_convert(zone) if zone else dates.astype(column.dtype)
        form = column.date_format or "%Y-%m-%d"  # as it is read again
        return (dates.dt.tz_localize("UTC") if "%z" in form else dates).dt.strftime(form).astype(object)
    if column.kind == "integer":
        x = np.round(x)
    dtype = column.dtype.lower()
    if dtype.startswith(("int", "uint")):
        if column.dtype[0] in "IU":  # pandas' own, which have empty cells
            return pd.Series(x).astype(column.dtype)
        limits = np.iinfo(column.dtype)
        low, high = max(limits.min, -INTEGER_LIMIT), min(limits.max, INTEGER_LIMIT)
        return pd.Series(x) if empty.any() else pd.Series(np.clip(x, low, high)).astype(column.dtype)
    return pd.Series(x).astype(column.dtype) if dtype.startswith("float") else pd.Series(x)


def _as_levels_dtype(places: Int[np.ndarray, " n"], column: Column) -> Any:
    """Levels as they were in the frame; `category` keeps its categories, numbers are numbers."""
    import pandas as pd

    empty = places < 0
    text = np.array([*column.levels, ""], dtype=object)[places]
    dtype = "object" if column.kind == "given" else column.dtype
    if dtype == "category":
        categories = list(column.levels)
        return pd.Series(
            pd.Categorical(
                [None if e else t for t, e in zip(text, empty, strict=True)], categories, column.kind == "ordinal"
            )
        )
    if dtype.lower().startswith(("bool",)):
        values = pd.Series([None if e else t == "True" for t, e in zip(text, empty, strict=True)], dtype="boolean")
        return values if dtype == "boolean" or empty.any() else values.astype(bool)
    if dtype.lower().startswith(("int", "uint", "float")):
        numbers = np.array([np.nan if e else float(t) for t, e in zip(text, empty, strict=True)])
        if dtype[0] in "IUF" or dtype.startswith("float") or not empty.any():
            return pd.Series(numbers).astype(dtype)
        return pd.Series(numbers)
    text[empty] = None
    return pd.Series(text, dtype=_plain_dtype(dtype))


def _plain_dtype(dtype: str) -> Any:
    """A dtype that pandas can make from its name."""
    return object if dtype in ("object", "category") else dtype
