"""What it takes to say which things exist in which rows, in bits."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float
from scipy.stats import norm

from disentree.mimosa.coordinates.precision import column_precision
from disentree.mimosa.mixed.presence import Presence, has_zeros
from disentree.tables import Cells, Codec, Column
from disentree.tables.margins import forward, log_slope


def presence_bits(
    presence: Presence, present: Bool[np.ndarray, "n s"], cells: Cells, codec: Codec
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Bits of each row for which of its cells have a value: of every column on its own, and with the switches.

    A number that is often zero costs, on its own, what one Gaussian of all its values makes of that, on the grid
    that they are on."""
    n, p = len(cells), cells.numbers.shape[1]
    alone, switched = np.zeros(n), np.zeros(n)
    for s, switch in enumerate(presence.switches):
        above = present[:, switch.parent].copy() if switch.parent >= 0 else np.ones(n, bool)
        for other in range(s):  # where another option of its choice is there, it is not
            if switch.choice >= 0 and presence.switches[other].choice == switch.choice:
                above &= ~present[:, other]
        switched += _cost(present[:, s], above) * (1 - switch.explained)
        for column, sign in zip(switch.columns, switch.signs, strict=True):
            values = cells.numbers[:, column] if column < p else cells.categories[:, column - p]
            empty = np.isnan(values) if column < p else values < 0
            has = ~(empty | (values == sign))
            switched += _cost(has, present[:, s]) + _cost(has, ~present[:, s])
            if column < p and sign == 0 and has_zeros(values[~empty]):
                alone += _zeros_cost(values, codec.schema.numeric[column])
            else:
                alone += _cost(has, np.ones(n, bool))
    return alone, switched


def _zeros_cost(x: Float[np.ndarray, " n"], column: Column) -> Float[np.ndarray, " n"]:
    """Bits that a Gaussian of all numbers, zeros among them, takes more than one of the others alone."""
    there = ~np.isnan(x)
    numbers = x[there]
    t = forward(numbers, column.transform, column.unit)
    step = column_precision(numbers) * np.exp(log_slope(numbers, column.transform, column.unit))
    others = t[numbers != 0]
    whole = -norm.logpdf(t, t.mean(), max(t.std(), step.min())) - np.log(step)
    part = np.where(
        numbers == 0, 0.0, -norm.logpdf(t, others.mean(), max(others.std(), step.min())) - np.log(step)
    )
    out = np.zeros(len(x))
    out[there] = (whole - part) / np.log(2)
    return out


def _cost(happens: Bool[np.ndarray, " n"], among: Bool[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Bits of whether something happens in each of some rows; 0 for the others."""
    p = (happens[among].sum() + 0.5) / (among.sum() + 1)
    return np.where(among, -np.log2(np.where(happens, p, 1 - p)), 0.0)
