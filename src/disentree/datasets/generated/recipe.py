"""How a data set with ground truth is made: its codes are drawn, then turned into rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from disentree.hierarchy import Hierarchy
from disentree.hierarchy.tree import Categorical, Continuous, Group

Codes = Float[np.ndarray, "n v"]
Rows = Float[np.ndarray, "n p"]


@dataclass(frozen=True)
class Recipe:
    """A data set that is generated."""

    description: str
    hierarchy: Hierarchy  # of the codes
    sample_codes: Callable[[int, np.random.Generator], Codes]
    render: Callable[[Codes], Rows]  # without noise
    disturb: Callable[[Rows, np.random.Generator], Rows] | None = None  # adds noise of its own, below `noise`
    columns: tuple[str, ...] = ()  # their names; rows come as a DataFrame if there are any


def choice(name: str, **options: tuple[str | Categorical, ...]) -> Categorical:
    """A categorical with the variables below each option; `_` in the name of an option is a blank."""
    return Categorical(name, tuple(_group(below, option.replace("_", " ")) for option, below in options.items()))


def tree(*variables: str | Categorical) -> Hierarchy:
    """A hierarchy of continuous variables, by their names, and of choices."""
    return Hierarchy(_group(variables))


def _group(variables: tuple[str | Categorical, ...], name: str = "") -> Group:
    return Group(tuple(Continuous(v) if isinstance(v, str) else v for v in variables), name)
