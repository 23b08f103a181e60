"""The columns of codes, and the paths: what the tree is for arrays."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Literal

from disentree.hierarchy.tree import Continuous, Group


@dataclass(frozen=True)
class Variable:
    """One column of a code array: a variable and its place in the tree.

    Attributes
    ----------
    index : int
        The column.
    name : str
        A label.
    kind : {"continuous", "categorical"}
        Which values it has.
    parent : int or None
        Column of the categorical above it; None at the root.
    option : int or None
        The option of that categorical which opens its group.
    depth : int
        Number of categoricals above it.
    options : tuple of str
        Names of the options of a categorical.
    """

    index: int
    name: str
    kind: Literal["continuous", "categorical"]
    parent: int | None
    option: int | None
    depth: int
    options: tuple[str, ...] = ()

    @property
    def n_options(self) -> int:
        """Number of options; 0 for a continuous variable."""
        return len(self.options)


@dataclass(frozen=True)
class Path:
    """One leaf of the tree.

    Attributes
    ----------
    index : int
        Its position in `Hierarchy.paths`.
    name : str
        The choices that lead to it, as in ``"shape=moon/jet=yes"``; ``"all"`` if there are none.
    choices : tuple of (int, int)
        Column of a categorical and the option chosen, for every categorical on the path.
    active : tuple of int
        Columns that are active on the path, ascending.
    continuous : tuple of int
        The continuous ones among them, each group before the groups that it opens.
    """

    index: int
    name: str
    choices: tuple[tuple[int, int], ...]
    active: tuple[int, ...]
    continuous: tuple[int, ...]

    @property
    def dimension(self) -> int:
        """Number of continuous variables on the path."""
        return len(self.continuous)


def variables_of(root: Group) -> tuple[Variable, ...]:
    """The columns of codes for a tree."""
    out: list[Variable] = []

    def visit(group: Group, parent: int | None, option: int | None, depth: int) -> None:
        for variable in group.variables:
            column = len(out)
            if isinstance(variable, Continuous):
                out.append(Variable(column, variable.name, "continuous", parent, option, depth))
                continue
            names = tuple(o.name for o in variable.options)
            out.append(Variable(column, variable.name, "categorical", parent, option, depth, names))
            for k, child in enumerate(variable.options):
                visit(child, column, k, depth + 1)

    visit(root, None, None, 0)
    return tuple(out)


def paths_of(root: Group, variables: tuple[Variable, ...]) -> tuple[Path, ...]:
    """The leaves of a tree with these columns. The first categorical of a group varies slowest."""
    names = [v.name for v in variables]
    option_names = [v.options for v in variables]
    out = []
    for index, (choices, active, continuous) in enumerate(walk_paths(root, 0)):
        name = "/".join(f"{names[c]}={option_names[c][k]}" for c, k in choices) or "all"
        out.append(Path(index, name, choices, tuple(sorted(active)), continuous))
    return tuple(out)


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
