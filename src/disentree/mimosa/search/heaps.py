"""Values that many rows of one column share: incomes above a limit, widths that are rounded to whole numbers.

Such rows lie on a plane, which is a fact about one column and not a leaf: structure is in the dependence between
columns. They are spread as densely as rows lie beside them. Where other columns are thinner or wider in these rows
than in those beside them, or nothing is near, the value stands for something that is absent or fixed there, and
they stay. Where a column has few values for its rows, as many as schools or routes, rows are moved within the gaps
between these.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int
from sklearn.neighbors import NearestNeighbors

from disentree.geometry.neighbors import thinned
from disentree.mimosa.constants import FIT
from disentree.mimosa.coordinates.columns import Columns
from disentree.mimosa.finders.constants import FINDERS
from disentree.mimosa.search.constants import SEARCH


@dataclass(frozen=True)
class Heap:
    """Rows that share a value, those beside them, and how far they are spread on either side."""

    rows: Int[np.ndarray, " a"]
    beside: Int[np.ndarray, " b"]
    below: float
    above: float
    at_end: bool  # of the range, where density falls off as it may: a tail has no other end
    is_near: bool  # to those beside it: else it is apart, or one of few values


def spread_heaps(
    Z: Float[np.ndarray, "n D"], columns: Columns, rng: np.random.Generator
) -> Float[np.ndarray, "n D"]:
    """Rows with the heaps of each column spread; not where columns follow from others."""
    varies = np.abs(columns.basis).max(axis=0) > 0
    columns = Columns(columns.mean[varies], columns.basis[:, varies], columns.precision[varies])
    if columns.basis.shape[0] != columns.basis.shape[1]:
        return Z
    X = columns.of(Z)
    units = np.maximum(X.std(axis=0), columns.precision)
    placed = (X + rng.uniform(-0.5, 0.5, X.shape) * columns.precision) / units
    found = [(j, heap) for j in range(X.shape[1]) for heap in heaps_of(X[:, j], columns.precision[j])]
    moved = np.zeros_like(X)
    for j in range(X.shape[1]):
        moved[:, j] = within_steps(X[:, j], columns.precision[j], rng)
        mine = [heap for i, heap in found if i == j]
        for heap in mine:
            moved[heap.rows, j] = 0
        others = np.delete(placed, j, axis=1)
        heaped = np.stack(
            [np.isin(np.arange(len(X)), heap.rows) for i, heap in found if i != j] or [np.zeros(len(X), bool)]
        )
        for heap in [heap for heap in mine if heap.is_near]:
            together = heaped[:, heap.rows].mean(axis=1) - heaped[:, heap.beside].mean(axis=1)
            if together.max() > FIT.half or _changes(others[heap.rows], others[heap.beside]):
                continue
            n = len(heap.rows)
            if heap.at_end:
                wide = (1.0 if heap.above else -1.0) * rng.exponential(heap.below + heap.above, n)
            else:
                wide = rng.uniform(-heap.below, heap.above, n)
            moved[heap.rows[np.argsort(_expected(X[:, j], others, heap.rows, rng))], j] = np.sort(wide)
    return Z + moved @ np.linalg.inv(columns.basis) if moved.any() else Z


def within_steps(
    x: Float[np.ndarray, " n"], precision: float, rng: np.random.Generator
) -> Float[np.ndarray, " n"]:
    """How far rows may be moved, each to half of the way to the next value at most: where a column has few values
    for its rows, at distances larger than its precision, the gaps between them are no valleys. Else by nothing."""
    values, of_row = _values(x, precision)
    steps = np.diff(values)
    if FIT.fewest * len(values) > len(x) or (steps < 1.5 * precision).all():
        return np.zeros(len(x))
    below, above = np.append(steps[0], steps) / 2, np.append(steps, steps[-1]) / 2
    return rng.uniform(-below[of_row], above[of_row])


def _values(x: Float[np.ndarray, " n"], precision: float) -> tuple[Float[np.ndarray, " k"], Int[np.ndarray, " n"]]:
    """The values of a column, up to its precision, and which of them each row has."""
    order = np.argsort(x, kind="stable")
    new = np.concatenate([[True], np.diff(x[order]) > 0.5 * precision])
    of_row = np.empty(len(x), int)
    of_row[order] = np.cumsum(new) - 1
    return x[order][new], of_row


def _expected(
    x: Float[np.ndarray, " n"],
    others: Float[np.ndarray, "n q"],
    rows: Int[np.ndarray, " a"],
    rng: np.random.Generator,
) -> Float[np.ndarray, " a"]:
    """What rows of a heap might be by their other columns: spread without regard to these, they would depend on
    each other less than rows beside them do."""
    beside = np.delete(np.arange(len(x)), rows)
    A = np.column_stack([others, np.ones(len(x))])
    weights = np.linalg.lstsq(A[beside], x[beside], rcond=None)[0]
    left = x[beside] - A[beside] @ weights
    return A[rows] @ weights + rng.choice(left, len(rows))


def heaps_of(x: Float[np.ndarray, " n"], precision: float) -> list[Heap]:
    """The heaps of a column."""
    n, order = len(x), np.argsort(x, kind="stable")
    ordered = x[order]
    values, of_row = _values(x, precision)
    counts = np.bincount(of_row)
    first = np.cumsum(counts) - counts
    step = np.diff(values) < 1.5 * precision  # next to each other on the grid
    next_to = np.concatenate([[0], counts[:-1] * step]) + np.concatenate([counts[1:] * step, [0]])
    inner = np.arange(len(values)) % max(len(values) - 1, 1) > 0
    is_heap = (counts >= FIT.least_share * n) & ((counts > next_to) | ~inner)
    single = ~np.repeat(is_heap, counts)
    found = []
    heaps = values[is_heap]
    for g in np.flatnonzero(is_heap):
        away = ordered - values[g]
        many = min(counts[g], n - counts[g])
        near = np.argsort(np.where(single, np.abs(away), np.inf), kind="stable")[: min(many, single.sum())]
        # as wide as as many rows beside it take, no farther than to the middle before the next heap
        wide = float(np.sort(np.abs(away))[counts[g] + many - 1])
        if inner[g]:
            below = np.min((values[g] - heaps[heaps < values[g]]) / 2, initial=min(wide, values[g] - values[0]))
            above = np.min((heaps[heaps > values[g]] - values[g]) / 2, initial=min(wide, values[-1] - values[g]))
            is_near = _is_near(away[single & (away < 0)], below) and _is_near(away[single & (away > 0)], above)
        else:
            below, above = (0.0, wide) if g else (wide, 0.0)
            is_near = _is_near(away[single], wide) and wide >= SEARCH.coarse * precision
        is_near = bool(is_near and 2 * counts[g] <= n and len(near) >= FIT.fewest)
        rows = order[first[g] : first[g] + counts[g]]
        found.append(Heap(rows, order[near], float(below), float(above), not inner[g], is_near))
    # A column is rounded, or has few values, as a whole: where it is sparse there is nothing beside some heaps.
    # One value alone that repeats within its range is no rounding: something is fixed there.
    within = [heap for heap in found if not heap.at_end]
    near = sum(len(heap.rows) for heap in within if heap.is_near)
    repeats = (~is_heap).sum() < FIT.half * counts[~is_heap].sum()
    rounded = bool((len(within) > 1 or repeats) and 2 * near > sum(len(heap.rows) for heap in within))
    return [heap if heap.at_end else replace(heap, is_near=rounded) for heap in found]


def _is_near(away: Float[np.ndarray, " b"], width: float) -> bool:
    """Whether some row on a side is as near as the middle of where rows are spread."""
    return bool(np.min(np.abs(away), initial=np.inf) <= width / 2)


def _changes(own: Float[np.ndarray, "a q"], beside: Float[np.ndarray, "b q"]) -> bool:
    """Whether other columns are thinner in the rows of a heap than beside it, or wider, by the bits of an exact
    direction."""
    n = min(len(own), len(beside), FIT.many // 2)
    if not own.shape[1]:
        return False
    return (
        abs(_bits(own[thinned(np.arange(len(own)), n)]) - _bits(beside[thinned(np.arange(len(beside)), n)]))
        > FINDERS.thin
    )


def _bits(Y: Float[np.ndarray, "n q"]) -> float:
    """The entropy of rows, up to what depends on their number alone: the volume that near neighbors take."""
    reach = NearestNeighbors(n_neighbors=SEARCH.nearest + 1, n_jobs=1).fit(Y).kneighbors(Y)[0][:, -1]
    return float(Y.shape[1] * np.log2(np.maximum(reach, np.finfo(float).tiny)).mean())
