"""Rows in files: .parquet by row groups, .csv in pieces, .npy by ranges of rows, one file or many."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from disentree.datasets.files.formats import suffix_of
from disentree.datasets.files.images import is_image_folder
from disentree.datasets.files.table_files import TABLES, Table, open_table, tables_at
from disentree.errors import UserError
from disentree.rows.source import Source, rows_of
from disentree.tables.cells import EMPTY_WORDS, read_cell
from disentree.tables.kinds import MOST_LEVELS
from disentree.utils.arrays import Layout, open_array


def open_files(
    path: str | os.PathLike[str], step: int | None = None, table: str | None = None, skip_rows: int | None = 0
) -> Source:
    """The rows of a table or an .npy, of all tables in a folder, or of those whose names have a pattern; for
    `table` and `skip_rows` see `open_table`."""
    path, files = Path(path), tables_at(path)
    if is_image_folder(path):
        raise UserError(f"{path} is a folder of images: for tables in it give a pattern such as {path}/*.csv")
    if not files and not path.is_file():
        raise UserError(f"{path} holds no table" if path.is_dir() else f"there is no file {path}")
    if path.suffix.lower() == ".npy":
        return NpyFile.of(path, step)
    if other := [file for file in files or [path] if suffix_of(file) not in TABLES]:
        raise UserError(f"{other[0]} must be a table ({', '.join(TABLES)}) or, by itself, an .npy")
    return TableFiles.of([open_table(file, table, skip_rows) for file in files or [path]], step)


@dataclass(frozen=True, eq=False)
class TableFiles:
    """Tables with the same columns, one below the other. A part is a row group of a .parquet, or another file."""

    parts: Sequence[tuple[Table, int | None]]
    sizes: Sequence[int]
    names: tuple[str, ...]
    step: int
    as_text: frozenset[str] = frozenset()  # columns of .csv files that hold text somewhere

    @classmethod
    def of(cls, tables: Sequence[Table], step: int | None = None) -> TableFiles:
        """Of tables that have been opened: those of text are read once, to count their rows."""
        names = tables[0].columns
        for table in tables[1:]:
            _check_same(tables[0], table)
        step = step or rows_of(len(names))
        parts: list[tuple[Table, int | None]] = []
        sizes: list[int] = []
        kinds = {name: _Kinds() for name in names}
        for table in tables:
            if table.groups:
                parts += [(table, group) for group in range(len(table.groups))]
                sizes += table.groups
            else:
                parts.append((table, None))
                sizes.append(_counted(table, step, kinds, sum(sizes)))
        text = frozenset(name for name, own in kinds.items() if own.check(name))
        return cls(parts, sizes, names, step, text)

    def read(self, part: int) -> Iterator[Any]:
        table, group = self.parts[part]
        for frame in table.frames(self.step, self.as_text, group):
            yield frame if table.columns == self.names else frame[list(self.names)]

    @property
    def empty(self) -> Any:
        import pandas as pd

        return pd.DataFrame(columns=pd.Index(self.names))

    def where(self, part: int) -> str:
        table, group = self.parts[part]
        return str(table.path) if group is None else f"{table.path}, row group {group}"


def _check_same(first: Table, other: Table) -> None:
    """Refuse a table with other columns than the first, or text where that has numbers."""
    name = next((name for name in first.columns if name not in other.columns), None)
    if name is not None:
        raise UserError(f"{other.path} has no column {name!r}, which {first.path} has")
    name = next((name for name in other.columns if name not in first.columns), None)
    if name is not None:
        raise UserError(f"{other.path} has a column {name!r}, which {first.path} has not")
    kinds = dict(zip(other.columns, other.numeric, strict=False))
    for name, is_number in zip(first.columns, first.numeric, strict=False):
        if kinds.get(name, is_number) != is_number:
            with_numbers, without = (first, other) if is_number else (other, first)
            raise UserError(f"{without.path}: column {name!r} holds no numbers, as it does in {with_numbers.path}")


class _Kinds:
    """Whether a column of text files holds numbers, text, or both."""

    def __init__(self) -> None:
        self.numbers: set[float] = set()
        self.text = ""  # where the first cell is that is neither a number nor empty, and what it says
        self.is_text = False  # somewhere

    def see(self, values: Any, table: Table, start: int) -> None:
        from pandas.api import types

        if not types.is_object_dtype(values) and not types.is_string_dtype(values):
            if len(self.numbers) <= MOST_LEVELS and types.is_numeric_dtype(values):
                self.numbers.update(values.dropna().unique()[: MOST_LEVELS + 1].tolist())
            return
        self.is_text = self.is_text or bool(values.notna().any())
        if not self.text:
            for row, cell in enumerate(values.dropna().astype(str)):
                if read_cell(cell) is None and cell.strip().lower() not in EMPTY_WORDS:
                    self.text = f"{table.path}: row {start + row + 1:,} of column {{!r}} is {cell[:40]!r}"
                    break

    def check(self, name: str) -> bool:
        """Whether the column is text; an error if it is one of numbers with text in it."""
        if self.text and len(self.numbers) > MOST_LEVELS:
            raise UserError(f"{self.text.format(name)}, and others are numbers: correct it, or drop the column")
        return self.is_text


def _counted(table: Table, step: int, kinds: dict[str, _Kinds], start: int) -> int:
    """The rows of a file that does not say how many it has."""
    if table.whole is not None:
        return len(table.whole)
    n = 0
    for frame in table.frames(step):
        for name, values in frame.items():
            kinds[str(name)].see(values, table, n)
        n += len(frame)
    return n


@dataclass(frozen=True, eq=False)
class NpyFile:
    """An .npy, of which each part is a block."""

    path: Path
    layout: Layout
    step: int
    names = None

    @classmethod
    def of(cls, path: Path, step: int | None = None) -> NpyFile:
        """Rows that lie one after the other in the file."""
        with open_array(path) as (_, layout):
            if layout.dtype.kind not in "biuf" or len(layout.shape) < 2:
                raise UserError(f"{path} must hold rows of real numbers, got {layout.dtype} of {layout.shape}")
            if layout.by_columns:
                advice = "np.save(file, np.ascontiguousarray(X))"
                raise UserError(f"{path} is stored by columns and must be by rows: {advice}")
        return cls(path, layout, step or rows_of(math.prod(layout.shape[1:])))

    @property
    def sizes(self) -> list[int]:
        n = self.layout.shape[0]
        return [min(self.step, n - start) for start in range(0, n, self.step)]

    def read(self, part: int) -> Iterator[np.ndarray]:
        row, n = self.layout.shape[1:], self.sizes[part]
        with open_array(self.path) as (file, _):
            file.seek(part * self.step * self.layout.dtype.itemsize * math.prod(row), os.SEEK_CUR)
            yield np.fromfile(file, self.layout.dtype, n * math.prod(row)).reshape(n, *row)

    @property
    def empty(self) -> np.ndarray:
        return np.empty((0, *self.layout.shape[1:]), self.layout.dtype)

    def where(self, part: int) -> str:
        return str(self.path)
