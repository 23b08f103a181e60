"""Tables: .csv, .tsv and .parquet files, with a policy for what is not a number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from disentree.datasets.table_files import Table, open_table
from disentree.datasets.user_data import UserData, make_vectors, without_missing
from disentree.datasets.wording import columns_in_words, some_of
from disentree.errors import UserError
from disentree.tables.cells import read_cells

MAX_LEVELS = 20  # text columns with more values than this are dropped even with categorical="onehot"
FEWEST_COUNTED = 10  # fewer values may be one step apart by chance


def load_table(
    path: Path,
    categorical: str,
    drop: tuple[str, ...],
    max_missing: float,
    scaled: bool,
) -> UserData:
    """The numbers of a table; see `disentree.datasets.load_file` for the parameters."""
    table = open_table(path)
    frame = next(table.frames(), None)
    if frame is None or not len(frame.columns) or not len(frame):
        raise UserError(f"{path} has no rows")
    policy = list(table.notes)
    frame = with_numbers(frame, table, policy)
    for name in drop:
        if name not in frame.columns:
            raise UserError(f"{path} has no column {name!r} to drop; it has {some_of(map(str, frame.columns))}")
    if drop:
        frame = frame.drop(columns=list(drop))
        policy.append(f"left out {columns_in_words(drop)}: as asked")
    columns, names, levels = _numeric_columns(frame, categorical, policy)
    if not columns:
        raise UserError(f"{path} has no numeric column{'; ' + policy[-1] if policy else ''}")
    if repeated := [name for i, name in enumerate(names) if name in names[:i]]:
        raise UserError(f"{path}: two columns would be called {repeated[0]!r}: rename one")
    values = np.stack(columns, axis=1)
    X, kept, rows = without_missing(values, names, max_missing, policy, path)
    policy.extend(
        f"column {names[j]!r} counts the rows: leave it out with --drop {names[j]}"
        for j in kept
        if _counts_rows(values[:, j])
    )
    data = make_vectors(path, "table", X, [names[i] for i in kept], rows, scaled, policy)
    return replace(data, levels=levels)


def with_numbers(frame: Any, table: Table, policy: list[str]) -> Any:
    """The frame with columns of text that are numbers as such; `policy` gets a sentence for each of them."""
    from pandas.api import types

    decimal = "," if table.style is not None and table.style.decimal == "," else None
    read = {}
    for name, column in frame.items():
        if types.is_object_dtype(column) or types.is_string_dtype(column):
            found = None if _holds_lists(column) else read_cells(column, decimal)
            if found is not None:
                read[name] = found.values
                policy.append(f"column {name!r}: {found.note or 'text read as numbers'}")
    return frame.assign(**read) if read else frame


def _numeric_columns(
    frame: Any, categorical: str, policy: list[str]
) -> tuple[list[Float[np.ndarray, " n"]], list[str], dict[str, tuple[str, ...]]]:
    """Columns, their names, and the values of those that became zeros and ones."""
    from pandas.api import types

    columns: list[np.ndarray] = []
    names: list[str] = []
    skipped: list[str] = []
    hot: dict[str, tuple[str, ...]] = {}
    for name, column in frame.items():
        if types.is_numeric_dtype(column) and not types.is_bool_dtype(column):
            if types.is_complex_dtype(column):
                raise UserError(f"column {name!r} holds complex numbers; give real and imaginary parts")
            columns.append(column.to_numpy(dtype=np.float64, na_value=np.nan))
            names.append(name)
        elif categorical == "onehot" and not types.is_datetime64_any_dtype(column) and not _holds_lists(column):
            levels = sorted(map(str, column.dropna().unique()))
            if len(levels) > MAX_LEVELS:
                policy.append(f"left out column {name!r}: {len(levels)} different values, more than {MAX_LEVELS}")
                continue
            hot[name] = tuple(levels)
            # two values need one column: the other would be its mirror image
            shown = levels[1:] if len(levels) == 2 else levels
            made = zeros_and_ones(column, shown)
            columns.extend(made.values())
            names.extend(made)
            policy.append(f"column {name!r} became {len(shown)} column{'s' * (len(shown) != 1)} of zeros and ones")
        else:
            skipped.append(name)
    if skipped:
        hint = "" if categorical == "onehot" else " (onehot would turn {} into columns of zeros and ones)"
        hint = hint.format("it" if len(skipped) == 1 else "them")
        policy.append(f"left out {columns_in_words(skipped)}: not numbers{hint}")
    return columns, names, hot


def _holds_lists(column: Any) -> bool:
    """Whether cells have lists or tables in them, as a .parquet may."""
    return any(isinstance(value, list | dict | np.ndarray) for value in column)


def _counts_rows(column: Float[np.ndarray, " n"]) -> bool:
    """Whether these are whole numbers one step apart, in any order, as an identifier's are."""
    there = np.sort(column[np.isfinite(column)])
    if len(there) < FEWEST_COUNTED or (there != np.round(there)).any():
        return False
    steps = np.diff(there)
    return bool(steps[0] > 0 and (steps == steps[0]).all())


def zeros_and_ones(column: Any, levels: Sequence[str]) -> dict[str, Float[np.ndarray, " n"]]:
    """A column for each of these values of a pandas column, by name; NaN where the value is missing."""
    missing = column.isna().to_numpy()
    text = column.astype(str).to_numpy()
    return {
        f"{column.name}={level}": np.where(missing, np.nan, (text == level).astype(np.float64)) for level in levels
    }
