"""What rows come from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, runtime_checkable

from disentree.errors import UserError

CELLS = 2**21  # of a block: some 16 MB of numbers


@runtime_checkable
class Source(Protocol):
    """Rows in parts that can be read by themselves, each in blocks."""

    @property
    def sizes(self) -> Sequence[int]:
        """How many rows each part has."""
        ...

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the columns; None of an array."""
        ...

    @property
    def empty(self) -> Any:
        """A block without rows."""
        ...

    def read(self, part: int) -> Iterator[Any]:
        """The rows of a part, block by block: arrays or data frames."""
        ...

    def where(self, part: int) -> str:
        """What sentences call a part; "" in memory."""
        ...


def rows_of(n_columns: int) -> int:
    """How many rows a block has."""
    return max(1, CELLS // max(1, n_columns))


def blocks_of(source: Source, part: int, start: int) -> Iterator[tuple[int, Any]]:
    """The blocks of a part and the numbers of their first rows; a problem names the part and the row."""
    first = start
    blocks = source.read(part)
    while True:
        with problems_in(source.where(part), start):
            rows = next(blocks, None)
        if rows is None:
            break
        if len(rows):
            yield start, rows
            start += len(rows)
    check_size(source.where(part), start - first, source.sizes[part])


def check_size(where: str, n: int, expected: int) -> None:
    """Refuse a part that has other rows than those that were counted."""
    if n != expected:
        raise UserError(f"{where} has {n:,} rows where {expected:,} were: it has changed")


@contextmanager
def problems_in(where: str, start: int, n: int | None = None) -> Iterator[None]:
    """Errors about rows from `start` on with the name of the part that has them, if it has one."""
    try:
        yield
    except (UserError, ValueError) as error:
        if not where:
            raise
        rows = f"from row {start:,} on" if n is None else f"rows {start:,} to {start + n - 1:,}"
        raise UserError(f"{where}, {rows}: {error}") from None
