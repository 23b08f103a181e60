"""Reading a hierarchy from a dict or JSON."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from disentree.hierarchy.tree import Categorical, Continuous, Group


def parse(tree: Any) -> Group:
    """The root of a hierarchy from its dict form; variables without a name get one."""
    taken = set(given_names(tree))
    counters = {"continuous": itertools.count(1), "categorical": itertools.count(1)}

    def fresh(kind: str) -> str:
        names = (f"{'z' if kind == 'continuous' else 'c'}{i}" for i in counters[kind])
        return next(name for name in names if name not in taken)

    return group_from_dict(tree, "hierarchy", "", fresh)


def parse_json(text: str) -> Group:
    """The root of a hierarchy from JSON text."""
    try:
        tree = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"a hierarchy must be JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        ) from None
    return parse(tree)


def given_names(tree: Any) -> Iterator[str]:
    """All names in a dict tree, however malformed the rest is."""
    if isinstance(tree, Mapping):
        if isinstance(tree.get("name"), str):
            yield tree["name"]
        for value in tree.values():
            yield from given_names(value)
    elif isinstance(tree, list | tuple):
        for value in tree:
            yield from given_names(value)


def _check_keys(tree: Any, where: str, allowed: set[str]) -> None:
    if not isinstance(tree, Mapping):
        raise ValueError(f"{where} must be an object, got {type(tree).__name__}")
    if unknown := set(tree) - allowed:
        raise ValueError(f"{where} has an unknown key {min(map(str, unknown))!r}; known: {sorted(allowed)}")
    if not isinstance(tree.get("name", ""), str):
        raise ValueError(f"{where}: a name must be a string, got {tree['name']!r}")


def _list_of(tree: Mapping[str, Any], key: str, where: str) -> Sequence[Any]:
    items = tree.get(key)
    if not isinstance(items, list | tuple):
        raise ValueError(f"{where} must have a list of {key}")
    return items


def group_from_dict(tree: Any, where: str, name: str, fresh: Any) -> Group:
    """A group from its dict form; `where` names it in errors, `fresh` gives names to variables without one."""
    _check_keys(tree, where, {"name", "variables"})
    variables = _list_of(tree, "variables", where)
    parsed = [_variable_from_dict(v, f"{where}.variables[{i}]", fresh) for i, v in enumerate(variables)]
    return Group(tuple(parsed), tree.get("name") or name)


def _variable_from_dict(tree: Any, where: str, fresh: Any) -> Continuous | Categorical:
    _check_keys(tree, where, {"kind", "name", "options"})
    kind = tree.get("kind")
    if kind not in ("continuous", "categorical"):
        raise ValueError(f"{where}: kind must be 'continuous' or 'categorical', got {kind!r}")
    name = tree.get("name") or fresh(kind)
    if kind == "continuous":
        if "options" in tree:
            raise ValueError(f"{where}: a continuous variable has no options")
        return Continuous(name)
    options = _list_of(tree, "options", where)
    if not options:
        raise ValueError(f"{where}: a categorical must have at least one option")
    groups = [group_from_dict(o, f"{where}.options[{k}]", str(k), fresh) for k, o in enumerate(options)]
    return Categorical(name, tuple(groups))
