"""A table's columns for the page: how it gets from a model's features to cells in their own units, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from disentree.hierarchy import Hierarchy
from disentree.runs.report.columns import EMPTY, Shown
from disentree.runs.report.row_map import RowMap
from disentree.tables import Codec, Schema

if TYPE_CHECKING:
    from disentree.mimosa.mixed.model import TableModel


def columns_of_codec(codec: Codec) -> list[dict[str, Any]]:
    """Columns of a table with categories or empty cells, in the order of `Codec.used`: ``at`` is the first feature
    of a column, ``flag`` the one that says whether it has a value (None if it always has), and the rest is how a
    feature is undone."""
    out, at = [], 0
    for j, column in enumerate(codec.used):
        flag = codec.flags[j] if j < len(codec.flags) else -1
        shown = Shown.of(column)
        about = {"name": column.name, "kind": shown.kind, "at": at, "empty": EMPTY.get(column.empty, "empty")}
        about["flag"] = codec.n_plain + flag if flag >= 0 else None
        if column.is_categorical:
            about["levels"] = list(column.levels)
            if column.kind == "given":
                about["any"] = True  # whatever is there
        else:
            about |= {k: getattr(column, k) for k in ("transform", "unit", "center", "scale")}
        out.append(about)
        at += len(column.levels) if column.is_categorical else 1
    return out


def columns_of_numbers(
    names: Sequence[str],
    center: Sequence[float] | None,
    scale: Sequence[float] | None,
    schema: Schema | None = None,
) -> list[dict[str, Any]]:
    """Columns of a table of plain numbers, as `columns_of_codec` gives them: features times `scale` plus `center`
    are in the units of the table. What is whole by the schema is shown as such."""
    whole = set() if schema is None else {c.name for c in schema.columns if c.kind == "integer"}
    return [
        {"name": name, "kind": "integer" if name in whole else "number", "at": j, "empty": "empty", "flag": None,
         "transform": "none", "unit": 1.0, "center": 0.0 if center is None else center[j],
         "scale": 1.0 if scale is None else scale[j]}
        for j, name in enumerate(names)
    ]  # fmt: skip


def with_signs(columns: Sequence[dict[str, Any]], found: RowMap | None) -> list[dict[str, Any]]:
    """Columns with ``positive`` where no row of a map has a value below 0: a decoded value is then none either."""
    if found is None or found.cells.shape[1] != len(columns):
        return list(columns)
    least = np.min(np.nan_to_num(found.cells), axis=0, initial=0.0)
    numeric = ("number", "integer")
    return [
        {**column, "positive": True} if column["kind"] in numeric and least[j] >= 0 else column
        for j, column in enumerate(columns)
    ]


def presence(table: TableModel, hierarchy: Hierarchy) -> dict[str, Any]:
    """What exists on which branch, for the page.

    ``things``: for each thing its columns and the values that stand for nothing (None for an empty cell).
    ``options``: for each option that opens some, its categorical, its number and these things. ``flagged``:
    columns whose flag says whether they exist.
    """
    things = [
        {"columns": [int(c) for c in s.columns], "signs": [None if np.isnan(v) else float(v) for v in s.signs]}
        for s in table.presence.switches
    ]
    absent = table.absent(hierarchy)
    options = []
    for v in hierarchy.variables:
        for k in range(len(v.options)):
            through = [p.index for p in hierarchy.paths if (v.index, k) in p.choices]
            there = np.flatnonzero(~absent[through].any(axis=0)).tolist()
            if there:
                options.append({"variable": v.index, "option": k, "things": there})
    owned = {column for thing in things for column in thing["columns"]}
    flagged = sorted(set(np.flatnonzero(table.presence.absent).tolist()) - owned)
    return {"things": things, "options": options, "flagged": flagged}
