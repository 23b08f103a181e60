"""The constants of MIMOSA, found and changed: fields of the frozen `*Constants` dataclasses of its packages. And
the rules of its search, each with what takes its place where it is left out.

The one instance of such a class is read wherever a constant is used, so that a field set on it reaches every use.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, fields, is_dataclass
from importlib import import_module
from typing import Any

import numpy as np

import disentree.mimosa as mimosa


def instances() -> dict[str, Any]:
    """The instances by place: "finders.atlas" for ATLAS of finders/atlas/constants.py, "density.margins" for
    MARGINS of density/constants.py."""
    out: dict[str, Any] = {}
    for info in pkgutil.walk_packages(mimosa.__path__, f"{mimosa.__name__}."):
        *room, last = info.name.removeprefix(f"{mimosa.__name__}.").split(".")
        if last != "constants" and not last.endswith("_constants"):
            continue
        room += [last.removesuffix("_constants")] if last != "constants" else []
        for name, value in vars(import_module(info.name)).items():
            kind = type(value)
            if is_dataclass(kind) and kind.__name__.endswith("Constants") and kind.__module__ == info.name:
                own = [] if room[-1:] == [name.lower()] else [name.lower()]
                out[".".join([*room, *own])] = value
    return out


def numeric_constants() -> dict[str, Any]:
    """Values of the fields that are numbers or tuples of numbers, by name: "finders.atlas ball"."""
    return {
        f"{place} {field.name}": value
        for place, instance in sorted(instances().items())
        for field in fields(instance)
        if _is_numeric(value := getattr(instance, field.name))
    }


def _is_numeric(value: Any) -> bool:
    if isinstance(value, tuple):
        return bool(value) and all(_is_numeric(one) for one in value)
    return isinstance(value, int | float) and not isinstance(value, bool)


def multiplied(value: Any, factor: float) -> Any:
    """A constant times a factor; whole numbers stay whole, and at least 1 unless they are 0."""
    if isinstance(value, tuple):
        return tuple(multiplied(one, factor) for one in value)
    return max(1, round(value * factor)) if isinstance(value, int) and value > 0 else type(value)(value * factor)


@contextmanager
def changed_constants(factors: Mapping[str, float]) -> Iterator[None]:
    """Constants, by the names of `numeric_constants`, times factors, and as they were in the end."""
    known = instances() if factors else {}
    before: list[tuple[Any, str, Any]] = []
    try:
        for name, factor in factors.items():
            place, field = name.split(" ")
            value = getattr(known[place], field)
            before.append((known[place], field, value))
            object.__setattr__(known[place], field, multiplied(value, factor))
        yield
    finally:
        for instance, field, value in reversed(before):
            object.__setattr__(instance, field, value)


@dataclass(frozen=True)
class Rule:
    module: str  # of `disentree.mimosa`, that asks it
    function: str
    instead: Callable[..., Any]


RULES: dict[str, Rule] = {
    "heaps of one column are spread": Rule("search.search", "spread_heaps", lambda Z, *_: Z),
    "groups need more dependence than margins tell": Rule("search.search", "exceeds_margins", lambda *_: True),
    "thin leaves come back": Rule("search.search", "_may_be_chance", lambda *_: False),
    "groups come back": Rule("search.groups", "parts_of", lambda *_: []),
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
    "exact leaves may lose bits": Rule("search.choose", "_hold_exactly", lambda *_: False),
    "mixtures are densities and no leaves": Rule("search.asking", "_is_density", lambda _: False),
    "finders that are needless are not asked": Rule("search.search", "_needless", lambda *_: set()),
    "leaves are looked into": Rule("search.search", "look_inside", lambda outcome, *_: outcome),
}


@contextmanager
def without(name: str | None) -> Iterator[None]:
    """The search without a rule, and with it again in the end; with all for None."""
    rule = None if name is None else RULES[name]
    with nullcontext() if rule is None else replaced(f"mimosa.{rule.module}", rule.function, rule.instead):
        yield


@contextmanager
def replaced(module: str, function: str, instead: Callable[..., Any]) -> Iterator[None]:
    """With something else for a function of a module, and with the function again in the end."""
    place = import_module(f"disentree.{module}")
    before = getattr(place, function)
    setattr(place, function, instead)
    try:
        yield
    finally:
        setattr(place, function, before)
