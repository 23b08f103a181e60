"""The tree itself: groups of variables."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property


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
