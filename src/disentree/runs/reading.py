"""Files of rows, read a block at a time, so that memory does not grow with the file."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Shaped

from disentree.datasets.table_files import open_table
from disentree.datasets.tables import zeros_and_ones
from disentree.errors import UserError
from disentree.training.data import rows_per_block
from disentree.utils.arrays import Layout, array_names, open_archive, open_array, open_member

log = logging.getLogger(__name__)


def read_blocks(source: Path, about: dict[str, Any]) -> Iterator[Shaped[np.ndarray, "n ..."]]:
    """Rows as the run's model knows them: the same columns, standardized as they were for training."""
    step = rows_per_block(tuple(about["shape"]))
    suffix = source.suffix.lower()
    if suffix == ".npy":
        with open_array(source) as (file, layout):
            yield from _array_blocks(file, layout, source, about, step)
        return
    if suffix == ".npz":
        yield from _archived_blocks(source, about, step)
        return
    for block in _table_blocks(source, about, step):
        _check_shape(block.shape, about, source)
        yield _standardized(block, about)


def _standardized(block: Shaped[np.ndarray, "n ..."], about: dict[str, Any]) -> Shaped[np.ndarray, "n ..."]:
    if about["kind"] != "images":  # whole numbers too, as in training
        block = block.astype(np.float64, copy=False)
    elif block.dtype != np.uint8:
        block = block.astype(np.float32)
    if about.get("columns") is not None:  # of an array, some of whose columns were left out
        block = block[:, about["columns"]]
    if about["scale"] is None:
        return block
    return (block - np.array(about["center"])) / np.array(about["scale"])


def check_layout(layout: Layout, path: Path, about: dict[str, Any]) -> int:
    """How many rows an array has, or an error if they are not of the kind that the run was made from."""
    if about["kind"] == "table":
        names = ", ".join(about["feature_names"][:3])
        raise UserError(f"the run was made from a table with columns {names} ...: give a table")
    if layout.dtype.kind not in "biuf":
        raise UserError(
            f"{path} must hold real numbers, got {'text' if layout.dtype.kind in 'SU' else layout.dtype}"
        )
    if layout.by_columns and len(layout.shape) > 1:
        raise UserError(f"{path} is stored by columns and must be by rows: np.save(file, np.ascontiguousarray(X))")
    if not layout.shape:
        raise UserError(f"{path} holds a single number")
    _check_shape(layout.shape, about, path)
    return layout.shape[0]


def read_rows(
    file: Any, layout: Layout, path: Path, about: dict[str, Any], n: int, skip: int = 0
) -> Shaped[np.ndarray, "n ..."]:
    """The next `n` rows of an array after `skip` others, prepared as they were for training."""
    row = layout.dtype.itemsize * math.prod(layout.shape[1:])
    if skip:
        file.seek(skip * row, os.SEEK_CUR)
    data = file.read(n * row)
    if len(data) < n * row:
        raise UserError(f"{path} is cut short: it ends before its last row")
    block = np.frombuffer(data, layout.dtype).reshape(n, *layout.shape[1:])
    return _standardized(block.reshape(n, *about["shape"]) if _is_one_channel(layout.shape) else block, about)


def _check_shape(got: tuple[int, ...], about: dict[str, Any], path: Path) -> None:
    asked = tuple(about["shape"]) if about.get("n_columns") is None else (about["n_columns"],)
    if (got[1:-1] if _is_one_channel(got) else got[1:]) != asked:
        raise UserError(f"{path} has rows of shape {got[1:]}; the run was made from rows of shape {asked}")


def _is_one_channel(shape: tuple[int, ...]) -> bool:
    """Of images with an axis for their only channel, which training leaves out."""
    return len(shape) == 4 and shape[3] == 1


