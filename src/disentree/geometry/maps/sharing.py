"""The search for variables of different branches that do the same, whatever they are compared by."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Generic, TypeVar

from disentree.hierarchy import Hierarchy
from disentree.hierarchy.tree import Continuous, Group


@dataclass(frozen=True, eq=False)
class Item:
    """One variable, or several that do the same on different branches."""

    columns: tuple[int, ...]
    options: frozenset[int]  # of the choice that it is below


ItemT = TypeVar("ItemT", bound=Item)


class Sharing(ABC, Generic[ItemT]):
    """The search for variables that do the same, from the lowest choices up, whatever they are compared by."""

    def __init__(self, hierarchy: Hierarchy):
        self.hierarchy = hierarchy
        self.above: list[list[int]] = []  # columns that are one variable on all branches of a choice
        self.partly: list[list[int]] = []  # and on some of them

    @abstractmethod
    def item(self, columns: tuple[int, ...], option: int) -> ItemT | None:
        """A variable that all paths below an option have; None if too few rows tell what it does."""

    @abstractmethod
    def grouped(self, items: list[ItemT]) -> list[ItemT]:
        """The variables of the options of a choice, those that do the same as one."""

    def variables(self, group: Group, column: int = 0) -> list[tuple[int, ...]]:
        """The columns of each variable that a group and all branches below it have."""
        own = []
        for variable in group.variables:
            here, column = column, column + 1
            if isinstance(variable, Continuous):
                own.append((here,))
                continue
            below, items = [], []
            for k, option in enumerate(variable.options):
                for columns in self.variables(option, column):
                    below.append(columns)
                    items.append(self.item(columns, k))
                column += option.n_columns
            for one in self.grouped([item for item in items if item is not None]):
                if len(one.options) == len(variable.options):
                    own.append(one.columns)
                elif len(one.options) > 1:
                    self.partly.append(list(one.columns))
            higher = {column for columns in own for column in columns}
            self.above += [list(columns) for columns in below if len(columns) > 1 and columns[0] not in higher]
        return own

    def found(self) -> tuple[list[list[int]], list[list[int]]]:
        """Columns that are one variable on all branches of a choice, and those that are one on some of them."""
        self.above += [list(columns) for columns in self.variables(self.hierarchy.root) if len(columns) > 1]
        return sorted(map(sorted, self.above)), sorted(map(sorted, self.partly))


def may_share(group: Group) -> bool:
    """Whether two options of some choice have variables."""
    inside = [option for choice in group.categoricals for option in choice.options]
    return sum(option.n_columns > 0 for option in inside) > 1 or any(map(may_share, inside))
