"""The tree itself: groups of variables, and the recursions over them that `Hierarchy` is built on."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import Any


@dataclass(frozen=True)
class Continuous:
    """A continuous variable (a slider).

    Attributes
    ----------
    name : str
        A label; it does not count in comparisons.
    """

    name: str = field(compare=False)


@dataclass(frozen=True)
class Categorical:
    """A categorical variable (radio buttons); every option opens a group.

    Attributes
    ----------
    name : str
        A label; it does not count in comparisons.
    options : tuple of Group
        The groups that its options open, possibly empty ones.
    """

    name: str = field(compare=False)
    options: tuple[Group, ...]


@dataclass(frozen=True)
class Group:
    """Variables that are active together.

    Attributes
    ----------
    variables : tuple of Continuous or Categorical
        In the order of their columns.
    name : str
        The name of the option that opens the group; the root has none. It does not count in comparisons.
    """

    variables: tuple[Continuous | Categorical, ...]
    name: str = field(default="", compare=False)

    @property
    def continuous(self) -> tuple[Continuous, ...]:
        """The continuous variables of the group itself."""
        return tuple(v for v in self.variables if isinstance(v, Continuous))

    @property
    def categoricals(self) -> tuple[Categorical, ...]:
        """The categorical variables of the group itself."""
        return tuple(v for v in self.variables if isinstance(v, Categorical))

    @cached_property
    def n_columns(self) -> int:
        """Number of variables of the group and everything below it."""
        below = (option.n_columns for c in self.categoricals for option in c.options)
        return len(self.variables) + sum(below)

    @cached_property
    def n_paths(self) -> int:
        """Number of paths through the group."""
        return math.prod(sum(option.n_paths for option in c.options) for c in self.categoricals)

    @cached_property
    def min_dimension(self) -> int:
        """The smallest number of continuous variables on any path through this group, from here down."""
        below = (min(option.min_dimension for option in c.options) for c in self.categoricals)
        return len(self.continuous) + sum(below)


# -------------------------------------------------------------------- dict and text forms


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


def variables_to_list(group: Group) -> list[dict[str, Any]]:
    """The variables of a group in dict form."""
    out: list[dict[str, Any]] = []
    for variable in group.variables:
        if isinstance(variable, Continuous):
            out.append({"kind": "continuous", "name": variable.name})
        else:
            options = [{"name": o.name, "variables": variables_to_list(o)} for o in variable.options]
            out.append({"kind": "categorical", "name": variable.name, "options": options})
    return out


def text_lines(group: Group) -> Iterator[str]:
    """The lines of a group's text form."""
    for variable in group.variables:
        if isinstance(variable, Continuous):
            yield f"○ {variable.name}"
            continue
        yield f"◇ {variable.name}"
        yield from _branches((o.name + ("" if o.variables else " ∅"), o) for o in variable.options)


def html_list(group: Group) -> str:
    """The variables of a group as a nested list, without any style sheet."""
    if not group.variables:
        return ""
    items = []
    for variable in group.variables:
        name = escape(variable.name)
        if isinstance(variable, Continuous):
            items.append(f"<li>○ {name}</li>")
            continue
        options = "".join(f"<li><b>{escape(o.name)}</b>{html_list(o) or ' ∅'}</li>" for o in variable.options)
        items.append(f"<li>◇ {name}<ul>{options}</ul></li>")
    return f'<ul style="list-style:none;margin:0;padding-left:1.2em">{"".join(items)}</ul>'


def _branches(items: Any) -> Iterator[str]:
    items = list(items)
    for k, (title, group) in enumerate(items):
        last = k == len(items) - 1
        yield ("└── " if last else "├── ") + title
        indent = "    " if last else "│   "
        for line, inner in _mark_last(text_lines(group), group):
            yield indent + inner + line


def _mark_last(lines: Iterator[str], group: Group) -> Iterator[tuple[str, str]]:
    """Prefix a group's own lines with branch marks, and those of the groups below with a rail."""
    left = len(group.variables)
    for line in lines:
        if line[0] in "○◇":
            left -= 1
            yield line, "├── " if left else "└── "
        else:
            yield line, "│   " if left else "    "


# -------------------------------------------------------------------- paths and equivalences


def walk_paths(
    group: Group, column: int
) -> list[tuple[tuple[tuple[int, int], ...], tuple[int, ...], tuple[int, ...]]]:
    """(choices, active columns, continuous columns) of every path through a group."""
    own, continuous = [], []
    below = []
    for variable in group.variables:
        own.append(column)
        here = column
        column += 1
        if isinstance(variable, Continuous):
            continuous.append(here)
            continue
        branch = []
        for k, option in enumerate(variable.options):
            branch += [(((here, k), *c), a, z) for c, a, z in walk_paths(option, column)]
            column += option.n_columns
        below.append(branch)
    out = []
    for combination in itertools.product(*below):
        choices = tuple(c for part in combination for c in part[0])
        active = (*own, *(a for part in combination for a in part[1]))
        out.append((choices, active, (*continuous, *(z for part in combination for z in part[2]))))
    return out


FACTOR = -1  # label of a categorical beside others in canonical form; no group has it


def canonical_form(group: Group, above: int) -> tuple:
    """`above`: the least dimension that a leaf below this group gets from the rest of the tree."""
    label = above + group.min_dimension
    nodes = []
    for categorical in group.categoricals:
        least = min(option.min_dimension for option in categorical.options)
        nodes.append([canonical_form(option, label - least) for option in categorical.options])
    children = nodes[0] if len(nodes) == 1 else [(FACTOR, _sorted(n)) for n in nodes]
    return (label, _sorted(children))


def _sorted(children: list[tuple]) -> tuple:
    return tuple(sorted(children, key=lambda child: (sorted(_labels(child)), child)))


def _labels(node: tuple) -> Iterator[int]:
    yield node[0]
    for child in node[1]:
        yield from _labels(child)


def merge_up(group: Group) -> Group:
    """The group with variables that all options of a categorical share moved above it."""
    continuous, categoricals = list(group.continuous), []
    for categorical in group.categoricals:
        options = [merge_up(option) for option in categorical.options]
        shared = min(len(option.continuous) for option in options)
        for same in zip(*(option.continuous[:shared] for option in options), strict=True):
            continuous.append(Continuous("/".join(dict.fromkeys(v.name for v in same))))
        kept = tuple(Group(o.continuous[shared:] + o.categoricals, o.name) for o in options)
        categoricals.append(Categorical(categorical.name, kept))
    return Group((*continuous, *categoricals), group.name)


def push_down(group: Group, given: tuple[Continuous, ...]) -> Group:
    """The group with its continuous variables, and those `given` from above, moved into its leaves."""
    carried = given + group.continuous
    if not group.categoricals:
        return Group(carried, group.name)
    categoricals = []
    for i, categorical in enumerate(group.categoricals):
        options = tuple(push_down(option, carried if i == 0 else ()) for option in categorical.options)
        categoricals.append(Categorical(categorical.name, options))
    return Group(tuple(categoricals), group.name)


def unroll(group: Group, rest: tuple[Categorical, ...] = ()) -> Group:
    """The group with one categorical at most, and so all groups below: the others, and `rest`, in every option."""
    first, *others = (*group.categoricals, *rest) or (None,)
    if first is None:
        return group
    options = tuple(unroll(option, tuple(others)) for option in first.options)
    return Group((*group.continuous, Categorical(first.name, options)), group.name)
