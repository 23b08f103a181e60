"""Single variables moved up and pushed down, and codes with them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from disentree.hierarchy.codes import as_codes
from disentree.hierarchy.columns import Variable
from disentree.hierarchy.tree import Categorical, Continuous, Group

if TYPE_CHECKING:
    from disentree.hierarchy.hierarchy import Hierarchy

# A group by the column and option of the categorical that opens it; the root has none.
Place = tuple[int, int] | None
# For each column of a new tree, those of the old one that it has its values from.
Sources = tuple[tuple[int, ...], ...]


_NUMBER = re.compile(r" \(\d+\)$")  # that tells variables of the same columns apart


@dataclass(frozen=True)
class Move:
    """A hierarchy with variables in other places, and how codes get there and back.

    Attributes
    ----------
    before, after : Hierarchy
        Both have the same paths, and as many variables on each.
    sources : tuple of tuple of int
        For each column of `after` the columns of `before` that it has its values from: several if they became one.
    """

    before: Hierarchy
    after: Hierarchy
    sources: Sources

    def columns(self, columns: Sequence[int]) -> list[int]:
        """Columns of `before` as the columns of `after` that have their values.

        Parameters
        ----------
        columns : list of int

        Returns
        -------
        list of int
        """
        found = (i for column in columns for i, own in enumerate(self.sources) if column in own)
        return list(dict.fromkeys(found))

    def codes(self, codes: ArrayLike) -> Float[np.ndarray, "n w"]:
        """Codes of the same rows after the move.

        Parameters
        ----------
        codes : array-like of shape (n_rows, before.n_variables)

        Returns
        -------
        ndarray of float, shape (n_rows, after.n_variables)
        """
        return _carried(as_codes(codes, self.before.n_variables), self.after, self.sources)

    def back(self, codes: ArrayLike) -> Float[np.ndarray, "n v"]:
        """Codes of the same rows before the move.

        Parameters
        ----------
        codes : array-like of shape (n_rows, after.n_variables)

        Returns
        -------
        ndarray of float, shape (n_rows, before.n_variables)
        """
        origins: list[list[int]] = [[] for _ in self.before.variables]
        for column, sources in enumerate(self.sources):
            for source in sources:
                origins[source].append(column)
        return _carried(as_codes(codes, self.after.n_variables), self.before, origins)


def _carried(
    codes: Float[np.ndarray, "n v"], hierarchy: Hierarchy, sources: Sequence[Sequence[int]]
) -> Float[np.ndarray, "n w"]:
    """The first known value of the sources of each column, where it is active."""
    out = np.full((len(codes), len(sources)), np.nan)
    for column, own in enumerate(sources):
        for source in own:
            out[:, column] = np.where(np.isnan(out[:, column]), codes[:, source], out[:, column])
    return np.where(hierarchy.active(out), out, np.nan)


def moved_up(hierarchy: Hierarchy, same: Sequence[Sequence[int]]) -> tuple[Group, Sources]:
    """One variable for each list of columns, in the lowest group that is above them all."""
    new: dict[Place, list[tuple[int, ...]]] = {}
    numbers = Counter(column for columns in same for column in columns)
    if twice := [column for column, n in numbers.items() if n > 1]:
        raise ValueError(f"same must have each column once, got {twice[0]} twice")
    for columns in same:
        place = _above(hierarchy.variables, columns)
        through = [p for p in hierarchy.paths if place is None or place in p.choices]
        if len(columns) < 2 or any(len(set(columns) & set(p.continuous)) != 1 for p in through):
            raise ValueError(
                "same must have lists of two or more columns of continuous variables, of which every path below "
                f"the lowest group above them has one; got {list(columns)}"
            )
        new.setdefault(place, []).append(tuple(columns))
    return _rebuilt(hierarchy, set(numbers), new)


def pushed_down(hierarchy: Hierarchy, columns: Sequence[int]) -> tuple[Group, Sources]:
    """These variables in every option of the first categorical of their group."""
    new: dict[Place, list[tuple[int, ...]]] = {}
    for column in dict.fromkeys(columns):
        own = hierarchy.variables[column]
        beside = [v for v in hierarchy.variables if v.n_options and _place(v) == _place(own)]
        if own.kind != "continuous" or not beside:
            raise ValueError(
                f"columns must be of continuous variables with a categorical in their group, got {column}"
            )
        for option in range(beside[0].n_options):
            new.setdefault((beside[0].index, option), []).append((column,))
    return _rebuilt(hierarchy, set(columns), new)


def _place(variable: Variable) -> Place:
    return None if variable.parent is None or variable.option is None else (variable.parent, variable.option)


def _above(variables: Sequence[Variable], columns: Sequence[int]) -> Place:
    """The lowest group that all of these columns are in or below."""

    def groups(column: int) -> list[Place]:
        place = _place(variables[column])
        return [None] if place is None else [*groups(place[0]), place]

    shared: Place = None
    for places in zip(*map(groups, columns), strict=False):
        if len(set(places)) > 1:
            break
        shared = places[0]
    return shared


def _rebuilt(
    hierarchy: Hierarchy, gone: set[int], new: Mapping[Place, Sequence[tuple[int, ...]]]
) -> tuple[Group, Sources]:
    """The tree without some variables and with new ones, which come before the categoricals of their group."""
    names, sources = [v.name for v in hierarchy.variables], []

    def visit(group: Group, place: Place, column: int) -> Group:
        kept = []
        for variable in group.variables:
            kept.append((variable, column))
            column += 1 + sum(option.n_columns for option in getattr(variable, "options", ()))
        first = next((i for i, (v, _) in enumerate(kept) if isinstance(v, Categorical)), len(kept))
        out: list[Continuous | Categorical] = []
        for variable, here in [*kept[:first], *((None, own) for own in new.get(place, ())), *kept[first:]]:
            if isinstance(here, tuple):
                sources.append(here)
                own = list(dict.fromkeys(names[c] for c in here))
                alike = len({_NUMBER.sub("", name) for name in own}) == 1  # "hour", "hour (2)"
                out.append(Continuous(own[0] if alike else "/".join(own)))
            elif isinstance(variable, Categorical):
                sources.append((here,))
                options, below = [], here + 1
                for k, option in enumerate(variable.options):
                    options.append(visit(option, (here, k), below))
                    below += option.n_columns
                out.append(Categorical(variable.name, tuple(options)))
            elif variable is not None and here not in gone:
                sources.append((here,))
                out.append(variable)
        return Group(tuple(out), group.name)

    root = visit(hierarchy.root, None, 0)
    return root, tuple(sources)
