"""The columns of a table that groups are looked for in which differ in categories alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from disentree.tables import Cells, Schema

MOST_NUMBERS = 10  # of a column of whole numbers, for them to be answers as from 1 to 5
ROWS_PER_VALUE = 20  # in the mean; a column with fewer names persons, models or places


@dataclass(frozen=True)
class Answered:
    """Columns with few values.

    Attributes
    ----------
    categorical : list of int
        Columns of categories.
    counted : list of int
        Columns of whole numbers.
    counts : list of array
        The values of these.
    columns : list of array of shape (n,)
        Positions among the values of each, of categories first; -1 where a cell is empty.
    n_levels : list of int
    """

    categorical: list[int]
    counted: list[int]
    counts: list[Float[np.ndarray, " _"]]
    columns: list[Int[np.ndarray, " n"]]
    n_levels: list[int]


def answered(cells: Cells, schema: Schema, possible: Sequence[int], searched: Sequence[int]) -> Answered:
    """Those of some columns that have few values.

    Parameters
    ----------
    cells : Cells
    schema : Schema
    possible : sequence of int
        Columns, numbers first, as in `Cells.empty`.
    searched : sequence of int
        Columns of numbers that are taken as such.

    Returns
    -------
    Answered
    """
    p, most = cells.numbers.shape[1], len(cells) / ROWS_PER_VALUE
    categorical = [j - p for j in possible if j >= p and 1 < len(schema.categorical[j - p].levels) <= most]
    whole = [j for j in possible if j < p and j not in searched and schema.numeric[j].kind == "integer"]
    values = {j: np.unique(x[~np.isnan(x)]) for j, x in ((j, cells.numbers[:, j]) for j in whole)}
    counted = [j for j in whole if 1 < len(values[j]) <= min(MOST_NUMBERS, most)]
    columns = [cells.categories[:, j] for j in categorical]
    columns += [places_among(values[j], cells.numbers[:, j]) for j in counted]
    n_levels = [len(schema.categorical[j].levels) for j in categorical] + [len(values[j]) for j in counted]
    return Answered(categorical, counted, [values[j] for j in counted], columns, n_levels)


def places_among(values: Float[np.ndarray, " k"], x: Float[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
    """The place of each number among some, -1 if it is none of them.

    Examples
    --------
    >>> places_among(np.array([1.0, 2.0, 5.0]), np.array([5.0, 3.0, np.nan, 1.0])).tolist()
    [2, -1, -1, 0]
    """
    places = np.searchsorted(values, x).clip(max=len(values) - 1)
    return np.where(values[places] == x, places, -1)