def _check_width(n_columns: int, about: dict[str, Any], path: Path) -> None:
    """Of a table without names that the run knows; what is in its columns comes later."""
    if len(about["shape"]) > 1:
        size = "x".join(map(str, about["shape"]))
        raise UserError(f"{path} is a table, the run needs images of {size}")
    asked = about.get("n_columns") or about["shape"][0]
    if n_columns != asked:
        raise UserError(f"{path} has {n_columns} column{'s' * (n_columns != 1)}, the run needs {asked}")


def _array_blocks(file: Any, layout: Layout, path: Path, about: dict[str, Any], step: int) -> Iterator[np.ndarray]:
    n_rows = check_layout(layout, path, about)
    for start in range(0, n_rows, step):
        yield read_rows(file, layout, path, about, min(step, n_rows - start))


def _archived_blocks(path: Path, about: dict[str, Any], step: int) -> Iterator[np.ndarray]:
    with open_archive(path) as archive:
        names = array_names(archive)
        name = "X" if "X" in names else names[0] if len(names) == 1 else None
        if name is None:
            raise UserError(f"{path} must have an array 'X', or only one array")
        with open_member(archive, name, path) as (file, layout):
            yield from _array_blocks(file, layout, path, about, step)


Levels = dict[str, list[str]]  # by column: its values, each of which is a feature of zeros and ones


def _levels_in_use(about: dict[str, Any]) -> Levels:
    """Without columns that no feature is left of."""
    names = about["feature_names"]
    return {
        column: values
        for column, values in (about.get("levels") or {}).items()
        if any(f"{column}={value}" in names for value in values)
    }


def _check_columns(about: dict[str, Any], levels: Levels, path: Path, present: list[str]) -> None:
    """Refuse a table without the columns that the run's features are made from."""
    if not about["feature_names"]:
        _check_width(len(present), about, path)
        return
    made = {f"{column}={value}" for column, values in levels.items() for value in values}
    columns = [*(name for name in about["feature_names"] if name not in made), *levels]
    missing = [column for column in columns if column not in present]
    if missing and "=" in missing[0] and about.get("levels") is None:
        raise UserError(f"the run is too old to know what {missing[0]!r} was made from: run it again to apply it")
    if missing:
        raise UserError(f"{path} has no column {missing[0]!r}, which the run was made from")


def _table_blocks(path: Path, about: dict[str, Any], step: int) -> Iterator[Float[np.ndarray, "n p"]]:
    """The run's features of a table, by the same reader that training used."""
    levels = _levels_in_use(about)
    table = open_table(path)
    _check_columns(about, levels, path, list(table.columns))
    for note in table.notes:
        log.info("%s: %s", path, note)
    warned: set[str] = set()
    truth_values = [column for column, values in levels.items() if set(values) <= {"True", "False"}]
    for frame in table.frames(step, as_text=levels):
        for column in truth_values if not table.is_parquet else ():  # pandas reads true and TRUE alike
            frame[column] = frame[column].str.capitalize()
        _warn_of_new_values(frame, levels, path, warned)
        yield _numbers(frame, about, levels, path)


def _warn_of_new_values(frame: Any, levels: Levels, path: Path, warned: set[str]) -> None:
    """Warn once for a column that it has values that were not in the run's table."""
    for column, values in levels.items():
        new = set(frame[column].dropna().astype(str)) - set(values)
        if new and column not in warned:
            warned.add(column)
            sentence = "%s: column %r has values that the run was not made from, such as %r; they become zeros"
            log.warning(sentence, path, column, min(new))


def _numbers(frame: Any, about: dict[str, Any], levels: Levels, path: Path) -> Float[np.ndarray, "n p"]:
    """The run's features, in their order."""
    made = {}
    for column, values in levels.items():
        made |= zeros_and_ones(frame[column], values)
    names = about["feature_names"] or frame.columns
    try:
        columns = [
            made[name] if name in made else frame[name].to_numpy(dtype=np.float64, na_value=np.nan)
            for name in names
        ]
        return np.stack(columns, axis=1)
    except (ValueError, TypeError) as error:
        raise UserError(f"{path} must hold numbers in the run's columns: {error}") from None
