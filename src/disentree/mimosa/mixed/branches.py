"""The categoricals of a table's tree: one for each thing that exists in some rows only, or for a column whose
value decides which things exist (the shape of a ship, the sex of a patient)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Bool, Int

from disentree.hierarchy import Hierarchy
from disentree.hierarchy.tree import Categorical, Continuous, Group
from disentree.mimosa.constants import FIT
from disentree.mimosa.explain.column_names import common_name, unique
from disentree.mimosa.mixed.nesting import rivals
from disentree.mimosa.mixed.presence import Presence
from disentree.mimosa.tree.constants import TREE
from disentree.tables import Cells, Column, Schema


@dataclass(frozen=True)
class Branch:
    """A categorical of the tree: a column whose value is the option, or whether a thing exists, or which of
    several."""

    column: int  # -1 if no column decides
    switches: list[int]  # the things that exist under some of its options
    options: list[str]
    exists: list[list[bool]]  # for each option and switch
    parent: int = -1  # the switch that the branch is below, -1 for none


def make_branches(
    presence: Presence, cells: Cells, schema: Schema, present: Bool[np.ndarray, "n s"]
) -> list[Branch]:
    """A branch for every choice of things; those that a column decides are below its options together."""
    left = set(range(len(presence.switches)))
    out = []
    tops = [s for s in sorted(left) if presence.switches[s].parent < 0]
    decided = {j: _decided(cells.categories[:, j], tops, present) for j in range(cells.categories.shape[1])}
    p = cells.numbers.shape[1]
    owned = {c for switch in presence.switches for c in switch.columns}
    for j in sorted(decided, key=lambda j: -len(decided[j])):
        switches = [s for s in decided[j] if s in left]
        levels = schema.categorical[j].levels
        if p + j in owned or not switches:
            continue
        values = cells.categories[:, j]
        exists = [[bool(present[values == k, s].mean() > 0.5) for s in switches] for k in range(len(levels))]
        if len(set(map(tuple, exists))) < len(levels):
            continue  # its values are more than what exists
        out.append(Branch(j, switches, list(levels), exists))
        left -= set(switches)
    names = thing_names(presence, (*schema.numeric, *schema.categorical), schema.columns)
    for group in rivals(presence.switches):
        if switches := [s for s in group if s in left]:
            out.append(_of_things(switches, presence.switches[switches[0]].parent, names, present))
    return sorted(out, key=lambda branch: min(branch.switches))


def _of_things(
    switches: Sequence[int], parent: int, names: Sequence[str], present: Bool[np.ndarray, "n s"]
) -> Branch:
    """Whether a thing exists, or which of several does; that none does is an option if there are such rows."""
    if len(switches) == 1:
        return Branch(-1, list(switches), ["no", "yes"], [[False], [True]], parent)
    exists = np.eye(len(switches), dtype=bool).tolist()
    among = present[:, parent] if parent >= 0 else np.ones(len(present), bool)
    none = ~present[among][:, switches].any(axis=1)
    options = [names[s] for s in switches]
    if none.sum() >= TREE.expected:
        exists.append([False] * len(switches))
        options.append("neither" if len(switches) == 2 else "none")
    taken: set[str] = set()
    return Branch(-1, list(switches), [unique(name, taken) for name in options], exists, parent)


def thing_names(presence: Presence, columns: Sequence[Column], order: Sequence[Column]) -> list[str]:
    """What the columns that a thing owns have in common in their names; else the first of them, in the `order` of
    the table: columns that come first tell what a table is about."""
    place = {column.name: i for i, column in enumerate(order)}
    owned = ([columns[j].name for j in switch.columns] for switch in presence.switches)
    return [
        common_name(sorted(names, key=place.__getitem__), [name for name in place if name not in names])
        for names in owned
    ]


def _decided(
    values: Int[np.ndarray, " n"], switches: Sequence[int], present: Bool[np.ndarray, "n s"]
) -> list[int]:
    """The things that exist in all or none of the rows of each value."""
    levels, counts = np.unique(values[values >= 0], return_counts=True)
    if len(levels) < 2 or counts.min() < TREE.expected or (values < 0).mean() > FIT.exceptions:
        return []
    rates = np.array([[present[values == k, s].mean() for s in switches] for k in levels]).reshape(len(levels), -1)
    clear = np.minimum(rates, 1 - rates).max(axis=0) <= FIT.exceptions
    return [s for s, c in zip(switches, clear, strict=True) if c]


def choices(branches: Sequence[Branch], cells: Cells, present: Bool[np.ndarray, "n s"]) -> Int[np.ndarray, "n b"]:
    """The option of each branch that a row is on, whether or not the branch is open to it.

    A column that decides, and is empty, is decided by what exists. A row with two things that are instead of each
    other is on the option of the commoner one, and so is one with none if that is no option: switches are in the
    order of their shares, and the first of equal options is taken."""
    out = np.zeros((len(cells), len(branches)), np.int64)
    for b, branch in enumerate(branches):
        exists = np.array(branch.exists)
        seen = present[:, branch.switches]
        likely = (seen[:, None, :] == exists[None]).sum(axis=2).argmax(axis=1)
        if branch.column < 0:
            out[:, b] = likely
        else:
            values = cells.categories[:, branch.column]
            out[:, b] = np.where(values >= 0, values, likely)
    return out


@dataclass(frozen=True)
class Names:
    """How the tree calls its branches, and the variables of each switch."""

    branches: list[str]
    groups: list[str]


def product_hierarchy(
    core: Hierarchy, more: int, branches: Sequence[Branch], dimensions: Sequence[int], names: Names
) -> Hierarchy:
    """The tree of the columns that all rows have, with `more` continuous variables and the branches beside it;
    each switch has a number of `dimensions`."""
    fresh = partial(unique, taken={v.name for v in core.variables})

    def of_switch(s: int) -> list[Continuous | Categorical]:
        own: list[Continuous | Categorical] = [
            Continuous(fresh(f"{names.groups[s]} {i + 1}")) for i in range(dimensions[s])
        ]
        return own + [categorical(b) for b in range(len(branches)) if branches[b].parent == s]

    def categorical(b: int) -> Categorical:
        branch = branches[b]
        name = fresh(names.branches[b])
        options = []
        for option, exists in zip(branch.options, branch.exists, strict=True):
            here = [s for s, there in zip(branch.switches, exists, strict=True) if there]
            options.append(Group(tuple(v for s in here for v in of_switch(s)), option))
        return Categorical(name, tuple(options))

    extra = [Continuous(fresh(f"x{i + 1}")) for i in range(more)]
    tops = [categorical(b) for b in range(len(branches)) if branches[b].parent < 0]
    return Hierarchy(Group((*core.root.variables, *extra, *tops)))


def grafted(core: Hierarchy, has: Bool[np.ndarray, " leaves"], dimension: int, name: str) -> Hierarchy | None:
    """A tree with variables of a thing in the groups of those leaves that have it, once for leaves that share a
    group; None if no categorical says which leaves have it."""
    taken = {v.name for v in core.variables}

    def visit(group: Group, column: int, leaves: Bool[np.ndarray, " leaves"]) -> Group | None:
        """`group`, whose first variable is that `column`, with the thing for its `leaves`."""
        if not has[leaves].any():
            return group
        if has[leaves].all():
            own = tuple(Continuous(unique(f"{name} {i + 1}", taken)) for i in range(dimension))
            return Group((*group.variables, *own), group.name)
        for place, variable in enumerate(group.variables):
            if isinstance(variable, Categorical):
                options, below = [], column + 1
                for k, option in enumerate(variable.options):
                    through = np.array([(column, k) in path.choices for path in core.paths])
                    options.append(visit(option, below, leaves & through))
                    below += option.n_columns
                kept = tuple(option for option in options if option is not None)
                if len(kept) == len(options):
                    other = Categorical(variable.name, kept)
                    return Group((*group.variables[:place], other, *group.variables[place + 1 :]), group.name)
                column = below
            else:
                column += 1
        return None

    root = visit(core.root, 0, np.ones(len(core.paths), bool))
    return None if root is None else Hierarchy(root)
