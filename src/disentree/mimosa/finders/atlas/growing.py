"""Charts grown from anchors: the rows of data at one tolerance, from the lowest dimension up.

From anchors that no chart explains yet, flats are looked for in growing balls (RANSAC), bent into quadratic charts
and grown as long as they stand out from what lies around them. All lengths here are in units of the tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import no_type_check

import numpy as np
from jaxtyping import Bool, Float, Int
from numba import njit

from disentree.geometry.charts import QuadraticGraph, fit_graph
from disentree.geometry.subspaces import clearness, gram_schmidt, reach
from disentree.mimosa.density.chart import degree_for, rows_needed
from disentree.mimosa.finders.atlas.constants import ATLAS
from disentree.mimosa.finders.budget import Budget, unbounded
from disentree.mimosa.finders.constants import FINDERS


@dataclass(frozen=True)
class LocalChart(QuadraticGraph):
    """A chart with the place it was found at: a ball, and in it bounds of its rows in tangent coordinates."""

    anchor: Float[np.ndarray, " q"]
    radius: float
    own: float = np.inf  # what most of its own rows are off by
    low: Float[np.ndarray, " d"] | float = -np.inf
    high: Float[np.ndarray, " d"] | float = np.inf

    @property
    def is_wide(self) -> bool:
        """Whether it is so much wider than its rows are off it, in every direction, that its tangent means
        something."""
        deviation = np.min(np.asarray(self.high) - self.low) / 4  # between its bounds are about four
        return bool(deviation >= FINDERS.narrow * self.own)

    def inside(self, Y: Float[np.ndarray, "n q"]) -> Bool[np.ndarray, " n"]:
        near = ((Y - self.anchor) ** 2).sum(axis=1) <= self.radius**2
        U = self.tangent(Y[near])
        near[near] = ((self.low <= U) & (self.high >= U)).all(axis=1)
        return near

    def tangent(self, Y: Float[np.ndarray, "n q"]) -> Float[np.ndarray, "n d"]:
        return (Y - self.center) @ self.frame[: self.dimension].T

    def off(self, Y: Float[np.ndarray, "n q"]) -> Float[np.ndarray, " n"]:
        R = self.split(Y)[1]
        return np.sqrt((R * R).sum(axis=1))


def fit_local(P: Float[np.ndarray, "m q"], d: int, anchor: Float[np.ndarray, " q"], radius: float) -> LocalChart:
    center = P.mean(axis=0)
    Y = P - center
    frame = np.linalg.eigh(Y.T @ Y)[1][:, ::-1].T
    graph, _ = fit_graph(Y, center, frame, d, degree_for(len(P), d), _ridge)
    return LocalChart(center, frame, graph.scale, graph.coefficients, anchor, radius)


def _ridge(A: Float[np.ndarray, "m t"], V: Float[np.ndarray, "m c"]) -> Float[np.ndarray, "t c"]:
    return np.linalg.solve(A.T @ A + 1e-10 * len(A) * np.eye(A.shape[1]), A.T @ V)


def find_charts(
    Y: Float[np.ndarray, "n q"], rng: np.random.Generator, budget: Budget | None = None
) -> tuple[list[LocalChart], Int[np.ndarray, " n"]]:
    """Charts within the budget, from the lowest dimension up, and the dimension that explains each row, or -1."""
    budget = budget or unbounded()
    n, q = Y.shape
    explained = np.full(n, -1)
    charts: list[LocalChart] = []
    fewest = max(20, ATLAS.negligible * n)
    for d in _dimensions(q):
        misses = 0
        while misses < (FINDERS.rounds if d <= 4 else FINDERS.rounds // 2):
            free = np.flatnonzero(explained < 0)
            if len(free) < fewest or budget.is_over("charts of more rows"):
                return charts, explained
            pool = np.flatnonzero((explained < 0) | (explained == d))
            grown = []
            for anchor in rng.choice(free, min(FINDERS.looks, len(free)), replace=False).tolist():
                found = chart_at(Y, pool, anchor, d, rng)
                budget.spend(d, len(pool) * q)
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


def has_charts(
    Z: Float[np.ndarray, "n q"], tolerance: float, rng: np.random.Generator, n_anchors: int = 16
) -> bool:
    """Whether any of some anchors lies on a chart of less than full dimension."""
    Y, pool = np.ascontiguousarray(Z / tolerance), np.arange(len(Z))
    anchors = rng.choice(len(Z), min(n_anchors, len(Z)), replace=False).tolist()
    return any(
        chart_at(Y, pool, anchor, d, rng) is not None for d in _dimensions(Z.shape[1]) for anchor in anchors
    )


def _dimensions(q: int) -> list[int]:
    """Of charts, from the lowest up to less than q; with the highest, the rows of a ball are enough for a
    quadratic."""
    return [d for d in range(1, q) if rows_needed(d) <= ATLAS.ball_rows]


def chart_at(
    Y: Float[np.ndarray, "n q"], pool: Int[np.ndarray, " m"], anchor: int, d: int, rng: np.random.Generator
) -> tuple[float, LocalChart, Int[np.ndarray, " h"]] | None:
    """The largest chart of dimension d at an anchor that stands out among the rows of a pool: its excess over what
    lies around it, itself and the rows it holds."""
    a = Y[anchor]
    distances = np.sqrt(((Y[pool] - a) ** 2).sum(axis=1))
    order = np.argsort(distances, kind="stable")
    distances, pool = distances[order], pool[order]
    P = Y[pool]
    r, fewest = reach(Y.shape[1] - d), 2 * (d + 2)
    first = _first_flat(P, distances, d, r, rng)
    if first is None:
        return None
    radius, basis = first
    n_near, near = _within(P, distances, radius, rng)
    y = near - a
    off = np.sqrt(np.maximum((y * y).sum(1) - ((y @ basis.T) ** 2).sum(1), 0))
    members = near[off <= np.sqrt(2) * r]  # the anchor is off its flat too
    best = None
    while len(members) >= fewest:
        chart = fit_local(members, d, a, radius)
        members = near[chart.off(near) <= r]
        if len(members) < fewest:
            break
        chart = fit_local(members, d, a, radius)
        excess = _excess(chart, near, r)
        if excess is not None:
            best = excess * n_near / len(near), chart
        elif best is not None or radius > 3 * first[0]:
            break
        if radius >= distances[-1]:
            break
        radius *= ATLAS.similar
        n_near, near = _within(P, distances, radius, rng)
        members = near[chart.off(near) <= r]
    if best is None:
        return None
    excess, chart = best
    off = chart.off(P[: np.searchsorted(distances, chart.radius)])
    held = np.flatnonzero(off <= r)
    chart = _placed(chart, P[held], float(np.quantile(off[held], 0.95)))
    return excess, chart, pool[held[chart.inside(P[held])]]


def _first_flat(
    P: Float[np.ndarray, "m q"], distances: Float[np.ndarray, " m"], d: int, r: float, rng: np.random.Generator
) -> tuple[float, Float[np.ndarray, "d q"]] | None:
    """The radius of the ball around the first row in which a flat through it stands out most, and the flat."""
    k = FINDERS.looks * (d + 2)
    if k >= len(P):
        return None
    radius = max(ATLAS.ball, float(distances[k]))
    best = None
    for _ in range(4):
        m = int(np.searchsorted(distances, radius))
        ball = P[1:m] if m <= ATLAS.ball_rows else P[rng.choice(np.arange(1, m), ATLAS.ball_rows, replace=False)]
        tuples = rng.integers(len(ball), size=(ATLAS.trials * d, d))
        score, basis = best_flat(ball - P[0], tuples, 2 * r * r, ATLAS.glance)
        if score > 2 and (best is None or score > best[0]):
            best = score, radius, basis
        if m >= len(P) or score > 3 * ATLAS.clear:
            break
        radius *= 2
    return None if best is None else best[1:]


def _within(
    P: Float[np.ndarray, "m q"], distances: Float[np.ndarray, " m"], radius: float, rng: np.random.Generator
) -> tuple[int, Float[np.ndarray, "s q"]]:
    """How many rows are within a radius, and those, or some of them."""
    m = int(np.searchsorted(distances, radius))
    most = 2 * ATLAS.ball_rows
    return m, P[:m] if m <= most else P[rng.choice(m, most, replace=False)]


def _placed(chart: LocalChart, H: Float[np.ndarray, "h q"], own: float) -> LocalChart:
    """The chart with its domain where its rows are, not where they were looked for."""
    middle = H[np.argmin(((H - np.median(H, axis=0)) ** 2).sum(axis=1))]
    radius = 1.02 * float(np.quantile(np.sqrt(((H - middle) ** 2).sum(axis=1)), 0.98))
    low, high = np.quantile(chart.tangent(H), [0.01, 0.99], axis=0)
    pad = 0.02 * (high - low)
    return replace(chart, anchor=middle, radius=radius, low=low - pad, high=high + pad, own=own)


def _excess(chart: LocalChart, near: Float[np.ndarray, "m q"], r: float) -> int | None:
    """By how many more rows a chart holds than lie around it; None if that may be chance, if it is narrow, or if
    its rows or its anchor are too far off it."""
    off = chart.off(near)
    held = off <= r
    n_held = int(held.sum())
    around = int((off <= 2 * r).sum()) - n_held
    n_terms, d = len(chart.coefficients), chart.dimension
    if n_held <= n_terms + 3 or clearness(n_held, around, n_terms) < ATLAS.clear:
        return None
    members = near[held]
    W = (members - members.mean(0)) @ chart.frame[:d].T
    if np.linalg.eigvalsh(W.T @ W / len(W))[0] < FINDERS.narrow**2:
        return None
    rms = np.sqrt((off[held] ** 2).sum() / ((near.shape[1] - d) * max(n_held - n_terms, 1)))
    if rms > ATLAS.rough or float(chart.off(chart.anchor[None])[0]) > r:
        return None
    return n_held - around


@njit(cache=True)
@no_type_check
def best_flat(Y, tuples, limit, glance):
    """Of the flats through the origin and d rows of Y each, the one that stands out most: (score, basis).

    Held are rows within a squared distance of `limit`, around it those within four times that. A set of one
    dimension more puts as many rows in the one as in the other. A flat without support among the first `glance`
    rows is not looked at further.
    """
    m, D = Y.shape
    d = tuples.shape[1]
    square = np.empty(m)
    for j in range(m):
        s = 0.0
        for a in range(D):
            s += Y[j, a] ** 2
        square[j] = s
    best_score = -np.inf
    best = np.zeros((d, D))
    B = np.empty((d, D))
    for t in range(len(tuples)):
        if not gram_schmidt(Y, tuples[t], d, limit / 4, B):
            continue
        held = 0
        around = 0
        for j in range(m):
            off = square[j]
            for c in range(d):
                dot = 0.0
                for a in range(D):
                    dot += B[c, a] * Y[j, a]
                off -= dot * dot
            if off <= limit:
                held += 1
            elif off <= 4 * limit:
                around += 1
            if j == glance - 1:
                drawn = 0
                for c in range(d):
                    drawn += tuples[t, c] < glance
                if held <= drawn:  # no support but the rows it was drawn through
                    held = 0
                    break
        if held == 0:
            continue
        score = clearness(held, around, d + 1)
        if score > best_score:
            best_score = score
            best[:] = B
    return best_score, best
