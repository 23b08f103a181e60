"""The atlas: manifolds of different dimension, flat or curved, exact or noisy, at one tolerance.

Lowest dimension first. From anchors that no chart explains yet, flats are looked for in growing balls (RANSAC),
bent into quadratic charts and grown as long as they stand out from what lies around them. Charts of one
dimension that agree on the rows between them are one leaf. All lengths here are in units of the tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree

from disentree.geometry.neighbors import intrinsic_dimension
from disentree.mimosa.density.chart import (
    ROWS_PER_TERM,
    best_flat,
    clearness,
    n_terms,
    random_tuples,
    reach,
    terms,
)

BALL = 8.0  # radius of the first ball: well above the tolerance, or there is nothing to see
FIRST_ROWS = 24  # rows in the first ball, at least (and more with d): fewer prove nothing
BALL_ROWS = 300  # rows of a ball that flats are judged by
FIT_ROWS = 600  # rows that a chart is fitted to
TRIALS = 30  # RANSAC tuples per dimension
GROWTH = 1.4  # of the radius, per step
CLEAR = 4.0  # deviations of chance by which a chart stands out
EXTENT = 3.0  # deviation of a chart's rows along each tangent direction, in units of the tolerance
ROUGH = 1.15  # residuals larger than this, relative to the tolerance: the chart is too large
ANCHORS = 12  # anchors tried at a time, of which the best charts are kept
PATIENCE = 4  # rounds without a chart before the next dimension
MIN_SHARE = 0.01  # of rows, for a leaf
AGREE = 0.75  # share of the rows between two charts that both hold, for a link
FULL = 0.75  # intrinsic dimension of rows on no chart relative to their coordinates, for a leaf of full dimension
LEFT_OVER = 0.03  # share of rows on no chart, for a leaf of full dimension
MAX_DIMENSION = 10
WIDE = 6.0  # half width of a chart relative to what its rows are off by, for a link
BRIDGES = 4  # charts tried across the border between two groups, per round
BRIDGED = (
    1.25  # residuals of a bridge relative to those of what it joins, at most: where two leaves cross at a small
)
# angle, a chart between them agrees with both but is rougher than either


@dataclass(frozen=True)
class LocalChart:
    """A chart in the coordinates of the search: all its residuals are compared with the tolerance 1."""

    anchor: Float[np.ndarray, " q"]
    radius: float
    center: Float[np.ndarray, " q"]
    frame: Float[np.ndarray, "q q"]
    d: int
    scale: Float[np.ndarray, " d"]
    coefficients: Float[np.ndarray, "t c"]
    own: float = np.inf  # what most of its own rows are off by
    low: Float[np.ndarray, " d"] | float = -np.inf  # bounds of its rows in tangent coordinates
    high: Float[np.ndarray, " d"] | float = np.inf

    @property
    def is_wide(self) -> bool:
        """Whether it is so much wider than its rows are off it, in every direction, that its tangent means
        something."""
        return bool(np.min(np.asarray(self.high) - self.low) >= 2 * WIDE * self.own)

    def inside(self, Y: Float[np.ndarray, "n q"]) -> Bool[np.ndarray, " n"]:
        near = ((Y - self.anchor) ** 2).sum(axis=1) <= self.radius**2
        U = (Y[near] - self.center) @ self.frame[: self.d].T
        near[near] = ((self.low <= U) & (self.high >= U)).all(axis=1)
        return near

    def off(self, Y: Float[np.ndarray, "n q"]) -> Float[np.ndarray, " n"]:
        W = (Y - self.center) @ self.frame.T
        degree = 2 if len(self.coefficients) > 1 + self.d else 1
        R = W[:, self.d :] - terms(W[:, : self.d] / self.scale, degree) @ self.coefficients
        return np.sqrt((R * R).sum(axis=1))


def fit_local(P: Float[np.ndarray, "m q"], d: int, anchor: np.ndarray, radius: float) -> LocalChart:
    center = P.mean(axis=0)
    S = P - center
    _, vectors = np.linalg.eigh(S.T @ S)
    frame = vectors[:, ::-1].T
    W = S @ frame.T
    scale = np.maximum(np.sqrt((W[:, :d] ** 2).mean(axis=0)), 1e-12)
    degree = 2 if len(P) >= ROWS_PER_TERM * n_terms(d) else 1
    A = terms(W[:, :d] / scale, degree)
    C = np.linalg.solve(A.T @ A + 1e-10 * len(P) * np.eye(A.shape[1]), A.T @ W[:, d:])
    return LocalChart(anchor, radius, center, frame, d, scale, C)


@dataclass(frozen=True)
class Found:
    labels: Int[np.ndarray, " n"]  # -1: on no leaf
    dimensions: list[int]
    charts: list[list[LocalChart]]


def find_charts(
    Y: Float[np.ndarray, "n q"], rng: np.random.Generator, top: int | None = None
) -> tuple[list[LocalChart], Int[np.ndarray, " n"]]:
    """Charts from the lowest dimension up, and the dimension that explains each row (-1: none)."""
    n, q = Y.shape
    highest = min(q - 1, MAX_DIMENSION) if top is None else min(top, q - 1)
    explained = np.full(n, -1)
    charts: list[LocalChart] = []
    fewest = max(20, int(0.5 * MIN_SHARE * n))
    for d in range(1, highest + 1):
        misses = 0
        while misses < (PATIENCE if d <= 4 else PATIENCE // 2):
            free = np.flatnonzero(explained < 0)
            if len(free) < max(fewest, LEFT_OVER * n):
                return charts, explained
            pool = np.flatnonzero((explained < 0) | (explained == d))
            grown = []
            for anchor in rng.choice(free, min(ANCHORS, len(free)), replace=False):
                found = _chart_at(Y, pool, anchor, d, rng)
                if found is not None:
                    grown.append(found)
            accepted = 0
            for _, chart, held in sorted(grown, key=lambda one: -one[0]):
                new = held[explained[held] < 0]
                if len(new) < max(0.3 * len(held), 5):
                    continue
                explained[new] = d
                charts.append(chart)
                accepted += 1
            misses = 0 if accepted else misses + 1
    return charts, explained


def has_flats(
    Z: Float[np.ndarray, "n q"], tolerance: float, rng: np.random.Generator, n_anchors: int = 16
) -> bool:
    """Whether any of some anchors lies on a chart of less than full dimension."""
    Y, pool = np.ascontiguousarray(Z / tolerance), np.arange(len(Z))
    anchors = rng.choice(len(Z), min(n_anchors, len(Z)), replace=False)
    return any(
        _chart_at(Y, pool, anchor, d, rng) is not None
        for d in range(1, min(Z.shape[1] - 1, MAX_DIMENSION) + 1)
        for anchor in anchors
    )


def _chart_at(Y, pool, anchor, d, rng) -> tuple[float, LocalChart, np.ndarray] | None:
    """The largest chart of dimension d at an anchor that stands out: its excess, itself and the rows it holds."""
    a = Y[anchor]
    P = Y[pool]
    distance = np.sqrt(((P - a) ** 2).sum(axis=1))
    order = np.argsort(distance, kind="stable")
    sorted_distance = distance[order]
    q = Y.shape[1]
    r = reach(q - d)
    k = FIRST_ROWS + 12 * d
    if k >= len(pool):
        return None
    radius = max(BALL, float(sorted_distance[k]))
    best_start = None
    for _ in range(4):
        m = int(np.searchsorted(sorted_distance, radius))
        ball = order[1:m] if m <= BALL_ROWS else order[rng.choice(np.arange(1, m), BALL_ROWS, replace=False)]
        B = P[ball] - a
        score, basis = best_flat(B, random_tuples(rng, len(B), d, TRIALS * d), 2 * r * r)
        if score > 2 and (best_start is None or score > best_start[0]):
            best_start = (score, radius, basis)
        if m >= len(pool) or score > 3 * CLEAR:
            break
        radius *= 2
    if best_start is None:
        return None
    _, radius, basis = best_start
    m = int(np.searchsorted(sorted_distance, radius))
    near = order[:m]
    if m > FIT_ROWS:
        near = near[rng.choice(m, FIT_ROWS, replace=False)]
    y = P[near] - a
    off = np.sqrt(np.maximum((y * y).sum(1) - ((y @ basis.T) ** 2).sum(1), 0))
    chart = None
    members = P[near[off <= 1.4142 * r]]
    best = None
    far = sorted_distance[-1]
    while len(members) >= 2 * (d + 2):
        chart = fit_local(members, d, a, radius)
        members = P[near[chart.off(P[near]) <= r]]
        if len(members) < 2 * (d + 2):
            break
        chart = fit_local(members, d, a, radius)
        state = _judge(chart, P, near, m, a, d, r)
        if state is None and best is not None:
            break
        if state is not None:
            best = state
        elif radius > 3 * best_start[1]:
            break
        if radius >= far:
            break
        radius = radius * GROWTH
        m = int(np.searchsorted(sorted_distance, radius))
        near = order[:m]
        if m > FIT_ROWS:
            near = near[rng.choice(m, FIT_ROWS, replace=False)]
        members = P[near[chart.off(P[near]) <= r]]
    if best is None:
        return None
    excess, chart = best
    inside = order[: int(np.searchsorted(sorted_distance, chart.radius))]
    off = chart.off(P[inside])
    held = inside[off <= r]
    chart = _placed(chart, P[held], float(np.quantile(off[off <= r], 0.95)))
    return excess, chart, pool[held[chart.inside(P[held])]]


def _placed(chart, H, own) -> LocalChart:
    """The chart with its domain where its rows are, not where they were looked for."""
    middle = H[np.argmin(((H - np.median(H, axis=0)) ** 2).sum(axis=1))]
    radius = 1.02 * float(np.quantile(np.sqrt(((H - middle) ** 2).sum(axis=1)), 0.98))
    U = (H - chart.center) @ chart.frame[: chart.d].T
    low, high = np.quantile(U, [0.01, 0.99], axis=0)
    pad = 0.02 * (high - low)
    return replace(chart, anchor=middle, radius=radius, low=low - pad, high=high + pad, own=own)


def _judge(chart, P, near, m, a, d, r) -> tuple[float, LocalChart] | None:
    off = chart.off(P[near])
    held = off <= r
    n_held = int(held.sum())
    around = int((off <= 2 * r).sum()) - n_held
    p = n_terms(d) if len(chart.coefficients) > 1 + d else n_terms(d, 1)
    c = P.shape[1] - d
    spent = p
    if n_held <= p + 3 or clearness(n_held, around, spent) < CLEAR:
        return None
    members = P[near[held]]
    W = (members - members.mean(0)) @ chart.frame[:d].T
    if np.linalg.eigvalsh(W.T @ W / len(W))[0] < EXTENT**2:
        return None
    rms = np.sqrt((off[held] ** 2).sum() / (c * max(n_held - p, 1)))
    if rms > ROUGH or float(chart.off(a[None])[0]) > r:
        return None
    return (n_held - around) * m / len(near), chart


def link(
    Y: Float[np.ndarray, "n q"],
    charts: list[LocalChart],
    explained: Int[np.ndarray, " n"],
    rng: np.random.Generator,
) -> Found:
    """Charts of one dimension that agree on the rows between them are one leaf; leaves that are too small go."""
    n = len(Y)
    labels = np.full(n, -1)
    dimensions: list[int] = []
    leaves: list[list[LocalChart]] = []
    fewest = max(20, MIN_SHARE * n)
    for d in sorted({c.d for c in charts}):
        rows = np.flatnonzero((explained == d) | (explained < 0))
        mine = [c for c in charts if c.d == d]
        mine, on, group = _groups(Y, rows, mine, d, rng)
        # a row goes to the group of the chart it is nearest to
        best, owner = np.full(len(rows), np.inf), np.full(len(rows), -1)
        for i, chart in enumerate(mine):
            hit = np.flatnonzero(on[:, i])
            off = chart.off(Y[rows[hit]])
            better = off < best[hit]
            best[hit[better]] = off[better]
            owner[hit[better]] = group[i]
        for g in np.unique(group):
            members = rows[owner == g]
            members = members[labels[members] < 0]
            if len(members) >= fewest:
                labels[members] = len(dimensions)
                dimensions.append(d)
                leaves.append([c for c, h in zip(mine, group, strict=True) if h == g])
    return Found(labels, dimensions, leaves)


def _groups(Y, rows, charts, d, rng):
    """Groups of linked charts. Where two groups come near each other, charts are grown to bridge them."""
    r = reach(Y.shape[1] - d)
    P = Y[rows]
    inside, on, close = _membership(P, charts, r)
    group = _linked(inside, on, close, charts, d)
    off = _least_offs(P, charts, on, group)
    tried: dict[tuple[int, int], int] = {}
    while True:
        joined = False
        for one, two in _near_pairs(P, charts, off, group, tried):
            if one not in group or two not in group:
                continue  # joined to another meanwhile
            tried[one, two] = tried.get((one, two), 0) + 1
            for row in _border(P, off[:, one], off[:, two], rng):
                found = _chart_at(Y, rows, rows[row], d, rng)
                if found is None or not found[1].is_wide:
                    continue
                bridge = found[1]
                b_inside, b_on, b_close = _membership(P, [bridge], r)
                smooth = np.array([bridge.own <= BRIDGED * c.own for c in charts])
                if not all(
                    _agrees(on, smooth & (group == g), b_inside[:, 0], b_on[:, 0], b_close[:, 0], d)
                    for g in (one, two)
                ):
                    continue
                charts = [*charts, bridge]
                inside, on, close = (
                    np.concatenate(both, axis=1) for both in ((inside, b_inside), (on, b_on), (close, b_close))
                )
                group = np.append(np.where(group == two, one, group), one)
                mine = np.flatnonzero(b_on[:, 0])
                off[:, one] = np.minimum(off[:, one], off[:, two])
                off[mine, one] = np.minimum(off[mine, one], bridge.off(P[mine]))
                off[:, two] = np.inf
                joined = True
                break
        if not joined:
            return charts, on, group


def _least_offs(P, charts, on, group):
    """For every row and group: how far it is off the nearest chart of the group that holds it."""
    off = np.full((len(P), group.max() + 1), np.inf)
    for i, chart in enumerate(charts):
        mine = np.flatnonzero(on[:, i])
        off[mine, group[i]] = np.minimum(off[mine, group[i]], chart.off(P[mine]))
    return off


def _near_pairs(P, charts, off, group, tried):
    """Pairs of groups that come nearer to each other than their charts are wide, the largest first."""
    groups = np.unique(group)
    size = np.isfinite(off).sum(axis=0)
    width = {g: np.median([c.radius for c, h in zip(charts, group, strict=True) if h == g]) for g in groups}
    some = {g: thinned(np.flatnonzero(np.isfinite(off[:, g]))) for g in groups}
    trees = {g: KDTree(P[some[g]]) for g in groups if len(some[g])}
    pairs = []
    for one in trees:
        for two in trees:
            if one < two and tried.get((one, two), 0) < 2:
                gap = np.asarray(trees[one].query(P[some[two]])[0]).min()
                if gap <= 0.5 * min(width[one], width[two]):
                    pairs.append((-min(size[one], size[two]), one, two))
    return [(one, two) for _, one, two in sorted(pairs)]


def _border(P, off_one, off_two, rng):
    """A few rows where two groups are nearest to each other."""
    one, two = thinned(np.flatnonzero(np.isfinite(off_one))), thinned(np.flatnonzero(np.isfinite(off_two)))
    if not len(one) or not len(two):
        return []
    gap_one = np.asarray(KDTree(P[two]).query(P[one])[0])
    gap_two = np.asarray(KDTree(P[one]).query(P[two])[0])
    picks = []
    for rows, gap in ((one, gap_one), (two, gap_two)):
        nearest = rows[np.argsort(gap, kind="stable")[: max(3, len(rows) // 25)]]
        picks.append(rng.choice(nearest, min(BRIDGES // 2, len(nearest)), replace=False))
    return np.concatenate(picks)


def _agrees(on, mine, b_inside, b_on, b_close, d):
    """Whether a bridge holds the rows of some chart of a group that are in its domain."""
    fewest = max(2 * (d + 1), 0.05 * b_on.sum())
    for i in np.flatnonzero(mine):
        there, close = (on[:, i] & b_inside).sum(), (on[:, i] & b_close).sum()
        if close >= fewest and close >= AGREE * there:
            return True
    return False


def thinned(rows: Int[np.ndarray, " m"], n: int = 1000) -> Int[np.ndarray, " s"]:
    """At most `n` rows, evenly spread."""
    return rows[np.linspace(0, len(rows) - 1, min(len(rows), n)).astype(int)]


def _linked(inside, on, close, charts, d):
    """Groups of charts that agree on the rows between them: most rows on either, in the other's ball, lie as
    close to that one as its own rows do. A chart that is not much wider than its rows are off it agrees with
    anything."""
    on, inside, close = (x.astype(np.float32) for x in (on, inside, close))
    between = on.T @ inside  # rows on i in the ball of j
    both = on.T @ close  # those close to j
    agree = both / np.maximum(between, 1)
    wide = np.array([c.is_wide for c in charts])
    linked = (
        (np.minimum(both, both.T) >= 2 * (d + 1)) & (agree >= AGREE) & (agree.T >= AGREE) & wide & wide[:, None]
    )
    return connected_components(coo_matrix(linked), directed=False)[1]


def _membership(Y: Float[np.ndarray, "n q"], charts: list[LocalChart], r: float) -> tuple[np.ndarray, ...]:
    """Rows in the ball of each chart; those on it; those as close to it as most of its own rows."""
    inside, on, close = (np.zeros((len(Y), len(charts)), dtype=bool) for _ in range(3))
    for i, chart in enumerate(charts):
        near = np.flatnonzero(chart.inside(Y))
        off = chart.off(Y[near])
        inside[near, i] = True
        on[near, i] = off <= r
        close[near, i] = off <= chart.own
    return inside, on, close


def find_at(
    Z: Float[np.ndarray, "n D"], tolerance: float, rng: np.random.Generator, top: int | None = None
) -> Found:
    """The leaves of rows at one tolerance. Directions in which the data is no wider than it are left out."""
    wide = Z.std(axis=0) > tolerance
    if wide.sum() < 2:
        return Found(np.full(len(Z), -1), [], [])
    Y = np.ascontiguousarray(Z[:, wide] / tolerance)
    charts, explained = find_charts(Y, rng, top)
    found = link(Y, charts, explained, rng)
    left = found.labels < 0
    many = left.mean() > LEFT_OVER and left.sum() >= max(20, MIN_SHARE * len(Z))
    # Rows that fill fewer dimensions are no cloud: a part of a leaf that no chart was laid on.
    if found.dimensions and many and intrinsic_dimension(Y[left]) >= FULL * wide.sum():
        labels = found.labels.copy()
        labels[left] = len(found.dimensions)
        # full as far as the data is wider than the tolerance: the other directions are noise across it
        return Found(labels, [*found.dimensions, int(wide.sum())], [*found.charts, []])
    return found
