"""What is known about a column, and about all columns of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

NUMERIC = ("number", "integer", "date")  # have a position on a line
CATEGORICAL = ("category", "ordinal", "boolean", "given")  # have one of a few values
LEFT_OUT = ("identifier", "constant", "empty", "text", "dropped")  # say nothing about how rows are alike
KINDS = NUMERIC + CATEGORICAL


@dataclass(frozen=True)
class Column:
    """One column of a table."""

    name: str
    kind: str  # one of `KINDS`; "given" if all that counts is whether a cell is empty; or of `LEFT_OUT`, why it is
    dtype: str  # in the data frame
    note: str = ""  # what was inferred or is done, and why; "" if nothing needs to be said
    levels: tuple[str, ...] = ()  # the values of a categorical column, as text; of an ordinal one in their order
    n_empty: int = 0  # cells
    empty: str = "none"  # what they mean: "absent" if it does not exist in these rows, "random" if it is not known
    transform: str = "none"  # "log", "root" or "arcsinh", of numbers before they are centered and scaled
    unit: float = 1.0  # what numbers are divided by before "arcsinh"; added to them before "log" and "root"
    center: float = 0.0  # of transformed numbers
    scale: float = 1.0
    fill: str = ""  # the value of a constant column, as JSON
    date_format: str = ""  # of dates in text, as "%d/%m/%Y"; "" if they are no text or in several ways

    @property
    def used(self) -> bool:
        """Whether the column is a part of the model."""
        return self.kind in KINDS

    @property
    def is_numeric(self) -> bool:
        """Whether its values are positions on a line."""
        return self.kind in NUMERIC

    @property
    def was_numbers(self) -> bool:
        """Whether the data frame has it as a column of numbers."""
        return self.dtype.lower().strip("u")[:3] in ("int", "flo")

    @property
    def is_categorical(self) -> bool:
        """Whether its values are some of a few."""
        return self.kind in CATEGORICAL

    @property
    def transform_in_words(self) -> str:
        """What numbers are taken as."""
        return {"log": "logarithm", "root": "square root"}.get(self.transform, self.transform)

    @property
    def values_in_words(self) -> str:
        """The values of a categorical column, the first four by name; "" if there is nothing to tell."""
        if not self.is_categorical or self.kind == "given":
            return ""
        shown = ", ".join(self.levels[:4]) + (", ..." if len(self.levels) > 4 else "")
        return f"{len(self.levels)} value{'s' * (len(self.levels) != 1)}: {shown}"


@dataclass(frozen=True)
class Schema:
    """The columns of a table, in their order."""

    columns: tuple[Column, ...]

    @property
    def numeric(self) -> tuple[Column, ...]:
        """Those that are numbers."""
        return tuple(column for column in self.columns if column.is_numeric)

    @property
    def categorical(self) -> tuple[Column, ...]:
        """Those that have one of a few values."""
        return tuple(column for column in self.columns if column.is_categorical)

    @property
    def left_out(self) -> tuple[Column, ...]:
        """Those that are no part of the model."""
        return tuple(column for column in self.columns if not column.used)

    @property
    def is_plain(self) -> bool:
        """Whether all columns are numbers without an empty cell: such a table is an array with names. A constant
        number does no harm."""
        numbers = [c for c in self.columns if c.kind in ("number", "integer") and not c.n_empty]
        constant = [c for c in self.columns if c.kind == "constant" and c.was_numbers]
        return bool(numbers) and len(numbers) + len(constant) == len(self.columns)

    def __getitem__(self, name: str) -> Column:
        return next(column for column in self.columns if column.name == name)

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {"columns": [asdict(column) for column in self.columns]}

    @classmethod
    def from_dict(cls, about: Mapping[str, Any]) -> Schema:
        """What `to_dict` gave."""
        return cls(tuple(Column(**{**c, "levels": tuple(c["levels"])}) for c in about["columns"]))

    def as_text(self) -> str:
        """One line for each column: its name, its kind, and what is to be said about it."""
        rows = [("column", "kind", "empty", "note")]
        for c in self.columns:
            said = [c.note] if c.note else []
            if c.transform != "none":
                said.append(c.transform_in_words)
            if c.values_in_words:
                said.append(c.values_in_words)
            meaning = {"absent": " (does not exist)", "random": " (not known)"}.get(c.empty, "")
            rows.append((c.name, c.kind if c.used else "left out", f"{c.n_empty or ''}{meaning}", "; ".join(said)))
        widths = [*(max(len(row[i]) for row in rows) for i in range(3)), 0]
        lines = ("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) for row in rows)
        return "\n".join(line.rstrip() for line in lines)
