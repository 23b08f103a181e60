"""How a data set with ground truth is made: its codes are drawn, then turned into rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from disentree.hierarchy import Hierarchy

Codes = Float[np.ndarray, "n v"]
Rows = Float[np.ndarray, "n p"]


@dataclass(frozen=True)
class Recipe:
    """A data set that is generated.

    Attributes
    ----------
    description : str
    hierarchy : Hierarchy
        Of the codes.
    sample_codes : callable
        Draws the codes of n rows with a generator.
    render : callable
        Rows without noise from codes.
    disturb : callable or None
        Adds noise that belongs to the data set itself; the option `noise` comes on top.
    columns : tuple of str
        Names of the columns; rows come as a DataFrame if there are any.
    """

    description: str
    hierarchy: Hierarchy
    sample_codes: Callable[[int, np.random.Generator], Codes]
    render: Callable[[Codes], Rows]
    disturb: Callable[[Rows, np.random.Generator], Rows] | None = None
    columns: tuple[str, ...] = ()
