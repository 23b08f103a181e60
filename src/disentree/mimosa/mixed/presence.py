"""What exists in some rows only: a garage, a second floor, the age at a diagnosis.

Cells say it in three ways. They are empty; they are exactly zero, where a number would otherwise be anything; or
they have a value that others' emptiness comes with (no fireplace: 0 fireplaces). Columns that say it together are
one *switch*: a categorical with two options, of which one opens a group with variables of its own. Switches whose
things exist only where those of another do are below it.

Whether empty cells mean that something does not exist, or only that it is not known, is decided by description
length: if which cells are empty follows from other columns, or is shared with them, it says something about rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int
from sklearn.tree import DecisionTreeClassifier

from disentree.mimosa.constants import FIT
from disentree.mimosa.coordinates.reach import unit_of
from disentree.mimosa.mixed.constants import MIXED
from disentree.mimosa.mixed.nesting import Switch, choose_switches, entropy, rivals
from disentree.mimosa.mixed.sharing import repeat, share_switches
from disentree.mimosa.tree.constants import TREE
from disentree.tables import Cells, Schema


@dataclass(frozen=True)
class Presence:
    """What exists where."""

    switches: list[Switch]  # parents before their children
    absent: Bool[np.ndarray, " m"]  # columns whose empty cells mean that something does not exist
    explained: Float[np.ndarray, " m"]  # the part of the bits of a column's empty cells that other columns explain

    def present(self, cells: Cells) -> Bool[np.ndarray, "n s"]:
        """In which rows each thing exists: where enough of the columns that it was found by have a value of their
        own, and that which it is a part of exists."""
        out = np.zeros((len(cells), len(self.switches)), bool)
        for s, switch in enumerate(self.switches):
            signs = list(zip(switch.columns, switch.signs, strict=True))[: switch.n_voters or None]
            votes = sum(has_value(cells, column, sign).astype(np.int64) for column, sign in signs)
            out[:, s] = votes >= (switch.least or len(signs) // 2 + 1)
            if switch.parent >= 0:
                out[:, s] &= out[:, switch.parent]
        return out


def has_value(cells: Cells, column: int, sign: float) -> Bool[np.ndarray, " n"]:
    """Where a cell is not empty and has another value than the one that stands for nothing."""
    return cell_states(cells, column, sign) == 1


def cell_states(cells: Cells, column: int, sign: float) -> Int[np.ndarray, " n"]:
    """What cells say of a thing: 0 where they have what stands for nothing, 1 where they have a value of their own
    and 2 where they say neither: they are empty, or have a value that was never seen, and the sign is another."""
    p = cells.numbers.shape[1]
    if column < p:
        values, unseen = cells.numbers[:, column], np.zeros(len(cells), bool)
        empty = np.isnan(values)
    else:
        values, unseen = cells.categories[:, column - p], cells.is_unseen[:, column - p]
        empty = (values < 0) & ~unseen
    if np.isnan(sign):
        return np.where(empty, 0, 1)
    return np.where(empty | unseen, 2, np.where(values == sign, 0, 1))


def find_presence(
    cells: Cells, schema: Schema, rng: np.random.Generator
) -> tuple[Presence, Bool[np.ndarray, "n s"]]:
    """Switches of a table, and in which rows the thing of each exists."""
    signs = _signs(cells, schema) if len(cells) >= FIT.fewest else []  # of fewer rows nothing is told
    n, m = len(cells), cells.empty.shape[1]
    explained = np.zeros(m)
    absent = np.zeros(m, bool)
    explain = _Explainer(cells, schema, rng)
    switches, actives = [], []
    for shared in share_switches(np.stack([s.active for s in signs], axis=1)) if signs else []:
        group = shared.columns
        active = np.sum([signs[i].active for i in group], axis=0) >= shared.least
        columns = [signs[i].column for i in group]
        by_emptiness = [signs[i].column for i in group if np.isnan(signs[i].value)]
        part = 1.0 if len(group) > 1 else explain(active, columns)
        explained[by_emptiness] = part
        if n - active.sum() < TREE.expected:
            continue
        implied = explain.is_implied(active, columns) or explain.is_implied_by_other(active, columns)
        by_rule = part >= FIT.half or implied
        if by_emptiness and not by_rule and active.mean() >= 1 - FIT.half:
            continue  # not known, by accident
        absent[by_emptiness] = True
        if active.sum() < TREE.expected or (by_emptiness and not by_rule):
            continue
        witnesses = _witnesses(cells, schema, active, columns)
        columns += [j for j, _ in witnesses]
        values = [signs[i].value for i in group] + [value for _, value in witnesses]
        found_by = Switch(columns, values, n_voters=len(group), least=shared.least)
        about = replace(found_by, share=float(active.mean()), explained=explain(active, columns))
        switches.append(about)
        actives.append(active)
    found = Presence(choose_switches(switches, actives, TREE.most_paths), absent, explained)
    present = found.present(cells)
    for group in (group for group in rivals(found.switches) if len(group) > 1):
        # That one is there follows from the others' not being there: once for all of them, it must be said.
        own = [column for s in group for column in found.switches[s].columns]
        for s in group:
            found.switches[s] = replace(found.switches[s], explained=explain(present[:, s], own))
    return found, present


# -------------------------------------------------------------------- signs of absence


@dataclass(frozen=True)
class _Sign:
    """A column, what it has where a thing does not exist, and where it exists."""

    column: int
    value: float
    active: Bool[np.ndarray, " n"]


def _signs(cells: Cells, schema: Schema) -> list[_Sign]:
    """Empty cells, and zeros; zeros that end a range only if another column repeats them.
    A table of numbers alone, without an empty cell, is an array: its zeros are numbers."""
    out, ends, p = [], [], cells.numbers.shape[1]
    if not cells.categories.shape[1] and not cells.empty.any():
        return []
    for j, empty in enumerate(cells.empty.T):
        if j < p and schema.numeric[j].kind != "date":
            x = cells.numbers[:, j]
            if has_zeros(x[~empty]):
                (out if zero_is_apart(x[~empty]) else ends).append(_Sign(j, 0.0, ~empty & (x != 0)))
                continue
        if empty.any():
            out.append(_Sign(j, np.nan, ~empty))
    known = [s.active for s in out]
    for j, values in enumerate(cells.categories.T):
        for k in range(len(schema.categorical[j].levels)):
            known += [values == k, values != k, (values != k) & (values >= 0)]
    for sign in ends:
        others = [*known, *(other.active for other in ends if other is not sign)]
        if any(repeat(sign.active, other) for other in others):
            out.append(sign)
    return sorted(out, key=lambda sign: sign.column)


def has_zeros(x: Float[np.ndarray, " n"]) -> bool:
    """Whether no number is below zero, and zero is commoner than any other, by more than an accident: it may stand
    for nothing."""
    values, counts = np.unique(x, return_counts=True)
    if len(values) <= MIXED.few_values or values[0] != 0:
        return False
    zeros, next_most = int(counts[0]), int(counts[1:].max())
    surprise = (zeros + next_most) * (1 - entropy(zeros / (zeros + next_most)))
    return bool(zeros > next_most and surprise >= MIXED.accident_bits)


def zero_is_apart(x: Float[np.ndarray, " n"]) -> bool:
    """Whether other numbers thin out toward zero: whether a density that rises from zero in a straight line
    describes those below their median in fewer bits than one that is the same everywhere. Otherwise zero ends
    their range, as that of counts and of brightness."""
    numbers = x[x > 0]
    median = np.median(numbers)
    return bool((1 + np.log2(numbers[numbers < median] / median)).sum() >= MIXED.accident_bits)


def _witnesses(
    cells: Cells, schema: Schema, active: Bool[np.ndarray, " n"], taken: Sequence[int]
) -> list[tuple[int, float]]:
    """Columns with few values that have one of them just where a thing does not exist, and that value."""
    out, p = [], cells.numbers.shape[1]
    for j in range(p + cells.categories.shape[1]):
        if j in taken:
            continue
        values = cells.numbers[:, j] if j < p else cells.categories[:, j - p]
        if j < p and schema.numeric[j].kind != "integer":
            continue
        inactive = values[~active]
        there = inactive[~np.isnan(inactive)] if j < p else inactive[inactive >= 0]
        if not len(there):
            continue
        found, counts = np.unique(there, return_counts=True)
        value = found[counts.argmax()]
        if repeat(active, values != value):
            out.append((j, float(value)))
    return out


# -------------------------------------------------------------------- accident or reason


class _Explainer:
    """How much of where a thing exists follows from other columns."""

    def __init__(self, cells: Cells, schema: Schema, rng: np.random.Generator):
        rows = np.sort(rng.permutation(len(cells))[: FIT.most])
        some = cells.take(rows)
        blocks, owner = [some.numbers], list(range(some.numbers.shape[1]))
        for j in range(some.categories.shape[1]):
            levels = np.unique(some.categories[:, j])
            blocks.append((some.categories[:, [j]] == levels).astype(float))
            owner += [some.numbers.shape[1] + j] * len(levels)
        X = np.concatenate(blocks, axis=1)
        self.rows, self.X, self.owner = rows, X * unit_of(X), np.array(owner, int)  # in single precision
        self.empty = some.empty
        p = cells.numbers.shape[1]
        kinds = [
            (p + j, cells.categories[:, j] == k)
            for j, c in enumerate(schema.categorical)
            for k in range(len(c.levels))
        ]
        filled = [(j, ~empty) for j, empty in enumerate(cells.empty.T) if empty.any()]
        self.exceptional = [(j, rows) for j, rows in filled if rows.mean() <= FIT.half]
        kinds += filled
        self.kind_owner = np.array([j for j, _ in kinds], int)
        self.kinds = np.stack([rows for _, rows in kinds]) if kinds else np.zeros((0, len(cells)), bool)
        self.fold = rng.permutation(len(rows)) % 2

    def __call__(self, active: Bool[np.ndarray, " n"], columns: Sequence[int]) -> float:
        """The part of its bits that a small tree of questions about other columns saves, on rows that the tree was
        not grown on."""
        y = active[self.rows]
        others = ~np.isin(self.owner, columns)
        # Columns that are empty in the same rows would only repeat the question.
        same = [j for j in range(self.empty.shape[1]) if (self.empty[:, j] == ~y).mean() > 0.98]
        others &= ~np.isin(self.owner, same)
        X = self.X[:, others]
        if not X.shape[1]:
            return 0.0
        cost = spent = 0.0
        for f in (0, 1):
            train, test = self.fold != f, self.fold == f
            if y[train].all() or not y[train].any():
                return 0.0
            prior = (y[train].sum() + 0.5) / (train.sum() + 1)
            tree = DecisionTreeClassifier(criterion="entropy", max_depth=3, min_samples_leaf=5, random_state=0)
            tree.fit(X[train], y[train])
            p = np.clip(np.asarray(tree.predict_proba(X[test]))[:, 1], 1e-3, 1 - 1e-3)
            cost += -np.log2(np.where(y[test], prior, 1 - prior)).sum()
            spent += -np.log2(np.where(y[test], p, 1 - p)).sum()
        return float(np.clip(1 - spent / cost, 0.0, 1.0))

    def is_implied(self, active: Bool[np.ndarray, " n"], columns: Sequence[int]) -> bool:
        """Whether a thing exists only in rows of one kind: with one value of another column, or in which another
        column is not empty."""
        others = self.kinds[~np.isin(self.kind_owner, columns)]
        return any(_is_inside(active, kind) for kind in others)

    def is_implied_by_other(self, active: Bool[np.ndarray, " n"], columns: Sequence[int]) -> bool:
        """Whether another column, in which a value is the exception, has one only where a thing exists."""
        return any(_is_inside(filled, active) for j, filled in self.exceptional if j not in columns)


def _is_inside(some: Bool[np.ndarray, " n"], all_of: Bool[np.ndarray, " n"]) -> bool:
    """Whether some rows are nearly all among others, which chance would not have brought about."""
    n_some, share = int(some.sum()), max(float(all_of.mean()), 1 / len(some))
    if not n_some:
        return False
    exceptions = int((some & ~all_of).sum())
    surprise = -np.log2(share) * (n_some - exceptions)
    few = exceptions <= min(TREE.inside * n_some * (1 - share), FIT.exceptions * n_some)
    return bool(few and surprise >= MIXED.accident_bits)
