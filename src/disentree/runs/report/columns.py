"""The columns of a table as people know them: values in their own units, categories as text, empty cells as such.

A run's model works on features without a gap; reports and pages show columns. `table_of` gives the cells of a
run's data by column, `Shown` says how a cell is written.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from disentree.datasets import UserData
from disentree.tables import Codec, Column
from disentree.tables.dates import DAY
from disentree.tables.kinds import as_numbers

EMPTY = {"absent": "not applicable", "random": "not known"}  # what an empty cell means, and how it is written
DIGITS = 4  # of a number that is shown


@dataclass(frozen=True)
class Shown:
    """How the cells of a column are written."""

    name: str
    kind: str  # "number", "integer", "date" or "category"
    levels: tuple[str, ...] = ()  # of a category; a cell is the place of one of them
    empty: str = "empty"

    def text(self, value: float | None) -> str:
        """A cell as text: a number in the units of the column, the place of a level, None or NaN if it is empty.

        >>> Shown("sex", "category", ("f", "m")).text(1.0), Shown("mass", "number").text(3214.56)
        ('m', '3215')
        """
        if value is None or np.isnan(value):
            return self.empty
        if self.kind == "category":
            return self.levels[int(value)]
        if self.kind == "date":
            return str(np.datetime64(round(value * DAY), "ns").astype("datetime64[D]"))
        return number_text(value, whole=self.kind == "integer")

    @classmethod
    def of(cls, column: Column) -> Shown:
        """How a column of a schema is written."""
        kind = "category" if column.is_categorical else column.kind
        return cls(column.name, kind, column.levels, EMPTY.get(column.empty, "empty"))


def number_text(value: float, whole: bool = False) -> str:
    """A finite number with four digits, as people write it; `whole` without decimals.

    >>> number_text(0.123456), number_text(12345.6), number_text(1e-7), number_text(3.7, whole=True)
    ('0.1235', '12,346', '1e-07', '4')
    """
    size = abs(value)
    if size >= 1e9 or 0 < size < 1e-4:
        return f"{value:.{DIGITS - 1}g}"
    if whole or size >= 10 ** (DIGITS - 1):
        return f"{value:,.0f}" if size >= 10_000 else f"{value:.0f}"  # 1990 may be a year
    return f"{float(f'{value:.{DIGITS}g}'):,}".removesuffix(".0")


def table_of(data: UserData, codec: Codec | None = None) -> tuple[list[Shown], Float[np.ndarray, "n c"]]:
    """The columns of a table in use and their cells: places among the levels for categories, NaN where empty.

    What an empty cell means is known from `codec`, what was learned about the columns.
    """
    codec = codec or data.codec
    if codec is not None:
        cells = codec.read(data.frame)
        categories = np.where(cells.categories < 0, np.nan, cells.categories)
        return [Shown.of(c) for c in codec.used], np.concatenate([cells.numbers, categories], axis=1)
    assert data.schema is not None
    used = [column for column in data.schema.columns if column.used]
    return [Shown.of(c) for c in used], np.stack([as_numbers(data.frame[c.name]) for c in used], axis=1)
