"""What kind of column each is, from its values alone; names say nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int, Integer

from disentree.tables.cells import read_cells
from disentree.tables.column import KINDS, Column, Schema
from disentree.tables.dates import as_days, date_format_of, date_note, looks_like_dates

FEWEST_COUNTED = 10  # fewer whole numbers may be one step apart by chance
FEWEST_UNIQUE = 20  # fewer texts may all differ without being names of the rows
MOST_LEVELS = 50  # of a category; with more, rows that share a value are too few to say something about it
GIVEN_EMPTY = 0.1  # of the cells of names or texts, for their being there to say something about rows
GIVEN = "given"


def infer_schema(
    frame: Any, types: Mapping[str, str] | None = None, drop: Sequence[str] = (), log: Sequence[str] = ()
) -> Schema:
    """The kind of every column of a data frame, and which are left out: `types` has kinds that are not to be
    inferred, `drop` columns to leave out, and `log` those of positive numbers whose logarithm is to be taken.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"sex": ["f", "m", "f"], "age": [31.5, 40, 52], "site": "north"})
    >>> [column.kind for column in infer_schema(frame).columns]
    ['category', 'number', 'constant']
    """
    types = dict(types or {})
    names = [str(name) for name in frame.columns]
    if repeated := [name for i, name in enumerate(names) if name in names[:i]]:
        raise ValueError(f"two columns are called {repeated[0]!r}: rename one")
    for name in (*types, *drop, *log):
        if name not in names:
            shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
            raise ValueError(f"there is no column {name!r}; there are {shown}")
    for name, kind in types.items():
        if kind not in KINDS:
            raise ValueError(f"the kind of {name!r} must be one of {', '.join(KINDS)}, got {kind!r}")
    columns = []
    for name, (_, values) in zip(names, frame.items(), strict=True):
        if name in drop:
            column = Column(name, "dropped", str(values.dtype), "as asked", n_empty=int(values.isna().sum()))
        else:
            column = _column(name, values, types.get(name))
        if name in log:
            column = _with_log(column, values)
        columns.append(column)
    return Schema(tuple(_as_array(columns)))


def _as_array(columns: Sequence[Column]) -> Sequence[Column]:
    """A table of numbers without an empty cell is an array: whole numbers with two values are numbers there,
    unless half of the columns have two, as answers of yes and no do."""
    used = [column for column in columns if column.used]
    numbers = [column for column in used if column.kind in ("number", "integer")]
    flags = [
        column for column in used if column.kind == "boolean" and column.was_numbers and column.note != "as asked"
    ]
    if len(numbers) + len(flags) < len(used) or len(numbers) <= len(flags) or any(c.n_empty for c in used):
        return columns
    return [replace(c, kind="integer", note="", levels=()) if c in flags else c for c in columns]


def _with_log(column: Column, values: Any) -> Column:
    if not column.is_numeric or column.kind == "date":
        raise ValueError(f"no logarithm of {column.name!r}: it is no column of numbers but {column.kind}")
    numbers = as_numbers(values)
    if np.nanmin(numbers) < 0:
        raise ValueError(f"no logarithm of {column.name!r}: it has values below 0, such as {np.nanmin(numbers):g}")
    return replace(column, transform="log", note="as asked")


def _column(name: str, values: Any, asked: str | None) -> Column:
    """What one column is."""
    from pandas.api import types

    dtype, empty = str(values.dtype), values.isna().to_numpy()
    n_empty = int(empty.sum())
    about: dict[str, Any] = {"name": name, "dtype": dtype, "n_empty": n_empty}
    if n_empty == len(values):
        return Column(kind="empty", note="every cell is empty", **about)
    if asked is not None:
        return _as_asked(asked, values, about)
    if holds_lists(values):
        return Column(kind="text", note="its cells are lists or tables", **about)
    if types.is_bool_dtype(values.dtype):
        return _categorical("boolean", values, about)
    if isinstance(values.dtype, types.CategoricalDtype):
        kind = "ordinal" if values.cat.ordered else "category"
        return _categorical(kind, values, about)
    if types.is_datetime64_any_dtype(values.dtype):
        return _numeric("date", as_numbers(values), about)
    if types.is_complex_dtype(values.dtype):
        raise ValueError(f"column {name!r} holds complex numbers; give real and imaginary parts")
    if types.is_integer_dtype(values.dtype) and merges(values.dropna().to_numpy()):
        note = "whole numbers that 64-bit floats cannot tell apart: subtract one of them first"
        return Column(kind="identifier", note=note, **about)
    if types.is_numeric_dtype(values.dtype) or types.is_timedelta64_dtype(values.dtype):
        return _numeric("number", as_numbers(values), about)
    return _of_text(values, about)


def _as_asked(asked: str, values: Any, about: dict[str, Any]) -> Column:
    if asked in ("category", "ordinal", "boolean"):
        column = _categorical(asked, values, about)
        if asked == "boolean" and len(column.levels) > 2:
            raise ValueError(f"{about['name']!r} has {len(column.levels)} values, more than a boolean's two")
        return replace(column, note="as asked")
    if asked == GIVEN:
        return Column(kind=GIVEN, note="as asked", levels=(GIVEN,), **about)
    form = date_format_of(values) if asked == "date" else ""
    try:
        numbers = as_days(values, form) if asked == "date" else as_numbers(values)
    except (ValueError, TypeError):
        raise ValueError(
            f"{about['name']!r} does not hold {asked}s: its values are of type {about['dtype']}"
        ) from None
    n_empty = int(np.isnan(numbers).sum())
    return replace(Column(kind=asked, note="as asked", date_format=form, **about), n_empty=n_empty)


def _of_text(values: Any, about: dict[str, Any]) -> Column:
    """A column of text: numbers, truth values or dates in disguise, categories, names, or sentences."""
    text = values.dropna().astype(str)
    levels = sorted(text.unique())
    if set(map(str.lower, levels)) <= {"true", "false"}:
        return _categorical("boolean", values, about)
    read = read_cells(values)
    if read is not None:
        column = _numeric("number", read.values, about | {"n_empty": int(np.isnan(read.values).sum())})
        note = read.note or "text read as numbers"
        return replace(column, note=f"{note}; {column.note}" if column.note else note)
    if looks_like_dates(text):
        form = date_format_of(values)
        try:
            days = as_days(values, form)
        except (ValueError, TypeError):
            days = None
        if days is not None:
            column = _numeric("date", days, about | {"n_empty": int(np.isnan(days).sum())})
            return replace(column, note=date_note(form), date_format=form)
    if len(levels) == len(text) and len(text) >= FEWEST_UNIQUE:
        return _without_values("identifier", "a different text in every row", len(values), about)
    if len(levels) > MOST_LEVELS:
        note = f"{len(levels)} different texts, more than {MOST_LEVELS}"
        return _without_values("text", note, len(values), about)
    return _categorical("category", values, about)


def infinity_in(name: str, numbers: Float[np.ndarray, " n"], start: int = 0) -> str:
    """What is said about a column with infinite cells; `start` is the number of its first row."""
    rows = start + np.flatnonzero(np.isinf(numbers))
    where = f"in row {rows[0]}" if len(rows) == 1 else f"in {len(rows):,} rows, the first is row {rows[0]}"
    return (
        f"column {name!r} contains infinity {where}, counted from 0: make such cells numbers, or leave them empty"
    )


def _numeric(kind: str, numbers: Float[np.ndarray, " n"], about: dict[str, Any]) -> Column:
    there = numbers[~np.isnan(numbers)]
    if np.isinf(there).any():
        raise ValueError(infinity_in(about["name"], numbers))
    distinct = np.unique(there)
    if len(distinct) == 1 and len(there) == len(numbers):
        fill = json.dumps(float(distinct[0]))
        return Column(kind="constant", note=f"{distinct[0]:g} in every row", fill=fill, **about)
    if kind == "date":
        return Column(kind="date", note="as days", **about)
    whole = is_whole(distinct)
    if whole and len(distinct) <= 2:
        levels = tuple(f"{value:g}" for value in distinct)
        return Column(
            kind="boolean", note="two values" if len(levels) == 2 else "one value or none", levels=levels, **about
        )
    if whole and counts_rows(there):
        return _without_values("identifier", "counts the rows", len(numbers), about)
    return Column(kind="integer" if whole else "number", **about)


def _without_values(kind: str, note: str, n_rows: int, about: dict[str, Any]) -> Column:
    """A column whose values say nothing about how rows are alike; whether it has one may do."""
    if about["n_empty"] < GIVEN_EMPTY * n_rows:
        return Column(kind=kind, note=note, **about)
    note = f"{note.replace('every row', 'every row that has one')}: only whether there is one is used"
    return Column(kind=GIVEN, note=note, levels=(GIVEN,), **about)


def is_whole(x: Float[np.ndarray, " n"]) -> bool:
    """Whether numbers are whole, and not only so large that floats have no fractions there."""
    return bool((x == np.round(x)).all() and (not len(x) or np.abs(x).max() <= 2.0**53))


def merges(whole: Integer[np.ndarray, "..."]) -> bool:
    """Whether different whole numbers are the same as floats, as those near 2**63 are that differ by little."""
    if not whole.size or whole.dtype.itemsize < 8 or max(abs(int(whole.min())), int(whole.max())) <= 2**53:
        return False
    columns = whole.reshape(len(whole), -1).T
    return any(len(np.unique(x.astype(np.float64))) < len(np.unique(x)) for x in columns)


def counts_rows(there: Float[np.ndarray, " n"]) -> bool:
    """Whether these are whole numbers one step apart, in any order, as those of an identifier are."""
    there = np.sort(there)
    if len(there) < FEWEST_COUNTED:
        return False
    steps = np.diff(there)
    return bool(steps[0] > 0 and (steps == steps[0]).all())


def _categorical(kind: str, values: Any, about: dict[str, Any]) -> Column:
    from pandas.api import types

    if isinstance(values.dtype, types.CategoricalDtype):
        levels = tuple(map(str, values.cat.categories))
    else:
        there = values.dropna().unique()
        try:
            levels = tuple(str(value) for value in sorted(there))
        except TypeError:  # values that cannot be compared
            levels = tuple(sorted(map(str, there)))
    there = set(values.dropna().astype(str))
    if len(there) == 1 and not about["n_empty"]:
        return Column(kind="constant", note=f"{min(there)!r} in every row", fill=json.dumps(min(there)), **about)
    return Column(kind=kind, levels=levels, **about)


def as_numbers(values: Any) -> Float[np.ndarray, " n"]:
    """A column of numbers, dates or text that reads as numbers, as floats; days for dates; NaN where empty."""
    import pandas as pd
    from pandas.api import types

    if types.is_datetime64_any_dtype(values.dtype):
        return as_days(values)
    if types.is_timedelta64_dtype(values.dtype):
        return (values / pd.Timedelta(days=1)).to_numpy(dtype=np.float64, na_value=np.nan)
    if types.is_numeric_dtype(values.dtype):
        return values.to_numpy(dtype=np.float64, na_value=np.nan)
    if isinstance(values.dtype, types.CategoricalDtype):
        values = values.astype(values.cat.categories.dtype)
        return as_numbers(values)
    read = read_cells(values)
    if read is not None:
        return read.values
    return values.astype(object).where(values.notna(), np.nan).to_numpy(dtype=np.float64)


def as_levels(values: Any, column: Column) -> tuple[Int[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
    """Positions of values among the levels of a column, -1 where empty or new; and which are new."""
    from pandas.api import types

    levels = column.levels
    if column.kind == GIVEN:
        empty = values.isna().to_numpy()
        return np.where(empty, -1, 0), np.zeros(len(values), bool)
    if types.is_numeric_dtype(values.dtype) and not types.is_bool_dtype(values.dtype):
        numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
        text = np.array([f"{v:g}" if not np.isnan(v) else "" for v in np.unique(numbers)], dtype=object)
        places = np.array([_place(t, levels) for t in text])
        found = places[np.unique(numbers, return_inverse=True)[1].reshape(-1)]
    else:
        text = values.astype(str).to_numpy(dtype=object)
        distinct, inverse = np.unique(text.astype(str), return_inverse=True)
        found = np.array([_place(t, levels) for t in distinct])[inverse.reshape(-1)]
    empty = values.isna().to_numpy()
    return np.where(empty, -1, found), (found < 0) & ~empty


def _place(text: str, levels: Sequence[str]) -> int:
    for i, level in enumerate(levels):
        if text == level or (text.lower() == level.lower() and level.lower() in ("true", "false")):
            return i
    try:  # 1 and 1.0 are the same value
        number = float(text)
    except ValueError:
        return -1
    for i, level in enumerate(levels):
        try:
            if float(level) == number:
                return i
        except ValueError:
            continue
    return -1


def holds_lists(values: Any) -> bool:
    """Whether cells have lists or tables in them, as a .parquet may."""
    return values.dtype == object and any(isinstance(value, list | dict | set | np.ndarray) for value in values)
