"""The atlas as a finder: manifolds of different dimension, flat or curved, exact or noisy.

At one tolerance charts are grown and linked to leaves (`growing`, `linking`), pieces of one leaf are joined
(`consolidate`) and rows are settled by likelihood. Tolerances follow from the data; held-out bits choose among
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial import KDTree

from disentree.geometry.neighbors import intrinsic_dimension
from disentree.mimosa.constants import FIT
from disentree.mimosa.coordinates.constants import COORDINATES
from disentree.mimosa.density.candidate import Candidate, LeafCandidate
from disentree.mimosa.density.chart import Errors
from disentree.mimosa.density.chart_mixture import Background, ChartCandidate, enough_rows, refit, settle
from disentree.mimosa.density.constants import DENSITY
from disentree.mimosa.density.tiles import Leaf, celled
from disentree.mimosa.finders.atlas.borders import telling_size
from disentree.mimosa.finders.atlas.consolidate import consolidate
from disentree.mimosa.finders.atlas.constants import ATLAS
from disentree.mimosa.finders.atlas.growing import find_charts, has_charts
from disentree.mimosa.finders.atlas.linking import link
from disentree.mimosa.finders.budget import Budget, unbounded
from disentree.mimosa.finders.connected import connected_leaves
from disentree.mimosa.finders.constants import FINDERS
from disentree.mimosa.finders.protocol import FindsAgain, Rows

Points = Float[np.ndarray, "n D"]
Labels = Int[np.ndarray, " n"]  # of leaves, -1 for none


def find(
    Z: Points, errors: Errors, rng: np.random.Generator, budget: Budget | None = None, tolerance: float = 0.0
) -> ChartCandidate | None:
    """The best decomposition into flat and curved leaves over a few tolerances, or at one that is known, which is
    then not made finer; None if there is nothing, or no budget."""
    n, D = Z.shape
    budget = budget or unbounded()
    if n < 60 or D < 2 or budget.is_over("all of some rows"):
        return None
    order = rng.permutation(n)
    most = 2 * FINDERS.searched
    n_judged = 0 if tolerance else min(most, n) // 4  # others judge a tolerance
    judged, searched = Z[order[:n_judged]], Z[order[n_judged : n_judged + most]]
    spread = float(np.sqrt(Z.var(axis=0).sum()))
    noise = noise_scale(searched, rng)
    tried: dict[float, tuple[float, ChartCandidate | None]] = {}

    def settled(rows: np.ndarray, candidate: ChartCandidate, rounds: int) -> ChartCandidate:
        return settle(rows, candidate, errors, rng, max(20, int(0.7 * FIT.least_share * len(rows))), rounds)

    def joined(candidate: ChartCandidate, rounds: int) -> ChartCandidate:
        # with rows on their likeliest leaves, borders are clean
        labels, dims = consolidate(searched, candidate.labels(searched), candidate.dimensions, rng, budget=budget)
        if len(dims) == len(candidate.components):
            return candidate
        return settled(searched, describe(searched, labels, dims, errors, rng, budget), rounds)

    deviations = np.maximum(searched.std(axis=0), 1e-300)

    def attempt(t: float) -> ChartCandidate | None:
        scale = deviations if t == COORDINATES.exact else 1.0
        labels, dims = leaves_at(searched / scale, t, np.random.default_rng(rng.integers(2**63)), budget)
        if not dims:
            return None
        labels, dims = consolidate(searched, labels, dims, rng, joins=False, budget=budget)
        candidate = joined(settled(searched, describe(searched, labels, dims, errors, rng, budget), 2), 1)
        return replace(candidate, tolerance=t)

    def judge(t: float) -> None:
        candidate = attempt(t)
        tried[t] = np.inf if candidate is None else float(np.mean(candidate.bits(judged))), candidate

    def judge_some() -> None:
        if has_charts(searched / deviations, COORDINATES.exact, rng):
            judge(COORDINATES.exact)
        first = max(ATLAS.above_noise * noise, ATLAS.first_tolerance * spread)
        for t in [first, 2 * first, *([first / 2] if first / 2 > 1.3 * noise else [])]:
            if not (tried and budget.is_over("other tolerances")):
                judge(t)
        while len(tried) < FINDERS.rounds and not budget.is_over("other tolerances"):
            best = min(tried, key=lambda t: tried[t][0])
            if best == COORDINATES.exact:
                break
            more = [
                t
                for t in (best * 2, best / 2)
                if not any(abs(np.log(t / s)) < 0.1 for s in tried) and t > 1.3 * noise and t < 0.2 * spread
            ]
            if not more:
                break
            judge(more[0])

    if tolerance:
        return attempt(tolerance)
    judge_some()
    best = choose(tried)
    if best is None:
        return None
    return settled(Z, joined(settled(searched, best, FINDERS.rounds), FINDERS.rounds), 3)


def noise_scale(Z: Points, rng: np.random.Generator, n_anchors: int = 100) -> float:
    """The deviation of the data across its leaves, at the smallest scale that shows it.

    The least of the deviations of nearest neighbors, after a fit of the plane through most of them: noise is
    there at any scale, curvature vanishes with the size of the neighborhood.
    """
    n, D = Z.shape
    k = min(max(30, 4 * D), n - 1)
    some = rng.choice(n, min(n_anchors, n), replace=False)
    near = np.asarray(KDTree(Z).query(Z[some], k)[1])
    P = Z[near] - Z[near].mean(axis=1, keepdims=True)
    values = np.linalg.svd(P, compute_uv=False)[:, -1] / np.sqrt(k)
    # the least of D eigenvalues of k rows of white noise is smaller than the rest by this factor
    return float(np.quantile(values, FINDERS.counted) / max(1 - np.sqrt(D / k), 0.3))


def leaves_at(
    Z: Points, tolerance: float, rng: np.random.Generator, budget: Budget | None = None
) -> tuple[Labels, list[int]]:
    """The leaf of every row and the dimension of every leaf at one tolerance. Directions in which the
    data is no wider than it are left out."""
    wide = Z.std(axis=0) > tolerance
    if wide.sum() < 2:
        return np.full(len(Z), -1), []
    Y = np.ascontiguousarray(Z[:, wide] / tolerance)
    labels, dims = link(Y, *find_charts(Y, rng, budget), rng, budget)
    left = labels < 0
    many = left.mean() > ATLAS.negligible and left.sum() >= max(20, FIT.least_share * len(Z))
    # Rows that fill fewer dimensions are no cloud: a part of a leaf that no chart was laid on.
    if dims and many and intrinsic_dimension(Y[left]) >= FINDERS.most * wide.sum():
        # full as far as the data is wider than the tolerance: the other directions are noise across it
        return np.where(left, len(dims), labels), [*dims, int(wide.sum())]
    return labels, dims


def choose(tried: dict[float, tuple[float, ChartCandidate | None]]) -> ChartCandidate | None:
    """The structure of fewest bits; of those within the doubt, that with the fewest leaves."""
    sound = [(bits, found) for bits, found in tried.values() if found is not None and np.isfinite(bits)]
    least = min((bits for bits, _ in sound), default=np.inf)
    near = [(len(found.components), bits, found) for bits, found in sound if bits <= least + ATLAS.negligible]
    return min(near, key=lambda one: one[:2])[2] if near else None


def describe(
    Z: Points, labels: Labels, dims: list[int], errors: Errors, rng: np.random.Generator, budget: Budget
) -> ChartCandidate:
    """The density of leaves, all at the resolution that their rows allow."""
    leaves, counts = [], []
    for c, d in enumerate(dims):
        mine = np.flatnonzero(labels == c)
        if not enough_rows(len(mine), d):
            continue
        pieces = celled(Z, mine, d, telling_size(Z, mine, d, rng, budget)[0] if 0 < d < Z.shape[1] else 0)
        tiles = [refit(Z[p], d, errors, rng, len(p) / len(mine), len(pieces), DENSITY.trims[0]) for p in pieces]
        leaves.append(Leaf(d, tiles))
        counts.append(len(mine))
    shares = np.array(counts, dtype=float)
    return ChartCandidate("atlas", leaves, shares / shares.sum(), background=Background.fit(Z))


@dataclass(frozen=True)
class Atlas(FindsAgain):
    name: str = "atlas"

    def propose(self, rows: Rows, rng: np.random.Generator) -> Sequence[Candidate]:
        found = self._found(rows, rng)
        if found is None:
            return []
        # Gaussians would need very many pieces to follow leaves that are thin and curved. Leaves that fall apart
        # may be clouds that happen to lie on one chart.
        curved = sum(share for leaf, share in zip(found.components, found.shares, strict=True) if leaf.is_curved)
        leaves = replace(_leaves(found), needless_bits=FINDERS.thin)
        if curved < 0.5 or max(found.dimensions) == rows.Z.shape[1]:
            return [leaves]
        is_connected = connected_leaves(leaves, rows.Z) == len(found.components)
        return [replace(leaves, makes_needless=("mixture",)) if is_connected else leaves]

    def refit(self, rows: Rows, rng: np.random.Generator, found: Sequence[Candidate]) -> Sequence[Candidate]:
        own = [one.tolerance for one in found if isinstance(one, LeafCandidate)]
        again = self._found(rows, rng, *own[:1])
        return [] if again is None else [_leaves(again)]

    def _found(self, rows: Rows, rng: np.random.Generator, tolerance: float = 0.0) -> ChartCandidate | None:
        repeats = len(np.unique(rows.Z, axis=0)) < len(rows.Z)
        Z = rows.jittered(rng) if repeats else rows.Z
        return find(Z, rows.errors, rng, rows.budget, tolerance)


def _leaves(found: ChartCandidate) -> LeafCandidate:
    """Without the background."""
    return LeafCandidate("atlas", found.components, found.shares, tolerance=found.tolerance)
