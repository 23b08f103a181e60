"""The same tree with other names of its variables and options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

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


def renamed(hierarchy: Hierarchy, changes: Mapping[str, Any]) -> Hierarchy:
    """The tree in which some variables or options have other names: new by old name of a variable, of an option,
    or ``"variable=option"`` where several have such an option.

    Examples
    --------
    >>> print(renamed(Hierarchy.flat(1, (2,)), {"z1": "size", "c1=0": "round"}))
    ○ size
    ◇ c1
    ├── round ∅
    └── 1 ∅
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
        found = places.get(old, [])
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
