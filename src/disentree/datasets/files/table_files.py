"""Reading tables, whole or in blocks of rows: the same code for training and for application.

Nothing shifts silently: a .csv must have as many names as values, and numbers in place of names are noticed.
"""

from __future__ import annotations

import glob
import os
import re
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from disentree.datasets.files.cells import CELLS, cell_frames, shape_of
from disentree.datasets.files.csv_style import CsvStyle, check_width, csv_style
from disentree.datasets.files.formats import suffix_of
from disentree.datasets.files.images import is_image_folder
from disentree.datasets.files.whole_files import WHOLE, read_whole
from disentree.datasets.files.wording import columns_in_words, first_line
from disentree.errors import UserError
from disentree.utils.extras import needing
from disentree.utils.files import check_is_file, naming

TEXT = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
TABLES = (*TEXT, ".parquet", *CELLS, *WHOLE)


def tables_at(path: str | os.PathLike[str]) -> list[Path]:
    """The tables in a folder, or those whose names have a pattern as `parts/*.parquet`, in the order of their
    names, hidden ones left out; none for a single file, nor of a folder of images.

    Examples
    --------
    >>> tables_at("nowhere/*.csv")
    []
    """
    text = os.fspath(path)
    if os.path.isdir(text):
        if is_image_folder(Path(text)):
            return []
        found = (file for file in Path(text).rglob("*") if not file.name.startswith("."))
        return sorted(file for file in found if suffix_of(file) in TABLES)
    pattern = glob.has_magic(text) and not os.path.exists(text)
    return sorted(map(Path, glob.glob(text, recursive=True))) if pattern else []


@dataclass(frozen=True)
class Table:
    """A table on disk."""

    path: Path
    columns: tuple[str, ...]  # their names
    notes: tuple[str, ...] = ()  # one sentence for everything in the file that is ignored or doubtful
    style: CsvStyle | None = None  # how a text file is written
    whole: Any = None  # its rows, if the file was read already
    groups: tuple[int, ...] = ()  # rows of each row group of a .parquet, or of each part of a .h5ad
    numeric: tuple[bool | None, ...] = ()  # which columns of a .parquet hold numbers; None if they hold nothing

    def frames(
        self, step: int | None = None, as_text: Collection[str] = (), group: int | None = None
    ) -> Iterator[Any]:
        """Its rows, or those of a row group, as data frames of `step` rows, or all in one; columns of a .csv in
        `as_text` are read as text, whatever their values look like."""
        with _problems_of(self.path):
            if self.whole is not None:
                yield from self._whole_frames(step)
            elif self.style is not None:
                yield from self._csv_frames(step, as_text)
            elif suffix_of(self.path) in CELLS:
                yield from cell_frames(self.path, group, step)
            else:
                yield from self._parquet_frames(step, group)

    def _whole_frames(self, step: int | None) -> Iterator[Any]:
        n = len(self.whole)
        for start in range(0, max(n, 1), step or max(n, 1)):
            yield self.whole.iloc[start : start + (step or max(n, 1))].reset_index(drop=True)

    def _csv_frames(self, step: int | None, as_text: Collection[str]) -> Iterator[Any]:
        import pandas

        assert self.style is not None
        given = _given_names(self.path, self.style)
        types = {own: str for own, name in zip(given, self.columns, strict=True) if name in as_text}
        how = {**self.style.for_pandas(), "index_col": False, "low_memory": False, "dtype": types}
        reader: Any = pandas.read_csv(self.path, chunksize=step or 2**62, **how)
        with reader as frames:
            while True:
                with warnings.catch_warnings():
                    warnings.simplefilter("error", pandas.errors.ParserWarning)
                    frame = next(frames, None)
                if frame is None:
                    return
                frame.columns = list(self.columns)
                yield frame

    def _parquet_frames(self, step: int | None, group: int | None) -> Iterator[Any]:
        from pyarrow import Table as ArrowTable
        from pyarrow import parquet

        nothing = {name: "float64" for name, kind in zip(self.columns, self.numeric, strict=True) if kind is None}
        with parquet.ParquetFile(self.path, page_checksum_verification=True) as file:
            if step is None:
                yield file.read(columns=list(self.columns)).to_pandas(ignore_metadata=True).astype(nothing)
                return
            groups = None if group is None else [group]
            for batch in file.iter_batches(batch_size=step, row_groups=groups, columns=list(self.columns)):
                yield ArrowTable.from_batches([batch]).to_pandas(ignore_metadata=True).astype(nothing)


