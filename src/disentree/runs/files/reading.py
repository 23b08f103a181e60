"""Files of rows, read a block at a time, so that memory does not grow with the file."""

from __future__ import annotations

import logging
import math
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool

from disentree.datasets.files.formats import suffix_of
from disentree.datasets.files.images import image_files, look_at_images, read_image
from disentree.datasets.files.table_files import open_table, tables_at
from disentree.datasets.files.tables import with_numbers
from disentree.datasets.files.whole_files import DATABASES
from disentree.datasets.files.wording import name_in_words, some_of
from disentree.errors import UserError
from disentree.tables import Codec, Column, Schema
from disentree.tables.kinds import as_numbers
from disentree.training.data import rows_per_block
from disentree.utils.arrays import Layout, array_names, open_archive, open_array, open_member

log = logging.getLogger(__name__)

CHOICES = (".xlsx", *DATABASES)  # that may hold several tables


class Block(NamedTuple):
    """Some rows of a file."""

    rows: Any  # as they are in the file: an array, or a data frame if the run was made from a table
    kept: Sequence[list[str | None]] = ()  # columns of text that are copied
    unreadable: Bool[np.ndarray, " n"] | None = None  # which are images that cannot be read


def read_blocks(source: Path, about: dict[str, Any], keep: Collection[str] = ()) -> Iterator[Block]:
    """Rows as the run's model takes them."""
    step = rows_per_block(tuple(about["shape"]))
    suffix = source.suffix.lower()
    tables = tables_at(source)
    if source.is_dir() and not tables:
        yield from _image_blocks(source, about, step)
    elif suffix == ".npy" and not tables:
        with open_array(source) as (file, layout):
            yield from _array_blocks(file, layout, source, about, step)
    elif suffix == ".npz" and not tables:
        yield from _archived_blocks(source, about, step)
    else:
        n_rows = 0
        for path in tables or [source]:
            for block in _table_blocks(path, about, step, keep):
                n_rows += len(block.rows)
                yield block
        if not n_rows:
            raise UserError(f"{source} has no rows")


def _image_blocks(folder: Path, about: dict[str, Any], step: int) -> Iterator[Block]:
    """Images scaled to the run's size; those that cannot be read are blank, and marked."""
    shape = tuple(about["shape"])
    if about["kind"] != "images" or about["dtype"] != "uint8":
        raise UserError(f"{folder} is a folder of images, the run was not made from such")
    files = image_files(folder)
    if not files:
        raise UserError(f"{folder} holds no images")
    seen, bad = look_at_images(files)
    for start in range(0, len(files), step):
        some = files[start : start + step]
        X, unreadable = np.zeros((len(some), *shape), dtype=np.uint8), np.zeros(len(some), dtype=bool)
        for row, file in enumerate(some):
            try:
                unreadable[row] = file in bad
                if file not in bad:
                    X[row] = read_image(file, shape, seen)
            except UserError:
                unreadable[row] = True
        yield Block(X, [[name_in_words(file.relative_to(folder)) for file in some]], unreadable)


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


def read_rows(file: Any, layout: Layout, path: Path, about: dict[str, Any], n: int) -> Block:
    """The next `n` rows of an array."""
    row = layout.dtype.itemsize * math.prod(layout.shape[1:])
    data = file.read(n * row)
    if len(data) < n * row:
        raise UserError(f"{path} is cut short: it ends before its last row")
    block = np.frombuffer(data, layout.dtype).reshape(n, *layout.shape[1:])
    rows = block.reshape(n, *about["shape"]) if _is_one_channel(layout.shape) else block
    if about["kind"] != "images":  # whole numbers too, as in training
        return Block(rows.astype(np.float64, copy=False))
    return Block(rows if rows.dtype == np.uint8 else rows.astype(np.float32))


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


def _array_blocks(file: Any, layout: Layout, path: Path, about: dict[str, Any], step: int) -> Iterator[Block]:
    n_rows = check_layout(layout, path, about)
    for start in range(0, n_rows, step):
        yield read_rows(file, layout, path, about, min(step, n_rows - start))


def _archived_blocks(path: Path, about: dict[str, Any], step: int) -> Iterator[Block]:
    with open_archive(path) as archive:
        names = array_names(archive)
        name = "X" if "X" in names else names[0] if len(names) == 1 else None
        if name is None:
            raise UserError(f"{path} must have an array 'X', or only one array")
        with open_member(archive, name, path) as (file, layout):
            yield from _array_blocks(file, layout, path, about, step)


def _table_blocks(path: Path, about: dict[str, Any], step: int, keep: Collection[str]) -> Iterator[Block]:
    """The rows of a table, by the same reader that training used; of numbers if the run was made from an array."""
    for frame in frame_blocks(path, about, step, keep):
        try:
            numbers = [] if _used(about) else [as_numbers(column) for _, column in frame.items()]
        except (ValueError, TypeError) as error:
            raise UserError(f"{path} does not have the run's columns: {error}") from None
        kept = [frame[name].astype(object).where(frame[name].notna(), None) for name in keep]
        texts = [[None if value is None else str(value) for value in column] for column in kept]
        yield Block(np.stack(numbers, axis=1) if numbers else _without_infinities(frame), texts)


def frame_blocks(path: Path, about: dict[str, Any], step: int, keep: Collection[str] = ()) -> Iterator[Any]:
    """The rows of a table as data frames with the run's columns, read as for training, and those to keep."""
    # titles above the header are left out as the columns' names say which row this is
    table = open_table(path, about.get("chosen_table") if suffix_of(path) in CHOICES else None, skip_rows=None)
    columns = _used(about)
    if missing := [column.name for column in columns if column.name not in table.columns]:
        raise UserError(f"{path} has no column {missing[0]!r}, which the run was made from")
    if missing := [name for name in keep if name not in table.columns]:
        raise UserError(f"{path} has no column {missing[0]!r} to keep; it has {some_of(table.columns)}")
    if not columns:
        _check_width(len(table.columns), about, path)
    for note in table.notes:
        log.info("%s: %s", path, note)
    kinds = {column.name: column.kind for column in columns}
    numeric = {name: kind for name, kind in kinds.items() if kind in ("number", "integer")}
    as_text = [*(column.name for column in columns if column.is_categorical), *keep]
    warned: set[str] = set()
    for frame in table.frames(step, as_text):
        if frame.empty:
            continue
        frame = with_numbers(frame, table, {name: numeric.get(name, "category") for name in frame}, [])
        if columns:
            _warn_of_new_values(frame, about, path, warned)
        yield frame


def _used(about: dict[str, Any]) -> list[Column]:
    """The columns of the table that the run was made from; none if it was an array."""
    return [] if about.get("table") is None else [c for c in Schema.from_dict(about["table"]).columns if c.used]


def _without_infinities(frame: Any) -> Any:
    from pandas.api import types

    frame = frame.copy()
    for name, column in frame.items():
        if types.is_float_dtype(column):
            frame[name] = column.replace([np.inf, -np.inf], np.nan)
    return frame


def _warn_of_new_values(frame: Any, about: dict[str, Any], path: Path, warned: set[str]) -> None:
    """Warn once for a column that it has values that were not in the run's table."""
    for column, value in Codec.from_dict(about["table"]).new_values(frame).items():
        if column not in warned:
            warned.add(column)
            sentence = "%s: column %r has values that the run was not made from, such as %r; they count as empty"
            log.warning(sentence, path, column, value)
