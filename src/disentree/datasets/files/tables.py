"""Tables: .csv, .tsv and .parquet files with columns of any kind, and what is said about them.

No row and no column is left out silently. Columns that say nothing about how rows are alike (identifiers, constant
and empty columns, free text) are left out and named; empty cells stay empty.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from disentree.datasets.files.table_files import Table
from disentree.datasets.files.user_data import UserData, center_and_scale, is_constant, make_vectors
from disentree.datasets.files.wording import columns_in_words, some_of
from disentree.errors import UserError
from disentree.tables import Codec, Column, Schema, infer_schema
from disentree.tables.cells import read_cells
from disentree.tables.kinds import holds_lists

GAP = 1000  # a value this many times as far from the median as all others is a mistake in any unit
LARGEST, SMALLEST = 1e100, 1e-100  # squares of other numbers are not numbers that float64 has
MOST_WRONG = 0.001  # of a column's cells, that may be such mistakes; one may be in any column
_WORDS = {"number": "numbers", "integer": "whole numbers", "date": "dates", "category": "categories"}
_WORDS |= {"ordinal": "ordered categories", "boolean": "two values", "given": "given or not"}


def load_table(
    table: Table,
    types: Mapping[str, str],
    drop: Sequence[str],
    log: Sequence[str],
    max_missing: float,
    scaled: bool,
    most_rows: int | None = None,
) -> tuple[UserData, int]:
    """A table, or its first rows, and how many were read; for the parameters see `load_file`."""
    drop, log = (split_names(words, table.columns) for words in (drop, log))
    frame = next(table.frames(most_rows, as_text=text_columns(types)), None)
    if frame is None or not len(frame.columns) or not len(frame):
        raise UserError(f"{table.path} has no rows")
    policy = list(table.notes)
    frame = with_numbers(frame, table, types, policy)
    return table_data(table.path, frame, policy, types, drop, log, max_missing, scaled), len(frame)


def table_data(
    path: Path,
    frame: Any,
    policy: list[str],
    types: Mapping[str, str] | None = None,
    drop: Sequence[str] = (),
    log: Sequence[str] = (),
    max_missing: float = 1.0,
    scaled: bool = True,
) -> UserData:
    """A data frame, which errors call `path`, as `UserData`: its columns in use, what they are, and their features
    without a gap. `policy` has what was said about it already; for the others see `disentree.datasets.load_file`.
    """
    frame = _without_mistakes(frame, policy)
    try:
        schema = infer_schema(frame, types or {}, drop, log)
    except ValueError as error:
        raise UserError(f"{path}: {error}") from None
    schema = _without_constant(_without_sparse(schema, len(frame), max_missing), frame)
    policy.extend(left_out_in_words(schema))
    used = [column.name for column in schema.columns if column.used]
    if not used:
        raise UserError(f"{path} has no column to work with: {policy[-1] if policy else 'it has none'}")
    there = frame[used].notna().any(axis=1).to_numpy()
    rows = None
    if not there.all():
        n_empty = f"{int((~there).sum()):,} of {len(frame):,} rows"
        policy.append(f"left out {n_empty}: all cells of the columns that are used are empty")
        frame, rows = frame[there].reset_index(drop=True), np.flatnonzero(there)
    frame = frame[used]
    if n_again := int(frame.duplicated().sum()):
        policy.append(f"{n_again:,} of {len(frame):,} rows are the same as an earlier row, and are kept")
    plain = Schema(tuple(column for column in schema.columns if column.used)).is_plain
    if not plain and not scaled:
        raise UserError(f"{path}: only numbers without empty cells can be taken without standardizing them")
    names = [column.name for column in schema.columns if column.is_numeric]
    if plain and not log:
        X = frame[used].to_numpy(dtype=np.float64)
        data = make_vectors(path, "table", X, used, np.arange(len(X)), scaled, policy)
        return replace(data, rows=rows, frame=frame, schema=_with_scales(schema, X))
    _check_magnitudes(frame, names, path)
    policy.extend(_used_in_words(schema))
    codec = _measured(schema, frame, path, transformed=not plain)
    X = codec.features(codec.read(frame))
    about = {"frame": frame, "schema": codec.schema, "codec": codec}
    return UserData(path.stem, "table", X, tuple(policy), codec.feature_names, rows, **about)


def _with_scales(schema: Schema, X: Float[np.ndarray, "n d"]) -> Schema:
    """The center and scale of each column of numbers, whatever its magnitude."""
    measured = iter(zip(*center_and_scale(X), strict=True))
    columns = []
    for column in schema.columns:
        if column.used:
            center, scale = next(measured)
            column = replace(column, center=float(center), scale=float(scale))
        columns.append(column)
    return Schema(tuple(columns))


def _measured(schema: Schema, frame: Any, path: Path, transformed: bool) -> Codec:
    try:
        return Codec(schema).measured(frame, transformed)
    except ValueError as error:
        raise UserError(f"{path}: {error}") from None


def text_columns(types: Mapping[str, str]) -> list[str]:
    """Columns whose cells are taken as they are written: 01 is not 1 in a category."""
    return [name for name, kind in types.items() if kind in ("category", "ordinal")]


def split_names(words: Sequence[str], columns: Sequence[str]) -> list[str]:
    """Names of columns out of words that each hold one, or several with commas between."""
    names: list[str] = []
    for word in words:
        names += [word] if word in columns else [name.strip() for name in word.split(",") if name.strip()]
    return names


def with_numbers(frame: Any, table: Table, types: Mapping[str, str], policy: list[str]) -> Any:
    """The frame with columns of text that are numbers as such; `policy` gets a sentence for each of them."""
    from pandas.api import types as dtypes

    decimal = "," if table.style is not None and table.style.decimal == "," else None
    read = {}
    for name, column in frame.items():
        asked = types.get(name)
        is_text = dtypes.is_object_dtype(column) or dtypes.is_string_dtype(column)
        if not is_text or asked not in (None, "number", "integer") or column.isna().all() or holds_lists(column):
            continue
        found = read_cells(column, decimal, strict=asked is None)
        if found is not None:
            read[name] = found.values
            policy.append(f"column {name!r}: {found.note or 'text read as numbers'}")
    return frame.assign(**read) if read else frame


def _without_mistakes(frame: Any, policy: list[str]) -> Any:
    """The frame with infinite values, and those that hide all others, empty; `policy` gets a sentence for each."""
    from pandas.api import types

    changed = {}
    for name, column in frame.items():
        if not types.is_float_dtype(column) and not types.is_integer_dtype(column):
            continue
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        infinite = np.isinf(values)
        if infinite.any():
            policy.append(f"column {name!r}: {_cells(int(infinite.sum()))} infinite, taken as empty")
            values = np.where(infinite, np.nan, values)
        wrong = far_out(values)
        if wrong.any():
            worst = values[wrong][np.argmax(np.abs(values[wrong]))]
            where = some_of((f"{row + 1:,}" for row in np.flatnonzero(wrong)), 3)
            policy.append(
                f"column {name!r}: {_cells(int(wrong.sum()))} as far out as {worst:.3g}, over {GAP:,} times as "
                f"far as all others, taken as empty (row {where})"
            )
            values = np.where(wrong, np.nan, values)
        if infinite.any() or wrong.any():
            changed[name] = values
    return frame.assign(**changed) if changed else frame


def far_out(values: Float[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
    """Which values are `GAP` times as far from the median as all others: the slips of a keyboard.

    Heavy tails have no such gap. A column that has only a few values, or many so far out, means them.

    Examples
    --------
    >>> far_out(np.r_[np.arange(50.0), 1e12]).nonzero()[0]
    array([50])
    """
    out = np.zeros(len(values), dtype=bool)
    there = np.flatnonzero(np.isfinite(values))
    if len(there) < 20:
        return out
    with np.errstate(over="ignore"):
        distance = np.abs(values[there] - np.median(values[there]))
    order = np.argsort(distance)
    n = max(1, int(MOST_WRONG * len(there)))
    for k in range(1, n + 1):
        rest = distance[order[-k - 1]]
        if rest > 0 and distance[order[-k]] / GAP > rest and len(np.unique(values[there[order[:-k]]])) > 2:
            out[there[order[-k:]]] = True
            break
    return out


def _cells(n: int) -> str:
    return f"{n:,} cell{'s' * (n != 1)}"


def _check_magnitudes(frame: Any, names: Sequence[str], path: Path) -> None:
    from pandas.api import types

    for name in names:
        if types.is_numeric_dtype(frame[name]):
            values = np.abs(frame[name].to_numpy(dtype=np.float64, na_value=np.nan))
            largest = float(np.nanmax(values)) if np.isfinite(values).any() else 1.0
            if largest and not SMALLEST <= largest <= LARGEST:
                raise UserError(f"{path}: column {name!r} has values up to {largest:.3g}: change its unit")


def _without_sparse(schema: Schema, n_rows: int, max_missing: float) -> Schema:
    columns = []
    for column in schema.columns:
        if column.used and column.n_empty > max_missing * n_rows:
            note = f"more than {max_missing:.0%} of the cells empty"
            column = Column(column.name, "dropped", column.dtype, note, n_empty=column.n_empty)
        columns.append(column)
    return Schema(tuple(columns))


def _without_constant(schema: Schema, frame: Any) -> Schema:
    """Values that differ by rounding only are one value."""
    columns = []
    for column in schema.columns:
        if column.kind == "number" and not column.n_empty and "float" in column.dtype.lower():
            values = frame[column.name].to_numpy(dtype=np.float64)
            if is_constant(values[:, None])[0]:
                note, fill = f"{values[0]:g} in every row", json.dumps(float(values[0]))
                column = Column(column.name, "constant", column.dtype, note, fill=fill)
        columns.append(column)
    return Schema(tuple(columns))


def left_out_in_words(schema: Schema) -> list[str]:
    """One sentence for all columns that are left out for the same reason."""
    reasons: dict[str, list[str]] = {}
    for column in schema.left_out:
        is_name = column.kind == "identifier"
        reasons.setdefault(f"{'an identifier, ' * is_name}{column.note}", []).append(column.name)
    return [f"left out {columns_in_words(names)}: {reason}" for reason, names in reasons.items()]


def _used_in_words(schema: Schema) -> list[str]:
    kinds: dict[str, int] = {}
    for column in schema.columns:
        if column.used:
            kinds[column.kind] = kinds.get(column.kind, 0) + 1
    shown = ", ".join(f"{n} of {_WORDS[kind]}" for kind, n in kinds.items())
    n = sum(kinds.values())
    out = [f"{n} column{'s' * (n != 1)}: {shown}"]
    empty = [(column.n_empty, column.name) for column in schema.columns if column.used and column.n_empty]
    if empty:
        most = some_of((f"{name!r} {n:,}" for n, name in sorted(empty, reverse=True)), 4)
        out.append(f"{len(empty)} column{'s' * (len(empty) != 1)} with empty cells, which stay empty: {most}")
    return out