def open_table(path: Path, table: str | None = None, skip_rows: int | None = 0) -> Table:
    """The names of a table's columns, and what is to be said about it; an error if names and values disagree.

    `table` names the sheet of an .xlsx or the table of a database, or is a query; `skip_rows` are rows above the
    header, None for as many as there seem to be.
    """
    suffix = suffix_of(path)
    if skip_rows and suffix not in (*TEXT, ".xlsx"):
        raise UserError(f"{path}: --skip-rows is for .csv, .tsv and .xlsx, whose header may have rows above it")
    with _problems_of(path):
        check_is_file(path)
        if suffix in WHOLE:
            frame, notes = read_whole(path, table, skip_rows)
            columns = tuple(map(str, frame.columns))
            _check_names(columns, path)
            return Table(path, columns, tuple(notes), whole=frame.set_axis(list(columns), axis=1))
        if table is not None:
            raise UserError(f"{path} is one table: --table is for sheets of .xlsx and tables of databases")
        if suffix == ".parquet":
            return _open_parquet(path)
        if suffix in CELLS:
            columns, groups = shape_of(path)
            check_width(len(columns), path)
            _check_names(tuple(columns), path)
            return Table(path, tuple(columns), groups=tuple(groups), numeric=(True,) * len(columns))
        return _open_csv(path, skip_rows)


def _open_parquet(path: Path) -> Table:
    with needing(str(path)):
        from pyarrow import parquet

    from pyarrow import types

    with parquet.ParquetFile(path) as file:
        schema = file.schema_arrow
        groups = tuple(file.metadata.row_group(k).num_rows for k in range(file.num_row_groups))
        check_width(len(schema.names), path)
        described = schema.pandas_metadata or {}
        stored = [name for name in described.get("index_columns", []) if isinstance(name, str)]
        index = [name for name in stored if name in schema.names]
        columns = tuple(name for name in schema.names if name not in index)
    _check_names(columns, path)
    notes = (f"left out {columns_in_words(index)}: the index of the data frame",) if index else ()
    kinds = (schema.field(name).type for name in columns)
    numeric = tuple(
        None if types.is_null(kind) else types.is_integer(kind) or types.is_floating(kind) for kind in kinds
    )
    return Table(path, columns, notes, groups=groups, numeric=numeric)


def _open_csv(path: Path, skip_rows: int | None) -> Table:
    style = csv_style(path, skip_rows)
    notes = list(style.notes)
    columns = _stripped(_given_names(path, style))
    if len(style.first) > len(style.header):
        if any(value.strip() for value in style.first[len(style.header) :]):
            names = f"{len(style.header)} name{'s' * (len(style.header) != 1)}"
            lines = f"lines have {len(style.first)} values: give every column a name"
            raise UserError(f"{path}: the header has {names} and {lines}")
        notes.append("the separator at the end of lines is ignored")
    written = [name.strip() for name in style.header] if style.has_names else []
    if repeated := [name for i, name in enumerate(written) if name and name in written[:i]]:
        notes.append(f"several columns are called {repeated[0]!r}: the second became {repeated[0] + '.1'!r}")
    return Table(path, columns, tuple(notes), style)


def _given_names(path: Path, style: CsvStyle) -> list[str]:
    """The names of the columns as pandas has them, which gives names to those without and tells twins apart."""
    import pandas

    return [str(name) for name in pandas.read_csv(path, nrows=0, index_col=False, **style.for_pandas()).columns]


def _stripped(names: list[str]) -> tuple[str, ...]:
    """Without blanks around them, unless that would make two of them equal."""
    plain = [name.strip() or name for name in names]
    return tuple(plain if len(set(plain)) == len(plain) else names)


def _check_names(columns: tuple[str, ...], path: Path) -> None:
    repeated = next((name for i, name in enumerate(columns) if name in columns[:i]), None)
    if repeated is not None:
        raise UserError(f"{path} has two columns called {repeated!r}")


@contextmanager
def _problems_of(path: Path) -> Iterator[None]:
    """Every error of a damaged table as one sentence; pandas and pyarrow raise errors of many kinds."""
    try:
        with naming(path):
            yield
    except (UserError, MemoryError):
        raise
    except OSError as error:
        if error.errno is not None:
            raise
        raise UserError(f"{path} cannot be read: {first_line(error)}") from None
    except Exception as error:
        raise UserError(_problem(path, error)) from None


def _problem(path: Path, error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"{path} is not text: save it as UTF-8"
    if isinstance(error, Warning):  # pandas': "Length of header or names does not match length of data"
        return f"{path}: lines have more values than the header has names: give every column a name"
    if "No columns to parse" in str(error):  # of blank lines
        return f"{path} is empty: there is no line with names of columns"
    if ragged := re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", str(error)):
        expected, line, found = ragged.groups()
        return f"{path}: line {line} has {found} fields where {expected} are expected"
    return f"{path} cannot be read as {suffix_of(path)[1:]}: {first_line(error)}"
