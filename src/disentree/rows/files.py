"""Rows in files: .parquet by row groups, .csv in pieces, .npy by ranges of rows, one file or many."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from disentree.datasets.files.cells import CELLS
from disentree.datasets.files.formats import suffix_of
from disentree.datasets.files.images import is_image_folder
from disentree.datasets.files.several import counted
from disentree.datasets.files.table_files import TABLES, Table, open_table, tables_at
from disentree.errors import UserError
from disentree.rows.source import Source, rows_of
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
    """Tables with the same columns, one below the other. A part is a row group of a .parquet, some rows of a
    .h5ad, or another file."""

    parts: Sequence[tuple[Table, int | None]]
    sizes: Sequence[int]
    names: tuple[str, ...]
    step: int
    as_text: frozenset[str] = frozenset()  # columns of .csv files that hold text somewhere

    @classmethod
    def of(cls, tables: Sequence[Table], step: int | None = None) -> TableFiles:
        """Of tables that have been opened: those of text are read once, to count their rows."""
        names = tables[0].columns
        step = step or rows_of(len(names))
        rows, text = counted(tables, step)
        parts: list[tuple[Table, int | None]] = []
        sizes: list[int] = []
        for table, n in zip(tables, rows, strict=True):
            parts += [(table, group) for group in range(len(table.groups))] or [(table, None)]
            sizes += table.groups or [n]
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
        if group is None:
            return str(table.path)
        return f"{table.path}, {'part' if suffix_of(table.path) in CELLS else 'row group'} {group}"


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
