"""Pieces of one leaf become one: bits do not tell two halves of a surface from the whole, geometry does.

Two pieces of one dimension are joined where they meet if charts over their border are as good as charts of as many
rows beside it (`borders`). A piece that was taken for one of higher dimension, but whose rows lie on charts of a
neighbor of lower dimension, is a part of that neighbor.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int
from scipy.spatial import KDTree

from disentree.geometry.neighbors import intrinsic_dimension, thinned
from disentree.mimosa.density.chart import rows_needed
from disentree.mimosa.finders.atlas.borders import (
    Points,
    Rows,
    chart_of,
    charts_of,
    continues,
    nearest_first,
    telling_size,
)
from disentree.mimosa.finders.atlas.constants import ATLAS
from disentree.mimosa.finders.budget import Budget, unbounded
from disentree.mimosa.finders.constants import FINDERS


def consolidate(
    Z: Points,
    labels: Int[np.ndarray, " n"],
    dims: Sequence[int],
    rng: np.random.Generator,
    joins: bool = True,
    budget: Budget | None = None,
) -> tuple[Int[np.ndarray, " n"], list[int]]:
    """Labels and dimensions after pieces of higher dimension are put where they belong, and after all joins, as
    far as the budget goes."""
    budget = budget or unbounded()
    labels, dims = labels.copy(), list(dims)
    if np.sum(labels >= 0) < 50:
        return labels, dims
    own = np.random.default_rng(len(Z))
    dims = [_own_dimension(Z, np.flatnonzero(labels == c), d, own, budget) for c, d in enumerate(dims)]
    if len(dims) < 2:
        return labels, dims
    refused: set[tuple[int, int, int]] = set()
    changed = True
    while changed:
        changed = False
        counts = np.bincount(labels[labels >= 0], minlength=len(dims))
        for low, high in _pairs(Z, labels, dims, counts, joins):
            key = (low, high, int(counts[low] + counts[high]))
            if key in refused:
                continue
            if budget.is_over("whether pieces of leaves are one"):
                break
            if dims[low] == dims[high]:
                on = np.flatnonzero(labels == high) if continues(Z, labels, low, high, dims, rng, budget) else ()
            else:
                on = _part_of(Z, labels, low, high, dims[low], rng, budget)
            if 2 * len(on) > counts[high]:
                labels[labels == high] = -1
                labels[on] = low
                changed = True
                break
            refused.add(key)
    kept = np.unique(labels[labels >= 0])
    number = np.full(len(dims) + 1, -1)
    number[kept] = np.arange(len(kept))
    return number[labels], [dims[c] for c in kept]


def _own_dimension(Z: Points, rows: Rows, d: int, rng: np.random.Generator, budget: Budget) -> int:
    """The dimension of a leaf by its rows alone: lower if already charts of few rows are wide for a lower one, as
    where no chart was laid on a part of a leaf; and with one more for each direction across it that it fills."""
    for lower in range(1, d):
        if len(rows) >= rows_needed(lower):
            charts = charts_of(Z, rows, nearest_first(Z, rows, rng), rows_needed(lower), lower, rng, budget)
            if np.median([chart.width for chart in charts]) >= ATLAS.wide:
                return lower
    while 0 < d < Z.shape[1] - 1 and len(rows) >= rows_needed(d):
        charts = telling_size(Z, rows, d, rng, budget)[2]
        # no chart of any size is wide compared with one direction, all others are far thinner
        wide = np.median([chart.width for chart in charts])
        if wide >= FINDERS.narrow or np.median([c.sigma[0] / c.sigma[1] for c in charts]) < ATLAS.medium:
            break
        frame = chart_of(Z, rows, np.arange(len(rows)), d + 1, rng, budget)[0].frame[: d + 1]
        if intrinsic_dimension(Z[rows] @ frame.T) < d + 0.5:
            break  # bent, not wide
        d += 1
    return d


def _pairs(
    Z: Points, labels: Int[np.ndarray, " n"], dims: list[int], counts: Int[np.ndarray, " k"], joins: bool
) -> list[tuple[int, int]]:
    """Pairs (lower or equal dimension, higher) of leaves that may be one; the smallest first, as pieces usually
    are."""
    on = np.flatnonzero(labels >= 0)
    some = thinned(on, 4000)
    nearest = on[np.asarray(KDTree(Z[on]).query(Z[some], min(FINDERS.looks + 1, len(on)))[1])[:, 1:]]
    touch = np.zeros((len(dims), len(dims)), dtype=int)
    np.add.at(touch, (np.repeat(labels[some], nearest.shape[1]), labels[nearest].ravel()), 1)
    pairs = []
    for a in np.flatnonzero(counts):
        for b in np.flatnonzero(counts):
            # rows between two pieces of one dimension may be on other leaves: those are judged without touch
            same = joins and dims[a] == dims[b] and (counts[a], -a) > (counts[b], -b)
            if same or (dims[a] < dims[b] and touch[a, b] + touch[b, a] >= 4):
                pairs.append((int(counts[b]), dims[b] - dims[a], int(a), int(b)))
    return [(a, b) for _, _, a, b in sorted(pairs)]


def _part_of(
    Z: Points, labels: Int[np.ndarray, " n"], low: int, high: int, d: int, rng: np.random.Generator, budget: Budget
) -> Rows:
    """The rows of `high` that lie on charts of dimension d over themselves and rows of `low` around them."""
    part, leaf = (np.flatnonzero(labels == c) for c in (high, low))
    rows = np.concatenate([part, leaf])
    size, limit, _ = telling_size(Z, leaf, d, rng, budget)
    fewest = 2 * ATLAS.side * size  # rows of the leaf in a chart, for it to have a say
    unseen, good = np.ones(len(part), bool), np.zeros(len(part), bool)
    n_charts = 0
    while unseen.any() and (n_charts < ATLAS.places or 4 * good.sum() >= (~unseen).sum()):
        n_charts += 1
        i = rng.choice(np.flatnonzero(unseen))
        order = np.argsort(((Z[rows] - Z[part[i]]) ** 2).sum(axis=1), kind="stable")
        near = order[: max(size, int(np.searchsorted(np.cumsum(order >= len(part)), fewest)) + 1)]
        mine = near[near < len(part)]
        unseen[mine] = False
        if len(near) > ATLAS.far * size or len(near) - len(mine) < fewest:
            continue  # too far from the leaf
        chart, _ = chart_of(Z, rows, near, d, rng, budget)
        if chart.width >= FINDERS.narrow:
            good[mine] = np.abs(chart.split(Z[part[mine]])[1]).max(axis=1) <= ATLAS.medium * limit
    return part[good]
