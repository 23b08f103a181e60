"""The same tree with other names of its variables and options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from disentree.hierarchy.hierarchy import Hierarchy
from disentree.hierarchy.tree import Categorical, Continuous, Group


def relabeled(hierarchy: Hierarchy, variables: Sequence[str], options: Sequence[Sequence[str]]) -> Hierarchy:
    """The tree with these names of variables and of their options, by column."""

    def visit(group: Group, column: int, name: str) -> Group:
        out: list[Continuous | Categorical] = []
        for variable in group.variables:
            here, column = column, column + 1
            if isinstance(variable, Continuous):
                out.append(Continuous(variables[here]))
                continue
            opened = []
            for child, label in zip(variable.options, options[here], strict=True):
                opened.append(visit(child, column, label))
                column += child.n_columns
            out.append(Categorical(variables[here], tuple(opened)))
        return Group(tuple(out), name)

    return Hierarchy(visit(hierarchy.root, 0, hierarchy.root.name))


def with_names(hierarchy: Hierarchy, names: Mapping[str, Any]) -> Hierarchy:
    """The tree with new names by old ones: ``variables``, and ``options`` by name of the categorical. Names that
    the tree does not have are passed over.

    Examples
    --------
    >>> h = Hierarchy.flat(1, (2,))
    >>> print(with_names(h, {"variables": {"z1": "size"}, "options": {"c1": {"0": "round"}}}))
    ○ size
    ◇ c1
    ├── round ∅
    └── 1 ∅
    """
    new, own = names.get("variables", {}), names.get("options", {})
    variables = [new.get(v.name, v.name) for v in hierarchy.variables]
    options = [[own.get(v.name, {}).get(name, name) for name in v.options] for v in hierarchy.variables]
    return relabeled(hierarchy, variables, options)


def renamed(hierarchy: Hierarchy, changes: Mapping[Any, Any]) -> Hierarchy:
    """The tree in which some variables or options have other names: new by old name of a variable, of an option,
    or ``"variable=option"`` where several have such an option; or by the number of a path, whose last option that
    is.

    Examples
    --------
    >>> print(renamed(Hierarchy.flat(1, (2,)), {"z1": "size", "c1=0": "round"}))
    ○ size
    ◇ c1
    ├── round ∅
    └── 1 ∅
    >>> renamed(Hierarchy.flat(0, (2,)), {1: "square"}).paths[1].name
    'c1=square'
    """
    if not isinstance(changes, Mapping):
        raise TypeError(f"names must be a dict of new names by old ones, got {type(changes).__name__}")
    places: dict[str, list[tuple[int, int | None]]] = {}
    for v in hierarchy.variables:
        places.setdefault(v.name, []).append((v.index, None))
    for v in hierarchy.variables:
        for k, option in enumerate(v.options):
            places.setdefault(f"{v.name}={option}", []).append((v.index, k))
            if (v.index, None) not in places.get(option, []):
                places.setdefault(option, []).append((v.index, k))
    variables = [v.name for v in hierarchy.variables]
    options = [list(v.options) for v in hierarchy.variables]
    for old, new in changes.items():
        if not isinstance(new, str) or not new.strip():
            raise ValueError(f"the new name of {old!r} must be a text that is not empty, got {new!r}")
        found = places.get(old, []) if isinstance(old, str) else [_last_option(hierarchy, old)]
        if not found:
            raise ValueError(f"there is no variable or option {old!r}; {_some_names(hierarchy)}")
        if len(found) > 1:
            raise ValueError(_ambiguous(hierarchy, old, found))
        column, option = found[0]
        if option is None:
            variables[column] = new
        else:
            options[column][option] = new
    if twice := [name for name in variables if variables.count(name) > 1]:
        raise ValueError(f"two variables would be called {twice[0]!r}: names of variables must differ")
    for v, names in zip(hierarchy.variables, options, strict=True):
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(
                f"two options of {v.name!r} would be called {twice[0]!r}: names of options must differ"
            )
    return relabeled(hierarchy, variables, options)


def _last_option(hierarchy: Hierarchy, path: Any) -> tuple[int, int]:
    """The variable and the option at the end of a path."""
    whole = isinstance(path, int | np.integer) and not isinstance(path, bool)
    if not whole or not 0 <= path < len(hierarchy.paths):
        raise ValueError(f"a path must be a whole number of 0 to {len(hierarchy.paths) - 1}, got {path!r}")
    choices = hierarchy.paths[int(path)].choices
    if not choices:
        raise ValueError("all rows are one leaf, whose path has no option that could be renamed")
    last = hierarchy.variables[choices[-1][0]]
    beside = [
        c
        for c, _ in choices
        if (hierarchy.variables[c].parent, hierarchy.variables[c].option) == (last.parent, last.option)
    ]
    if len(beside) > 1:
        raise ValueError(f"path {path} is a combination of independent choices: rename their options")
    return choices[-1]


def kept_names(plain: Hierarchy, named: Hierarchy, given: Mapping[str, Any]) -> Hierarchy:
    """`named` with names that were given to parts of `plain`, the same tree with other names, as `with_names`
    takes them; one that another part has already is passed over.

    Examples
    --------
    >>> plain = Hierarchy.flat(1, (2,))
    >>> print(kept_names(plain, renamed(plain, {"z1": "x, y"}), {"options": {"c1": {"0": "round"}}}))
    ○ x, y
    ◇ c1
    ├── round ∅
    └── 1 ∅
    """
    new, own = given.get("variables", {}), given.get("options", {})
    variables, options = [v.name for v in named.variables], [list(v.options) for v in named.variables]
    for column, v in enumerate(plain.variables):
        if (name := new.get(v.name)) is not None and name not in variables:
            variables[column] = name
        for k, option in enumerate(v.options):
            if (name := own.get(v.name, {}).get(option)) is not None and name not in options[column]:
                options[column][k] = name
    return relabeled(named, variables, options)


def names_given(plain: Hierarchy, before: Hierarchy, after: Hierarchy) -> dict[str, Any]:
    """What differs in the names of two trees, by the names in `plain`, as `with_names` takes it."""
    out: dict[str, Any] = {"variables": {}, "options": {}}
    for v, old, new in zip(plain.variables, before.variables, after.variables, strict=True):
        if old.name != new.name:
            out["variables"][v.name] = new.name
        changed = {p: b for p, a, b in zip(v.options, old.options, new.options, strict=True) if a != b}
        if changed:
            out["options"][v.name] = changed
    return out


def _some_names(hierarchy: Hierarchy) -> str:
    names = [v.name for v in hierarchy.variables]
    names += [f"{v.name}={option}" for v in hierarchy.variables for option in v.options]
    return f"there are {', '.join(names[:12])}{', ...' * (len(names) > 12)}"


def _ambiguous(hierarchy: Hierarchy, name: str, found: Sequence[tuple[int, int | None]]) -> str:
    owners = [hierarchy.variables[column].name for column, option in found if option is not None]
    if not owners:
        return f"several variables are called {name!r}"
    if len(owners) < len(found):
        return f"{name!r} is a variable and an option too: write {owners[0]}={name} for the option"
    return f"{name!r} is an option of {' and of '.join(owners)}: write {owners[0]}={name}"
