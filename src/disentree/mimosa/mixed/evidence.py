"""What cells say: their categories about the leaf that a row is on, which of them have a value about what exists,
and all of them about how strange the row is.

Shares are those of the training rows, with half a row more for everything that may happen, so that nothing is
impossible and whatever never happened is as surprising as the rows are many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from disentree.mimosa.coordinates.reach import square
from disentree.mimosa.mixed.branches import Branch
from disentree.mimosa.mixed.constants import MIXED
from disentree.mimosa.mixed.nesting import Switch
from disentree.mimosa.mixed.presence import Presence, cell_states, has_value
from disentree.tables import Cells, Codec, Column
from disentree.tables.margins import deviation, forward


def fit_evidence(
    categories: Int[np.ndarray, "n q"],
    consulted: Sequence[int],
    log_joint: Float[np.ndarray, "n leaves"],
    codec: Codec,
    rng: np.random.Generator,
) -> list[Float[np.ndarray, "_ _"]]:
    """What each value says about the leaf, as far as it can be trusted: with the power of the likelihood that
    describes held-out rows best."""
    if not consulted or log_joint.shape[1] < 2:
        return []
    n_levels = [len(codec.schema.categorical[j].levels) for j in consulted]
    half = rng.permutation(len(categories)) % 2 == 0

    def tables(rows: Bool[np.ndarray, " n"], power: float) -> list[np.ndarray]:
        joint = log_joint[rows]
        R = np.exp(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True))
        out = []
        for j, k in zip(consulted, n_levels, strict=True):
            values = categories[rows, j]
            counts = np.stack([R[values == v].sum(axis=0) for v in range(k)]) + 0.0
            overall = (counts.sum(axis=1) + 0.5) / (counts.sum() + 0.5 * k)
            share = (counts + overall[:, None]) / (counts.sum(axis=0) + 1.0)
            mixed = share**power * overall[:, None] ** (1 - power)
            table = np.log(mixed / mixed.sum(axis=0)) - np.log(overall)[:, None]
            out.append(np.concatenate([table, np.zeros((1, R.shape[1]))]))  # the last is for empty cells
        return out

    def gain(power: float) -> float:
        made = tables(half, power)
        joint = log_joint[~half] + sum(t[categories[~half, j]] for j, t in zip(consulted, made, strict=True))
        return float(np.logaddexp.reduce(joint, axis=1).mean())

    best = max(MIXED.powers, key=gain)
    return tables(np.ones(len(categories), bool), best) if best else []


# -------------------------------------------------------------------- what exists


@dataclass(frozen=True)
class Existence:
    """How likely the cells that show what exists are, under each option of each branch, as logs.

    All columns that show a thing count, each by itself: the category that decides, and every column of the thing
    by whether it has a value.
    """

    options: list[Float[np.ndarray, " _"]]  # of each branch, in the rows that get to it
    # Each value of the column that decides (then one that was never seen, then an empty cell), under each option;
    # without rows for branches that no column decides.
    values: list[Float[np.ndarray, "_ _"]]
    # For each switch: where its thing does not exist and where it does, each state (`cell_states`) of each column.
    states: list[Float[np.ndarray, "2 3 _"]]

    def of_options(self, branches: Sequence[Branch], cells: Cells) -> list[Float[np.ndarray, "n _"]]:
        """For each branch the log of the share of each option times that of the cell that decides."""
        out = []
        for branch, shares, values in zip(branches, self.options, self.values, strict=True):
            if branch.column < 0:
                out.append(np.tile(shares, (len(cells), 1)))
            else:
                out.append(shares + values[cells.places(branch.column, len(shares))])
        return out

    def of_switches(self, switches: Sequence[Switch], cells: Cells) -> Float[np.ndarray, "2 n s"]:
        """For each switch the log of the share of cells as they are where its thing does not exist, and where it
        does."""
        out = np.zeros((2, len(cells), len(switches)))
        for s, (switch, shares) in enumerate(zip(switches, self.states, strict=True)):
            for j, (column, sign) in enumerate(zip(switch.columns, switch.signs, strict=True)):
                out[:, :, s] += shares[:, cell_states(cells, column, sign), j]
        return out


def fit_existence(
    presence: Presence,
    branches: Sequence[Branch],
    cells: Cells,
    present: Bool[np.ndarray, "n s"],
    chosen: Int[np.ndarray, "n b"],
) -> Existence:
    """From the option of each branch that training rows are on; things that no branch opens exist where they are
    present."""
    exists = present.copy()
    options, values = [], []
    for b, branch in enumerate(branches):  # parents come first
        reached = exists[:, branch.parent] if branch.parent >= 0 else np.ones(len(cells), bool)
        exists[:, branch.switches] = np.array(branch.exists)[chosen[:, b]] & reached[:, None]
        k = len(branch.options)
        options.append(_log_shares(np.bincount(chosen[reached, b], minlength=k)))
        if branch.column < 0:
            values.append(np.zeros((0, k)))
            continue
        places = cells.places(branch.column, k)
        counts = [np.bincount(places[chosen[:, b] == option], minlength=k + 2) for option in range(k)]
        values.append(_log_shares(np.stack(counts, axis=1)))
    states = []
    for s, switch in enumerate(presence.switches):
        own = exists[:, s]
        counts = np.zeros((2, 3, len(switch.columns)), np.int64)
        for j, (column, sign) in enumerate(zip(switch.columns, switch.signs, strict=True)):
            there = cell_states(cells, column, sign)
            counts[:, :, j] = [np.bincount(there[own == e], minlength=3) for e in (False, True)]
        states.append(np.stack([_log_shares(count) for count in counts]))
    return Existence(options, values, states)


def _log_shares(counts: Int[np.ndarray, "k ..."]) -> Float[np.ndarray, "k ..."]:
    """Of what was counted, along the first axis."""
    return np.log((counts + 0.5) / (counts.sum(axis=0) + 0.5 * len(counts)))


# -------------------------------------------------------------------- how strange


@dataclass(frozen=True)
class UsualCells:
    """What cells are usually like, column by column: those that say something else than where a row is, or more.

    Numbers that were searched have a density of their own; which cells of a branch have a value, and which
    category decides, `Existence` knows.
    """

    empty: list[int]  # columns whose being empty is not for a branch to say
    empty_shares: Float[np.ndarray, "2 _"]  # log of the share of their cells with a value, and without
    numbers: list[int]  # columns of numbers that were not searched
    signs: list[float]  # and what stands for nothing in them; NaN for an empty cell
    centers: Float[np.ndarray, " _"]  # of the others, transformed as the column is
    scales: Float[np.ndarray, " _"]
    categories: list[int]  # columns of categories that decide nothing
    category_shares: list[Float[np.ndarray, " _"]]  # log of the share of each value, and of one never seen

    def bits(self, cells: Cells, codec: Codec) -> Float[np.ndarray, " n"]:
        """What the cells of each row take; a number takes 0 on average, so that units do not count."""
        nats = -np.take_along_axis(
            self.empty_shares[:, None, :], _is_empty(cells)[None, :, self.empty].astype(int), axis=0
        )[0].sum(axis=1)
        about = zip(self.numbers, self.signs, self.centers, self.scales, strict=True)
        for j, sign, center, scale in about:
            there = has_value(cells, j, sign)
            z = _transformed(cells.numbers[there, j], codec.schema.numeric[j])
            with np.errstate(over="ignore"):
                nats[there] += 0.5 * square((z - center) / scale) - 0.5
        for q, shares in zip(self.categories, self.category_shares, strict=True):
            places = cells.places(q, len(shares) - 1)
            known = places < len(shares)
            nats[known] -= shares[places[known]]
        return nats / np.log(2)


def fit_usual_cells(
    cells: Cells, codec: Codec, presence: Presence, branches: Sequence[Branch], searched: Sequence[int]
) -> UsualCells:
    """From training rows."""
    p = cells.numbers.shape[1]
    sign_of = {column: sign for s in presence.switches for column, sign in zip(s.columns, s.signs, strict=True)}
    deciding = {p + branch.column for branch in branches if branch.column >= 0}
    empty = [j for j in range(cells.empty.shape[1]) if j not in deciding and j not in sign_of]
    counts = _is_empty(cells)[:, empty].sum(axis=0)
    numbers = [j for j in range(p) if j not in searched]
    signs = [sign_of.get(j, np.nan) for j in numbers]
    of_numbers = []
    for j, sign in zip(numbers, signs, strict=True):
        column = codec.schema.numeric[j]
        z = _transformed(cells.numbers[has_value(cells, j, sign), j], column)
        center = float(z.mean()) if len(z) else 0.0
        # What never varied is known as well as the rows are many.
        of_numbers.append((center, deviation(z) or max(abs(center), 1.0) / len(cells)))
    categories = [q for q in range(cells.categories.shape[1]) if p + q not in deciding]
    shares = []
    for q in categories:
        k = len(codec.schema.categorical[q].levels)
        places = cells.places(q, k)
        shares.append(_log_shares(np.bincount(places[places < k], minlength=k + 1)))
    centers, scales = np.array(of_numbers).reshape(-1, 2).T
    return UsualCells(
        empty=empty,
        empty_shares=_log_shares(np.stack([len(cells) - counts, counts])),
        numbers=numbers,
        signs=signs,
        centers=centers,
        scales=scales,
        categories=categories,
        category_shares=shares,
    )


def _is_empty(cells: Cells) -> Bool[np.ndarray, "n m"]:
    """Which cells have no value at all, not even one that was never seen."""
    return cells.empty & ~np.concatenate([np.zeros(cells.numbers.shape, bool), cells.is_unseen], axis=1)


def _transformed(x: Float[np.ndarray, " n"], column: Column) -> Float[np.ndarray, " n"]:
    return forward(x, column.transform, column.unit)
