"""Low-cardinality columns of a table, in which latent classes are looked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from disentree.mimosa.mixed.constants import MIXED
from disentree.tables import Cells, Schema


@dataclass(frozen=True)
class FewValued:
    """Low-cardinality columns: of categories, then of whole numbers."""

    categorical: list[int]
    counted: list[int]
    counts: list[Float[np.ndarray, " _"]]  # the values of those
    columns: list[Int[np.ndarray, " n"]]  # positions among the values of each; -1 where a cell is empty
    n_levels: list[int]


def few_valued(cells: Cells, schema: Schema, possible: Sequence[int], searched: Sequence[int]) -> FewValued:
    """Those of the possible columns (numbers first, as in `Cells.empty`) that have few values; `searched` ones are
    taken as numbers."""
    p, most = cells.numbers.shape[1], len(cells) / MIXED.rows_per_value
    categorical = [j - p for j in possible if j >= p and 1 < len(schema.categorical[j - p].levels) <= most]
    whole = [j for j in possible if j < p and j not in searched and schema.numeric[j].kind == "integer"]
    values = {j: np.unique(x[~np.isnan(x)]) for j, x in ((j, cells.numbers[:, j]) for j in whole)}
    counted = [j for j in whole if 1 < len(values[j]) <= min(MIXED.few_values, most)]
    columns = [cells.categories[:, j] for j in categorical]
    columns += [places_among(values[j], cells.numbers[:, j]) for j in counted]
    n_levels = [len(schema.categorical[j].levels) for j in categorical] + [len(values[j]) for j in counted]
    return FewValued(categorical, counted, [values[j] for j in counted], columns, n_levels)


def places_among(values: Float[np.ndarray, " k"], x: Float[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
    """The place of each number among some, -1 if it is none of them.

    Examples
    --------
    >>> places_among(np.array([1.0, 2.0, 5.0]), np.array([5.0, 3.0, np.nan, 1.0])).tolist()
    [2, -1, -1, 0]
    """
    places = np.searchsorted(values, x).clip(max=len(values) - 1)
    return np.where(values[places] == x, places, -1)
