"""The atlas as a finder: tolerances from the data, a choice among them by held-out bits, rows settled by
likelihood."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from disentree.mimosa.density.candidate import Candidate, LeafCandidate
from disentree.mimosa.density.chart_mixture import EM_ROUNDS, TRIMS, Background, ChartCandidate, refit, settle
from disentree.mimosa.density.tiles import Leaf, celled
from disentree.mimosa.finders.atlas.charts import MIN_SHARE, find_at, has_flats
from disentree.mimosa.finders.atlas.consolidate import consolidate, telling_size
from disentree.mimosa.finders.connected import connected_leaves
from disentree.mimosa.finders.constants import FINDERS
from disentree.mimosa.finders.protocol import FindsAgain, Rows

log = logging.getLogger(__name__)

SEARCHED = 12_000  # rows among which leaves are looked for
JUDGED = 3_000  # rows, not searched, that judge a tolerance
EXACT = 1e-6  # tolerance for exact flats, in units of each direction's own deviation
FIRST = 0.006  # first tolerance, relative to the spread of the data, unless noise is larger
ABOVE_NOISE = 2.0  # tolerance relative to the noise
THINNEST = 0.1  # share of rows on the thinnest leaves, by which noise is measured: a cloud around them is no noise
DOUBT = 0.03  # bits per row that do not decide between two tolerances
MAX_RUNGS = 4


def noise_scale(Z: Float[np.ndarray, "n D"], rng: np.random.Generator, n_anchors: int = 100) -> float:
    """The deviation of the data across its leaves, at the smallest scale that shows it.

    The least of the deviations of nearest neighbors, after a fit of the plane through most of them: noise is
    there at any scale, curvature vanishes with the size of the neighborhood.
    """
    from scipy.spatial import KDTree

    n, D = Z.shape
    k = min(max(30, 4 * D), n - 1)
    some = rng.choice(n, min(n_anchors, n), replace=False)
    near = np.asarray(KDTree(Z).query(Z[some], k)[1])
    P = Z[near] - Z[near].mean(axis=1, keepdims=True)
    values = np.linalg.svd(P, compute_uv=False)[:, -1] / np.sqrt(k)
    # the least of D eigenvalues of k rows of white noise is smaller than the rest by this factor
    return float(np.quantile(values, THINNEST) / max(1 - np.sqrt(D / k), 0.3))


def find(
    Z: Float[np.ndarray, "n D"],
    precision: Float[np.ndarray, "p D"] | Float[np.ndarray, " D"] | float,
    rng: np.random.Generator,
) -> ChartCandidate | None:
    """The best decomposition into flat and curved leaves over a ladder of tolerances; None if there is nothing.

    `precision` is that of each coordinate, or a matrix whose rows are independent errors of the coordinates.
    """
    n, D = Z.shape
    if n < 60 or D < 2:
        return None
    order = rng.permutation(n)
    n_judged = min(JUDGED, n // 4)
    judged, searched = Z[order[:n_judged]], Z[order[n_judged : n_judged + SEARCHED]]
    spread = float(np.sqrt(Z.var(axis=0).sum()))
    noise = noise_scale(searched, rng)
    tried: dict[float, tuple[float, ChartCandidate | None]] = {}
    few = max(20, int(0.7 * MIN_SHARE * len(searched)))

    def described(labels: Int[np.ndarray, " m"], dims: list[int], rounds: int) -> ChartCandidate:
        return settle(searched, describe(searched, labels, dims, precision, rng), precision, rng, few, rounds)

    def attempt(t: float, scale: Float[np.ndarray, " D"] | float = 1.0) -> float:
        start = time.perf_counter()
        found = find_at(searched / scale, t, np.random.default_rng(rng.integers(2**63)))
        seconds = time.perf_counter() - start
        if not found.dimensions:
            tried[t] = np.inf, None
            return np.inf
        labels, dims = consolidate(searched, found.labels, found.dimensions, rng, joins=False)
        candidate = described(labels, dims, 2)
        # With rows on their likeliest leaves, borders are clean.
        settled = candidate.labels(searched)
        labels, dims = consolidate(searched, settled, candidate.dimensions, rng)
        if len(dims) < len(candidate.components):
            candidate = described(labels, dims, 1)
        bits = float(np.mean(candidate.bits(judged)))
        tried[t] = bits, candidate
        log.debug(
            "t=%.3g noise %.3g: %s -> %s %.3f bits, %.1f + %.1f s",
            t,
            noise,
            found.dimensions,
            candidate.dimensions,
            bits,
            seconds,
            time.perf_counter() - start - seconds,
        )
        return bits

    first = max(ABOVE_NOISE * noise, FIRST * spread)
    start = time.perf_counter()
    whitened = searched / np.maximum(searched.std(axis=0), 1e-300)
    if has_flats(whitened, EXACT, rng):
        attempt(EXACT, np.maximum(searched.std(axis=0), 1e-300))
    log.debug("glance and exact %.1f s", time.perf_counter() - start)
    ladder = [first, 2 * first]
    if first / 2 > 1.3 * noise:
        ladder.append(first / 2)
    for t in ladder:
        attempt(t)
    while len(tried) < MAX_RUNGS:
        best = min(tried, key=lambda t: tried[t][0])
        if best == EXACT:
            break
        more = [
            t
            for t in (best * 2, best / 2)
            if not any(abs(np.log(t / s)) < 0.1 for s in tried) and t > 1.3 * noise and t < 0.2 * spread
        ]
        if not more:
            break
        attempt(more[0])
    best = choose(tried)
    if best is None:
        return None
    candidate = settle(searched, best, precision, rng, few)
    labels, dims = consolidate(searched, candidate.labels(searched), candidate.dimensions, rng)
    if len(dims) < len(candidate.components):
        candidate = described(labels, dims, EM_ROUNDS)
    return settle(Z, candidate, precision, rng, max(20, int(0.7 * MIN_SHARE * n)), rounds=3)


def choose(tried: dict[float, tuple[float, ChartCandidate | None]]) -> ChartCandidate | None:
    """The structure of fewest bits; of those within the doubt, that with the fewest leaves."""
    sound = [(bits, found) for bits, found in tried.values() if found is not None and np.isfinite(bits)]
    least = min((bits for bits, _ in sound), default=np.inf)
    near = [(len(found.components), bits, found) for bits, found in sound if bits <= least + DOUBT]
    return min(near, key=lambda one: one[:2])[2] if near else None


def describe(Z, labels, dims, precision, rng) -> ChartCandidate:
    """The density of leaves, all at the resolution that their rows allow."""
    leaves, counts = [], []
    for c, d in enumerate(dims):
        mine = np.flatnonzero(labels == c)
        if len(mine) < max(3 * (d + 1), 8):
            continue
        pieces = celled(Z, mine, d, telling_size(Z, mine, d, rng)[0] if 0 < d < Z.shape[1] else 0)
        leaves.append(
            Leaf(d, [refit(Z[p], d, precision, rng, len(p) / len(mine), len(pieces), TRIMS[0]) for p in pieces])
        )
        counts.append(len(mine))
    shares = np.array(counts, dtype=float)
    return ChartCandidate("atlas", leaves, shares / shares.sum(), Background.fit(Z))


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
        leaves = LeafCandidate("atlas", found.components, found.shares, needless_bits=FINDERS.thin)
        if curved < 0.5 or max(found.dimensions) == rows.Z.shape[1]:
            return [leaves]
        is_connected = connected_leaves(leaves, rows.Z) == len(found.components)
        return [replace(leaves, makes_needless=("mixture",)) if is_connected else leaves]

    def refit(self, rows: Rows, rng: np.random.Generator, found: Sequence[Candidate]) -> Sequence[Candidate]:
        again = self._found(rows, rng)
        return [] if again is None else [LeafCandidate("atlas", again.components, again.shares)]

    def _found(self, rows: Rows, rng: np.random.Generator) -> ChartCandidate | None:
        repeats = len(np.unique(rows.Z, axis=0)) < len(rows.Z)
        return find(rows.jittered(rng) if repeats else rows.Z, rows.errors, rng)


__all__ = ["Atlas", "describe", "find", "noise_scale"]
