"""Whether two leaves of one dimension are one, by charts over their border and beside it.

The width of a chart is relative to its residual, which noise or curvature keeps small. A very wide one is smooth,
whatever is beside it; a wide one tells a fold from a smooth border, which matters where a leaf of lower dimension
lies along it; a medium one tells leaves that cross; a narrow one tells leaves that run side by side.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial import KDTree

from disentree.geometry.charts import n_quadratic_terms
from disentree.geometry.neighbors import thinned
from disentree.mimosa.density.chart import Chart, fit_chart, rows_needed
from disentree.mimosa.finders.atlas.constants import ATLAS
from disentree.mimosa.finders.budget import Budget
from disentree.mimosa.finders.constants import FINDERS

Points = Float[np.ndarray, "n D"]
Place = Float[np.ndarray, " D"]
Rows = Int[np.ndarray, " _"]


def continues(
    Z: Points,
    labels: Int[np.ndarray, " n"],
    one: int,
    two: int,
    dims: list[int],
    rng: np.random.Generator,
    budget: Budget,
) -> bool:
    """Whether two leaves of one dimension are one, by what charts at most places on their border say."""
    d = dims[one]
    first, second = (np.flatnonzero(labels == c) for c in (one, two))
    lower = np.flatnonzero(np.isin(labels, [c for c in range(len(dims)) if dims[c] < d]))
    others = np.flatnonzero((labels != one) & (labels != two))
    places = _border(Z, first, second, rng)
    votes = sum(
        _meet_at(Z, place, first, second, others, d) and _smooth_at(Z, place, first, second, lower, d, rng, budget)
        for place in places
    )
    return 2 * votes > len(places)


def _border(Z: Points, first: Rows, second: Rows, rng: np.random.Generator) -> list[Place]:
    """Places where two leaves are nearest to each other, halfway between a row of one and a row of the other."""
    out = []
    for mine, other in ((first, second), (second, first)):
        some = thinned(mine)
        gap, nearest = (np.asarray(found) for found in KDTree(Z[other]).query(Z[some]))
        near = np.argsort(gap, kind="stable")[: max(ATLAS.places, len(some) // 25)]
        for i in rng.choice(near, min(ATLAS.places // 2, len(near)), replace=False):
            out.append((Z[some[i]] + Z[other[nearest[i]]]) / 2)
    return out


def _meet_at(Z: Points, place: Place, first: Rows, second: Rows, others: Rows, d: int) -> bool:
    """Whether the gap around a place halfway between two leaves is one between any two rows, or filled by rows of
    others."""
    gaps = []
    for rows in (first, second):
        square = ((Z[rows] - place) ** 2).sum(axis=1)
        few = min(n_quadratic_terms(d), len(rows) - 1)
        gaps.append(np.sqrt(np.partition(square, few)[[0, few]] if few else square[[0, 0]]))
    near, far = np.max(gaps, axis=0)
    if far >= ATLAS.similar * near:
        return True
    return len(others) > 0 and bool(((Z[others] - place) ** 2).sum(axis=1).min() < near**2)


def _smooth_at(
    Z: Points,
    place: Place,
    first: Rows,
    second: Rows,
    lower: Rows,
    d: int,
    rng: np.random.Generator,
    budget: Budget,
) -> bool:
    """Whether a chart over the border is as good as those beside it, up to a size at which that tells."""
    rows = np.concatenate([first, second])
    side = np.repeat([0, 1], [len(first), len(second)])
    square = ((Z[rows] - place) ** 2).sum(axis=1)
    order = np.argsort(square, kind="stable")
    parts = [order[side[order] == 0], order[side[order] == 1]]
    around = max(square[part[min(len(part), n_quadratic_terms(d)) - 1]] for part in parts)
    between = np.sum(((Z[lower] - place) ** 2).sum(axis=1) <= around)
    lower_along = between > (1 - FINDERS.most) * (between + np.sum(square <= around))
    size, width, best_apart = rows_needed(d), 0.0, 0.0
    while size <= len(rows):
        near = order[:size]
        if ATLAS.side <= side[near].mean() <= 1 - ATLAS.side:
            chart, sample = chart_of(Z, rows, near, d, rng, budget)
            if chart.width >= ATLAS.very_wide:
                return True
            rough = chart.sigma.max()
            limit = max(chart_of(Z, rows, part[:size], d, rng, budget)[0].sigma.max() for part in parts)
            if rough <= ATLAS.similar * limit and chart.width > width:
                width, best_apart = chart.width, _apart(chart, Z[rows[sample]], side[sample])
            # if it is far rougher than those beside it, larger charts will not be better
            if width >= ATLAS.wide or (rough > ATLAS.clear * limit and chart.width < ATLAS.wide):
                break
        size = int(np.ceil(ATLAS.growth * size))
    if width < ATLAS.wide and lower_along:
        return False
    # where leaves end at the border, a cut across it has most rows on the right side
    return width >= ATLAS.medium or (width >= FINDERS.narrow and best_apart >= FINDERS.most)


def _apart(chart: Chart, P: Float[np.ndarray, "m D"], side: Int[np.ndarray, " m"]) -> float:
    """The share of rows on the right side of the best cut between two groups in tangent coordinates, averaged over
    the groups."""
    U = chart.split(P)[0]
    d = U.shape[1]
    means = [U[side == s].mean(axis=0) for s in (0, 1)]
    within = sum(np.cov(U[side == s].T, ddof=0).reshape(d, d) for s in (0, 1)) + 1e-9 * np.eye(d)
    V = U @ np.linalg.solve(within, means[1] - means[0])
    first, second = V[side == 0], V[side == 1]
    middle = (first.mean() + second.mean()) / 2
    return float(((first < middle).mean() + (second > middle).mean()) / 2)


def telling_size(
    Z: Points, leaf: Rows, d: int, rng: np.random.Generator, budget: Budget
) -> tuple[int, float, list[Chart]]:
    """How many nearest rows of a leaf make a chart that is wide compared with its residual, that residual, and
    some such charts. Where no chart is wide, the largest."""
    size, orders = rows_needed(d), nearest_first(Z, leaf, rng)
    while True:
        charts = charts_of(Z, leaf, orders, size, d, rng, budget)
        if 2 * sum(c.width >= ATLAS.medium for c in charts) > len(orders) or ATLAS.growth * size > len(leaf):
            return size, float(np.median([c.sigma.max() for c in charts])), charts
        size = int(np.ceil(ATLAS.growth * size))


def nearest_first(Z: Points, leaf: Rows, rng: np.random.Generator) -> list[Rows]:
    """Rows of a leaf by their distance from some of them."""
    anchors = rng.choice(leaf, min(ATLAS.places, len(leaf)), replace=False)
    return [np.argsort(((Z[leaf] - Z[a]) ** 2).sum(axis=1), kind="stable") for a in anchors]


def charts_of(
    Z: Points, leaf: Rows, orders: list[Rows], size: int, d: int, rng: np.random.Generator, budget: Budget
) -> list[Chart]:
    return [chart_of(Z, leaf, order[:size], d, rng, budget)[0] for order in orders]


def chart_of(
    Z: Points, rows: Rows, near: Rows, d: int, rng: np.random.Generator, budget: Budget
) -> tuple[Chart, Rows]:
    """A chart of some of the rows, and which of them it was fitted to."""
    budget.spend(1, len(rows) * Z.shape[1])
    most = max(ATLAS.border_rows, 2 * rows_needed(d))
    sample = near if len(near) <= most else rng.choice(near, most, replace=False)
    P = Z[rows[sample]]
    # no residual is below rounding, relative to the width
    return fit_chart(P, d, 1e-12 * np.abs(P - P[0]).max(), trim=0.1, rounds=2), sample
