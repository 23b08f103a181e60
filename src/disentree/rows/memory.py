"""Rows in memory, or mapped into it: arrays and data frames."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from disentree.rows.source import rows_of


@dataclass(frozen=True, eq=False)
class InMemory:
    """An array or a data frame, whose parts are its blocks."""

    X: Any
    step: int

    @classmethod
    def of(cls, X: Any, step: int | None = None) -> InMemory:
        """With blocks of so many rows."""
        return cls(X, step or rows_of(X[:1].size))

    @property
    def sizes(self) -> list[int]:
        n = len(self.X)
        return [min(self.step, n - start) for start in range(0, n, self.step)]

    @property
    def names(self) -> tuple[str, ...] | None:
        return tuple(map(str, self.X.columns)) if hasattr(self.X, "iloc") else None

    @property
    def empty(self) -> Any:
        return self.X[:0]

    def read(self, part: int) -> Iterator[Any]:
        rows = slice(part * self.step, (part + 1) * self.step)
        yield self.X.iloc[rows] if hasattr(self.X, "iloc") else self.X[rows]

    def where(self, part: int) -> str:
        return ""
