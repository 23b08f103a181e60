"""Charts of one dimension that agree on the rows between them are one leaf.

Where two groups of such charts come near each other, charts are grown across the border to bridge them.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree

from disentree.geometry.neighbors import thinned
from disentree.geometry.subspaces import reach
from disentree.mimosa.constants import FIT
from disentree.mimosa.finders.atlas.constants import ATLAS
from disentree.mimosa.finders.atlas.growing import LocalChart, chart_at
from disentree.mimosa.finders.budget import Budget, unbounded
from disentree.mimosa.finders.constants import FINDERS

Points = Float[np.ndarray, "m q"]
Held = Bool[np.ndarray, " m"]  # which rows are in the domain of a chart, on it, or close to it
AllHeld = Bool[np.ndarray, "m k"]  # the same for each of k charts
Offs = Float[
    np.ndarray, "m g"
]  # how far rows are off the nearest chart of each group that holds them, or infinite


def link(
    Y: Float[np.ndarray, "n q"],
    charts: list[LocalChart],
    explained: Int[np.ndarray, " n"],
    rng: np.random.Generator,
    budget: Budget | None = None,
) -> tuple[Int[np.ndarray, " n"], list[int]]:
    """The leaf of every row (-1: none) and the dimension of every leaf; leaves that are too small go. Bridges are
    looked for as far as the budget goes."""
    budget = budget or unbounded()
    labels = np.full(len(Y), -1)
    dimensions: list[int] = []
    fewest = max(20, FIT.least_share * len(Y))
    for d in sorted({chart.dimension for chart in charts}):
        rows = np.flatnonzero((explained == d) | (explained < 0))
        off = _offs_of_groups(Y, rows, [chart for chart in charts if chart.dimension == d], d, rng, budget)
        # a row goes to the group of the chart it is nearest to
        owner = np.where(np.isfinite(off).any(axis=1), off.argmin(axis=1), -1)
        for g in range(off.shape[1]):
            members = rows[(owner == g) & (labels[rows] < 0)]
            if len(members) >= fewest:
                labels[members] = len(dimensions)
                dimensions.append(d)
    return labels, dimensions


def _offs_of_groups(
    Y: Float[np.ndarray, "n q"],
    rows: Int[np.ndarray, " m"],
    charts: list[LocalChart],
    d: int,
    rng: np.random.Generator,
    budget: Budget,
) -> Offs:
    """How far rows are off groups of charts that are linked, or that bridges join."""
    r, P = reach(Y.shape[1] - d), Y[rows]
    inside, on, close = (np.stack(one, axis=1) for one in zip(*(_held(P, c, r) for c in charts), strict=True))
    group = _linked(inside, on, close, charts, d)
    off = np.full((len(P), group.max() + 1), np.inf)
    for i, chart in enumerate(charts):
        _lower(off[:, group[i]], P, chart, on[:, i])
    tried: dict[tuple[int, int], int] = {}
    joined = True
    while joined:
        joined = False
        for one, two in _near_pairs(P, charts, off, group, tried):
            if one not in group or two not in group:
                continue  # joined to another meanwhile
            if budget.is_over("bridges between charts"):
                break
            tried[one, two] = tried.get((one, two), 0) + 1
            for row in _border(P, np.isfinite(off[:, one]), np.isfinite(off[:, two]), rng):
                found = chart_at(Y, rows, int(rows[row]), d, rng)
                budget.spend(d, rows.size * Y.shape[1])
                if found is None or not found[1].is_wide:
                    continue
                bridge = found[1]
                held = _held(P, bridge, r)
                # where two leaves cross at a small angle, a chart between them agrees with both but is rougher
                smooth = np.array([bridge.own <= ATLAS.bridged * chart.own for chart in charts])
                if all(_agrees(on[:, smooth & (group == g)], *held, d) for g in (one, two)):
                    charts, on = [*charts, bridge], np.column_stack([on, held[1]])
                    group = np.append(np.where(group == two, one, group), one)
                    off[:, one] = np.minimum(off[:, one], off[:, two])
                    off[:, two] = np.inf
                    _lower(off[:, one], P, bridge, held[1])
                    joined = True
                    break
    return off


def _held(P: Points, chart: LocalChart, r: float) -> tuple[Held, Held, Held]:
    """Rows in the domain of a chart; those on it; those as close to it as most of its own rows."""
    inside = chart.inside(P)
    on, close = inside.copy(), inside.copy()
    off = chart.off(P[inside])
    on[inside], close[inside] = off <= r, off <= chart.own
    return inside, on, close


def _lower(least: Float[np.ndarray, " m"], P: Points, chart: LocalChart, on: Held) -> None:
    """Lower, in place, how far rows are off a group by how far they are off a chart that holds them."""
    least[on] = np.minimum(least[on], chart.off(P[on]))


def _linked(
    inside: AllHeld, on: AllHeld, close: AllHeld, charts: list[LocalChart], d: int
) -> Int[np.ndarray, " k"]:
    """Groups of charts that agree on the rows between them: most rows on either, in the other's domain, lie as
    close to that one as its own rows do. A chart that is not much wider than its rows are off it agrees with
    anything."""
    on, inside, close = (x.astype(np.float32) for x in (on, inside, close))
    between = on.T @ inside  # rows on i in the domain of j
    both = on.T @ close  # those close to j
    agree = both / np.maximum(between, 1) >= FINDERS.most
    wide = np.array([chart.is_wide for chart in charts])
    linked = (np.minimum(both, both.T) >= 2 * (d + 1)) & agree & agree.T & wide & wide[:, None]
    return connected_components(coo_matrix(linked), directed=False)[1]


def _near_pairs(
    P: Points, charts: list[LocalChart], off: Offs, group: Int[np.ndarray, " k"], tried: dict[tuple[int, int], int]
) -> list[tuple[int, int]]:
    """Pairs of groups that come nearer to each other than their charts are wide, the largest first."""
    groups = np.unique(group).tolist()
    size = np.isfinite(off).sum(axis=0)
    width = {g: np.median([c.radius for c, h in zip(charts, group, strict=True) if h == g]) for g in groups}
    some = {g: P[thinned(np.flatnonzero(np.isfinite(off[:, g])))] for g in groups if size[g]}
    pairs = []
    for one, rows in some.items():
        tree = KDTree(rows)
        for two in some:
            if one < two and tried.get((one, two), 0) < 2:
                gap = np.asarray(tree.query(some[two])[0]).min()
                if gap <= 0.5 * min(width[one], width[two]):
                    pairs.append((-min(size[one], size[two]), one, two))
    return [(one, two) for _, one, two in sorted(pairs)]


def _border(P: Points, one: Held, two: Held, rng: np.random.Generator) -> Int[np.ndarray, " b"]:
    """A few rows where two groups are nearest to each other."""
    some = [thinned(np.flatnonzero(held)) for held in (one, two)]
    picks = []
    for rows, others in (some, some[::-1]):
        gap = np.asarray(KDTree(P[others]).query(P[rows])[0])
        nearest = rows[np.argsort(gap, kind="stable")[: max(3, len(rows) // 25)]]
        picks.append(rng.choice(nearest, min(FINDERS.rounds // 2, len(nearest)), replace=False))
    return np.concatenate(picks)


def _agrees(on: AllHeld, inside: Held, held: Held, close: Held, d: int) -> bool:
    """Whether a bridge is close to the rows on some chart of a group that are in its domain."""
    n_close, n_inside = (on & close[:, None]).sum(axis=0), (on & inside[:, None]).sum(axis=0)
    enough = n_close >= max(2 * (d + 1), 0.05 * held.sum())
    return bool(np.any(enough & (n_close >= FINDERS.most * n_inside)))
