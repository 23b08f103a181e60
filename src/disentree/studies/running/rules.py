"""The rules of MIMOSA's search, each with what takes its place where it is left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Rule:
    module: str  # of `disentree.mimosa`, that asks it
    function: str
    instead: Callable[..., Any]


RULES: dict[str, Rule] = {
    "heaps of one column are spread": Rule("search.search", "spread_heaps", lambda Z, *_: Z),
    "groups need more dependence than margins tell": Rule("search.search", "exceeds_margins", lambda *_: True),
    "thin leaves come back": Rule("search.search", "_may_be_chance", lambda *_: False),
    "groups come back": Rule("search.groups", "coarsened", lambda again: np.arange(len(again[0]))),
    "groups are modes": Rule("search.groups", "_by_modes", lambda *_: []),
    "groups are parts of a mixture": Rule("search.groups", "_by_mixtures", lambda *_: []),
    "groups are looked for in columns of the same deviation too": Rule(
        "search.groups", "_units", lambda Z, rows: [np.eye(Z.shape[1])]
    ),
    "pieces of a mixture without a valley are one": Rule(
        "finders.modes.mixture", "merge_pieces", lambda Y, mixture, *_: np.arange(len(mixture))
    ),
    "savings are beyond doubt": Rule(
        "search.choose", "beyond_doubt", lambda a, b, _: np.nanmean(a) < np.nanmean(b)
    ),
    "exact leaves may lose bits": Rule("search.choose", "_holds_exactly", lambda *_: False),
    "fewer leaves that save nearly as much": Rule("search.choose", "_is_simpler", lambda *_: False),
    "products for leaves one by one": Rule("search.choose", "_product_or_leaves", lambda best, *_: best),
    "leaves save more than a density": Rule("search.choose", "_tells_more", lambda *_: False),
    "finders that are needless are not asked": Rule("search.search", "_needless", lambda *_: set()),
    "leaves are looked into": Rule("search.search", "look_inside", lambda outcome, *_: outcome),
}


@contextmanager
def without(name: str | None) -> Iterator[None]:
    """The search without a rule, and with it again in the end; with all for None."""
    if name is None:
        yield
        return
    rule = RULES[name]
    module = import_module(f"disentree.mimosa.{rule.module}")
    before = getattr(module, rule.function)
    setattr(module, rule.function, rule.instead)
    try:
        yield
    finally:
        setattr(module, rule.function, before)
