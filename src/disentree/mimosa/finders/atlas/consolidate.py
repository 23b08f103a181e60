"""Pieces of one leaf become one: bits do not tell two halves of a surface from the whole, geometry does.

Two pieces of one dimension are joined where they meet if charts over their border are as good as charts of as many
rows beside it. A piece that was taken for one of higher dimension, but whose rows lie on charts of a neighbor of
lower dimension, is a part of that neighbor.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Int
from scipy.spatial import KDTree

from disentree.geometry.neighbors import intrinsic_dimension
from disentree.mimosa.density.chart import Chart, fit_chart, n_terms
from disentree.mimosa.finders.atlas.charts import thinned

NEIGHBORS = 12  # nearest rows that tell which leaves touch
ANCHORS = 10  # places that decide, by majority
FIT_ROWS = 240  # rows that a chart is fitted to, of all in its ball
ROUNDING = 1e-12  # least residual of a chart, relative to its width
GROWTH = 1.5  # of the number of rows in the ball, per step
AS_GOOD = 1.4  # residual of a chart over a border relative to charts beside it
SIDE = 0.15  # share of a chart's rows on either side of a border
TOO_ROUGH = 4.0  # the same, when larger charts will not be better
MOST_SIZES = 14  # of charts at a border
# Width of a chart relative to its residual, which noise or curvature keeps small. A very wide one is smooth,
# whatever is beside it; a wide one tells a fold from a
# smooth border, which matters where a leaf of lower dimension lies along it; a medium one tells leaves that cross;
# a narrow one tells leaves that run side by side.
VERY_WIDE = 50.0
WIDE = 9.0
MEDIUM = 5.0
NARROW = 3.0
GAP = 0.6  # gap between two groups relative to the width of both, for a chart that is over a border
SPACED = 1.4  # distance of the next few rows relative to that of the nearest one, where leaves meet
APART = 0.75  # share of rows that a cut across the border puts on the right side, if leaves end there
OTHERS = 0.25  # share of rows of lower-dimensional leaves around a border, if one of them lies along it
SHARE = 0.3  # rows of a leaf in a chart over it and a piece that may be a part of it, relative to a chart's rows
MOST_ROWS = 6  # rows of such a chart, relative to a chart's rows: farther from the leaf nothing can be said
MOST_PATCHES = 60  # such charts
LOOSER = 2.5  # residual of rows of a piece of seemingly higher dimension relative to the leaf it is a part of


def consolidate(Z, labels, dims, rng, joins: bool = True) -> tuple[Int[np.ndarray, " n"], list[int]]:
    """Labels and dimensions after pieces of higher dimension are put where they belong, and after all joins."""
    labels, dims = labels.copy(), list(dims)
    if np.sum(labels >= 0) < 50:
        return labels, dims
    own = np.random.default_rng(len(Z))
    dims = [_own_dimension(Z, np.flatnonzero(labels == c), d, own) for c, d in enumerate(dims)]
    if len(dims) < 2:
        return labels, dims
    refused: set[tuple[int, int, int]] = set()
    while True:
        counts = np.bincount(labels[labels >= 0], minlength=len(dims))
        for low, high in _pairs(Z, labels, dims, counts, joins):
            key = (low, high, int(counts[low] + counts[high]))
            if key in refused:
                continue
            if dims[low] == dims[high]:
                on = np.flatnonzero(labels == high) if _continues(Z, labels, low, high, dims, rng) else ()
            else:
                on = _part_of(Z, labels, low, high, dims[low], rng)
            if 2 * len(on) > counts[high]:
                labels[labels == high] = -1
                labels[on] = low
                break
            refused.add(key)
        else:
            break
    kept = np.unique(labels[labels >= 0])
    number = np.full(len(dims) + 1, -1)
    number[kept] = np.arange(len(kept))
    return number[labels], [dims[c] for c in kept]


def _own_dimension(Z, rows, d, rng) -> int:
    """The dimension of a leaf by its rows alone: lower if already charts of few rows are wide for a lower one, as
    where no chart was laid on a part of a leaf; and with one more for each direction across it that it fills."""
    for lower in range(1, d):
        if len(rows) >= 4 * n_terms(lower):
            charts = _charts_at(Z, rows, _orders(Z, rows, rng), 4 * n_terms(lower), lower, rng)
            if np.median([c.scale.min() / c.sigma[0] for c in charts]) >= WIDE:
                return lower
    while 0 < d < Z.shape[1] - 1 and len(rows) >= 4 * n_terms(d):
        charts = telling_size(Z, rows, d, rng)[2]
        # no chart of any size is wide compared with one direction, all others are far thinner
        wide = np.median([c.scale.min() / c.sigma[0] for c in charts])
        if wide >= NARROW or np.median([c.sigma[0] / c.sigma[1] for c in charts]) < MEDIUM:
            break
        frame = _chart(Z, rows, np.arange(len(rows)), d + 1, rng)[0].frame[: d + 1]
        if intrinsic_dimension(Z[rows] @ frame.T) < d + 0.5:
            break  # bent, not wide
        d += 1
    return d


def _pairs(Z, labels, dims, counts, joins):
    """Pairs (lower or equal dimension, higher) of leaves that may be one; the smallest first, as pieces usually
    are."""
    on = np.flatnonzero(labels >= 0)
    some = thinned(on, 4000)
    nearest = on[np.asarray(KDTree(Z[on]).query(Z[some], min(NEIGHBORS + 1, len(on)))[1])[:, 1:]]
    k = len(dims)
    touch = np.zeros((k, k), dtype=int)
    np.add.at(touch, (np.repeat(labels[some], nearest.shape[1]), labels[nearest].ravel()), 1)
    pairs = []
    for a in np.flatnonzero(counts):
        for b in np.flatnonzero(counts):
            # rows between two pieces of one dimension may be on other leaves: those are judged without touch
            same = joins and dims[a] == dims[b] and (counts[a], -a) > (counts[b], -b)
            if same or (dims[a] < dims[b] and touch[a, b] + touch[b, a] >= 4):
                pairs.append((int(counts[b]), dims[b] - dims[a], int(a), int(b)))
    return [(a, b) for _, _, a, b in sorted(pairs)]


def _continues(Z, labels, one, two, dims, rng) -> bool:
    """Whether two leaves of one dimension are one, by what charts over their border say."""
    d = dims[one]
    first, second = (np.flatnonzero(labels == c) for c in (one, two))
    lower = np.flatnonzero(np.isin(labels, [c for c in range(len(dims)) if dims[c] < d]))
    others = np.flatnonzero((labels != one) & (labels != two))
    votes, anchors = 0, _border(Z, first, second, rng)
    for anchor in anchors:
        votes += _meet_at(Z, anchor, first, second, others, d) and _smooth_at(
            Z, anchor, first, second, lower, d, rng
        )
    return 2 * votes > len(anchors)


def _border(Z, first, second, rng) -> list[np.ndarray]:
    """Places where two leaves are nearest to each other, halfway between a row of one and a row of the other."""
    out = []
    for mine, other in ((first, second), (second, first)):
        some = thinned(mine)
        gap, nearest = (np.asarray(found) for found in KDTree(Z[other]).query(Z[some]))
        near = np.argsort(gap, kind="stable")[: max(ANCHORS, len(some) // 25)]
        for i in rng.choice(near, min(ANCHORS // 2, len(near)), replace=False):
            out.append((Z[some[i]] + Z[other[nearest[i]]]) / 2)
    return out


def _meet_at(Z, anchor, first, second, others, d) -> bool:
    """Whether the gap around a place halfway between two leaves is one between any two rows, or filled by rows of
    others."""
    gaps = []
    for rows in (first, second):
        square = ((Z[rows] - anchor) ** 2).sum(axis=1)
        few = min(n_terms(d), len(rows) - 1)
        gaps.append(np.sqrt(np.partition(square, few)[[0, few]] if few else square[[0, 0]]))
    near, far = np.max(gaps, axis=0)
    if far >= SPACED * near:
        return True
    return len(others) > 0 and bool(((Z[others] - anchor) ** 2).sum(axis=1).min() < near**2)


def _smooth_at(Z, anchor, first, second, lower, d, rng) -> bool:
    """Whether a chart over the border is as good as those beside it, up to a size at which that tells."""
    rows = np.concatenate([first, second])
    side = np.repeat([0, 1], [len(first), len(second)])
    square = ((Z[rows] - anchor) ** 2).sum(axis=1)
    order = np.argsort(square, kind="stable")
    parts = [order[side[order] == 0], order[side[order] == 1]]
    reach = [square[part[min(len(part), n_terms(d)) - 1]] for part in parts]
    between = np.sum(((Z[lower] - anchor) ** 2).sum(axis=1) <= max(reach))
    held = between > OTHERS * (between + np.sum(square <= max(reach)))
    size, width, best_apart = 4 * n_terms(d), 0.0, 0.0
    for _ in range(MOST_SIZES):
        if size > len(rows):
            break
        near = order[:size]
        if SIDE <= side[near].mean() <= 1 - SIDE:
            chart, sample = _chart(Z, rows, near, d, rng)
            rough, wide = chart.sigma.max(), chart.scale.min() / chart.sigma.max()
            apart, gap = _cut(chart, Z[rows[sample]], side[sample])
            if gap <= GAP and wide >= VERY_WIDE:
                return True
            limit = max(_chart(Z, rows, part[:size], d, rng)[0].sigma.max() for part in parts)
            if gap <= GAP and rough <= AS_GOOD * limit and wide > width:
                width, best_apart = wide, apart
            if width >= WIDE or (rough > TOO_ROUGH * limit and wide < WIDE):
                break
        size = int(np.ceil(GROWTH * size))
    if width < WIDE and held:
        return False
    return bool(width >= MEDIUM or (width >= NARROW and best_apart >= APART))


def _chart(Z, rows, near, d, rng) -> tuple[Chart, Int[np.ndarray, " m"]]:
    most = max(FIT_ROWS, 8 * n_terms(d))
    sample = near if len(near) <= most else rng.choice(near, most, replace=False)
    P = Z[rows[sample]]
    return fit_chart(P, d, ROUNDING * np.abs(P - P[0]).max(), trim=0.1, rounds=2), sample


def _cut(chart, P, side) -> tuple[float, float]:
    """The best cut between two groups in tangent coordinates: the share of rows on the right side, averaged over
    the groups, and the gap between most rows of the two relative to the width of both."""
    U = chart.split(P)[0]
    means = [U[side == s].mean(axis=0) for s in (0, 1)]
    within = sum(np.cov(U[side == s].T, ddof=0).reshape(U.shape[1], -1) for s in (0, 1)) + 1e-9 * np.eye(
        U.shape[1]
    )
    V = U @ np.linalg.solve(within, means[1] - means[0])
    first, second = V[side == 0], V[side == 1]
    middle = (first.mean() + second.mean()) / 2
    gap = np.quantile(second, 0.05) - np.quantile(first, 0.95)
    return float(((first < middle).mean() + (second > middle).mean()) / 2), float(gap / np.ptp(V))


def _part_of(Z, labels, low, high, d, rng) -> Int[np.ndarray, " m"]:
    """The rows of `high` that lie on charts of dimension d over themselves and rows of `low` around them."""
    part, leaf = (np.flatnonzero(labels == c) for c in (high, low))
    rows = np.concatenate([part, leaf])
    size, limit, _ = telling_size(Z, leaf, d, rng)
    open_, good = np.ones(len(part), bool), np.zeros(len(part), bool)
    for turn in range(MOST_PATCHES):
        if not open_.any() or (turn >= ANCHORS and 4 * good.sum() < (~open_).sum()):
            break
        i = rng.choice(np.flatnonzero(open_))
        order = np.argsort(((Z[rows] - Z[part[i]]) ** 2).sum(axis=1), kind="stable")
        own = order >= len(part)
        # as many rows as it takes for the leaf to have a say
        near = order[: max(size, int(np.searchsorted(np.cumsum(own), SHARE * size)) + 1)]
        mine = near[near < len(part)]
        open_[mine] = False
        if len(near) > MOST_ROWS * size or len(near) - len(mine) < SHARE * size:
            continue  # too far from the leaf
        chart, _ = _chart(Z, rows, near, d, rng)
        if chart.scale.min() >= NARROW * chart.sigma.max():
            good[mine] = np.abs(chart.split(Z[part[mine]])[1]).max(axis=1) <= 2 * LOOSER * limit
    return part[good]


def telling_size(Z, leaf, d, rng) -> tuple[int, float, list[Chart]]:
    """How many nearest rows of a leaf make a chart that is wide compared with its residual, that residual, and
    some such charts. Where no chart is wide, the largest."""
    size, orders = 4 * n_terms(d), _orders(Z, leaf, rng)
    while True:
        charts = _charts_at(Z, leaf, orders, size, d, rng)
        rough = np.array([c.sigma.max() for c in charts])
        width = np.array([c.scale.min() for c in charts])
        if 2 * np.sum(width >= MEDIUM * rough) > len(orders) or GROWTH * size > len(leaf):
            return size, float(np.median(rough)), charts
        size = int(np.ceil(GROWTH * size))


def _orders(Z, leaf, rng) -> list[Int[np.ndarray, " m"]]:
    """Rows of a leaf by their distance from some of them."""
    anchors = rng.choice(leaf, min(ANCHORS, len(leaf)), replace=False)
    return [np.argsort(((Z[leaf] - Z[a]) ** 2).sum(axis=1), kind="stable") for a in anchors]


def _charts_at(Z, leaf, orders, size, d, rng) -> list[Chart]:
    return [_chart(Z, leaf, order[:size], d, rng)[0] for order in orders]


__all__ = ["consolidate", "telling_size", "thinned"]
