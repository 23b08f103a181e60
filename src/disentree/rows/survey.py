"""What is to be known of all rows before a sample of them is searched."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from disentree.rows.blocks import Blocks, concatenated, taken_of
from disentree.tables import Schema
from disentree.tables.kinds import infinity_in, is_whole


@dataclass(frozen=True)
class Survey:
    """How many cells of each column are empty, and between which numbers the others are."""

    n_rows: int
    names: tuple[str, ...]
    empty: Int[np.ndarray, " p"]
    least: Float[np.ndarray, " p"]  # infinity where there are no numbers
    most: Float[np.ndarray, " p"]

    @classmethod
    def of(cls, blocks: Blocks, chosen: Int[np.ndarray, " m"]) -> tuple[Survey, Any]:
        """Of all rows, in a pass that also takes the chosen ones."""
        found, rows = zip(*blocks.map(partial(_surveyed, chosen)), strict=True)
        empty, least, most = (np.stack(values) for values in zip(*found, strict=True))
        own = concatenated(rows)
        names = tuple(map(str, own.columns if hasattr(own, "iloc") else range(own.shape[1])))
        return cls(len(blocks), names, empty.sum(axis=0), least.min(axis=0), most.max(axis=0)), own

    def of_all(self, schema: Schema, sample: Any) -> Schema:
        """What the columns of all rows are, given what those of the sample seem to be."""
        columns = []
        for column in schema.columns:
            j = self.names.index(column.name)
            column = replace(column, n_empty=int(self.empty[j]))
            if column.kind == "integer" and not column.n_empty and column.note != "as asked":
                counts = self.most[j] - self.least[j] == self.n_rows - 1
                values = sample.iloc[:, j].to_numpy(np.float64) if counts else np.zeros(2)
                if len(np.unique(values)) == len(values) and is_whole(values):
                    column = replace(column, kind="identifier", note="counts the rows")
            columns.append(column)
        return Schema(tuple(columns))


def _surveyed(chosen: Int[np.ndarray, " m"], rows: Any, start: int) -> tuple[Any, Any]:
    """Of one block, with those of its rows that are among the chosen."""
    if not hasattr(rows, "iloc"):
        return _of_numbers(rows, [f"x{j + 1}" for j in range(rows.shape[1])], start), taken_of(chosen, rows, start)
    from pandas.api import types

    p = rows.shape[1]
    empty, least, most = np.zeros(p, np.int64), np.full(p, np.inf), np.full(p, -np.inf)
    for j, (name, values) in enumerate(rows.items()):
        if types.is_numeric_dtype(values) and not types.is_complex_dtype(values):
            own = values.to_numpy(np.float64, na_value=np.nan)[:, None]
            (empty[j],), (least[j],), (most[j],) = _of_numbers(own, [str(name)], start)
        else:
            empty[j] = int(values.isna().sum())
    return (empty, least, most), taken_of(chosen, rows, start)


def _of_numbers(x: Any, names: list[str], start: int) -> tuple[Any, Any, Any]:
    """Empty cells, least and largest numbers of columns; an error if one is infinite."""
    least, most = x.min(axis=0).astype(np.float64), x.max(axis=0).astype(np.float64)
    empty = np.zeros(x.shape[1], np.int64)
    for j in np.flatnonzero(~(np.isfinite(least) & np.isfinite(most))):
        gaps = np.isnan(x[:, j])
        empty[j], there = int(gaps.sum()), x[~gaps, j]
        if np.isinf(there).any():
            raise ValueError(infinity_in(names[j], x[:, j], start))
        least[j], most[j] = there.min(initial=np.inf), there.max(initial=-np.inf)
    return empty, least, most
