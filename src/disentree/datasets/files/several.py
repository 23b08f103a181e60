"""Tables in several files, one below the other: with the same columns, and text only where all have it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from disentree.datasets.files.table_files import Table, open_table
from disentree.errors import UserError
from disentree.tables.cells import EMPTY_WORDS, read_cell
from disentree.tables.kinds import MOST_LEVELS


def read_several(path: Path, files: Sequence[Path], table: str | None, skip_rows: int | None) -> Table:
    """The rows of all files in memory, as one table."""
    import pandas

    tables = [open_table(file, table, skip_rows) for file in files]
    text = counted(tables)[1]
    frames = [frame[list(tables[0].columns)] for one in tables for frame in one.frames(None, text)]
    whole = pandas.concat([frame for frame in frames if len(frame)] or frames[:1], ignore_index=True)
    return Table(path, tables[0].columns, tables[0].notes, whole=whole)


def counted(tables: Sequence[Table], step: int | None = None) -> tuple[list[int], frozenset[str]]:
    """How many rows each table has, and the columns of text files that hold text somewhere: these files are read
    once, in blocks of `step` rows. An error if columns differ."""
    for table in tables[1:]:
        check_same(tables[0], table)
    sizes, kinds = list[int](), {name: _Kinds() for name in tables[0].columns}
    for table in tables:
        sizes.append(sum(table.groups) if table.groups else _counted(table, step, kinds))
    return sizes, frozenset(name for name, own in kinds.items() if own.check(name))


def check_same(first: Table, other: Table) -> None:
    """Refuse a table with other columns than the first, or text where that has numbers."""
    name = next((name for name in first.columns if name not in other.columns), None)
    if name is not None:
        raise UserError(f"{other.path} has no column {name!r}, which {first.path} has")
    name = next((name for name in other.columns if name not in first.columns), None)
    if name is not None:
        raise UserError(f"{other.path} has a column {name!r}, which {first.path} has not")
    kinds = dict(zip(other.columns, other.numeric, strict=False))
    for name, is_number in zip(first.columns, first.numeric, strict=False):
        if None not in (is_number, own := kinds.get(name)) and own != is_number:
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
            for row, cell in values.reset_index(drop=True).dropna().astype(str).items():
                if read_cell(cell) is None and cell.strip().lower() not in EMPTY_WORDS:
                    self.text = f"{table.path}: row {start + row + 1:,} of column {{!r}} is {cell[:40]!r}"
                    break

    def check(self, name: str) -> bool:
        """Whether the column is text; an error if it is one of numbers with text in it."""
        if self.text and len(self.numbers) > MOST_LEVELS:
            raise UserError(f"{self.text.format(name)}, and others are numbers: correct it, or drop the column")
        return self.is_text


def _counted(table: Table, step: int | None, kinds: dict[str, _Kinds]) -> int:
    """The rows of a file that does not say how many it has."""
    if table.whole is not None:
        return len(table.whole)
    n = 0
    for frame in table.frames(step):
        for name, values in frame.items():
            kinds[str(name)].see(values, table, n)
        n += len(frame)
    return n
