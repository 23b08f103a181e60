"""The atlas as a finder: tolerances from the data, a choice among them by held-out bits, rows settled by
likelihood."""

from __future__ import annotations

import logging
import time

import numpy as np
from jaxtyping import Float

from disentree.mimosa.finders.atlas_charts import MIN_SHARE, Found, find_at, has_flats
from disentree.mimosa.finders.chart_mixture import TRIMS, Background, ChartCandidate, owners, refit, settle
from disentree.mimosa.finders.consolidate import consolidate
from disentree.mimosa.finders.leaf_density import Leaf, celled, fit_leaf, halved

log = logging.getLogger(__name__)

SEARCHED = 12_000  # rows among which leaves are looked for
JUDGED = 3_000  # rows, not searched, that judge a tolerance
EXACT = 1e-6  # tolerance for exact flats, in units of each direction's own deviation
FIRST = 0.006  # first tolerance, relative to the spread of the data, unless noise is larger
ABOVE_NOISE = 2.0  # tolerance relative to the noise
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
    return float(np.median(values) / max(1 - np.sqrt(D / k), 0.3))


def find(
    Z: Float[np.ndarray, "n D"],
    precision: Float[np.ndarray, " D"] | float,
    rng: np.random.Generator,
) -> ChartCandidate | None:
    """The best decomposition into flat and curved leaves over a ladder of tolerances; None if there is nothing."""
    n, D = Z.shape
    if n < 60 or D < 2:
        return None
    order = rng.permutation(n)
    n_judged = min(JUDGED, n // 4)
    judged, searched = Z[order[:n_judged]], Z[order[n_judged : n_judged + SEARCHED]]
    spread = float(np.sqrt(Z.var(axis=0).sum()))
    noise = noise_scale(searched, rng)
    tried: dict[float, tuple[float, tuple | None]] = {}

    def attempt(t: float, scale: Float[np.ndarray, " D"] | float = 1.0) -> float:
        start = time.perf_counter()
        found = find_at(searched / scale, t, np.random.default_rng(rng.integers(2**63)))
        seconds = time.perf_counter() - start
        if not found.dimensions:
            tried[t] = np.inf, None
            return np.inf
        labels, dims, parts = structure(searched, found, scale, t, precision, rng)
        candidate = describe(searched, labels, dims, None, precision, rng)
        candidate = settle(
            searched, candidate, precision, rng, max(20, int(0.7 * MIN_SHARE * len(searched))), rounds=2
        )
        bits = float(np.mean(candidate.bits(judged)))
        tried[t] = bits, (labels, dims, parts)
        log.info(
            "t=%.3g noise %.3g: %s -> %s %.3f bits, %.1f + %.1f s",
            t,
            noise,
            found.dimensions,
            dims,
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
    log.info("glance and exact %.1f s", time.perf_counter() - start)
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
    few = max(20, int(0.7 * MIN_SHARE * len(searched)))
    candidate = settle(
        searched, describe(searched, best[0], best[1], best[2], precision, rng), precision, rng, few
    )
    # With rows on their likeliest leaves, borders are clean: pieces that did not join before may join now.
    owner, leaf_of, _ = owners(candidate, searched)
    tile_rows = [
        int((leaf_of[owner] == c).sum() / max((leaf_of == c).sum(), 1)) for c in range(len(candidate.components))
    ]
    labels, dims = consolidate(searched, leaf_of[owner], candidate.dimensions, precision, rng, tile_rows)
    if len(dims) < len(candidate.components):
        parts = [np.flatnonzero(owner == i) for i in np.unique(owner)]
        candidate = settle(searched, describe(searched, labels, dims, parts, precision, rng), precision, rng, few)
    return settle(Z, candidate, precision, rng, max(20, int(0.7 * MIN_SHARE * n)), rounds=3)


def choose(tried: dict[float, tuple[float, tuple | None]]) -> tuple | None:
    """The structure of fewest bits; of those within the doubt, that with the fewest leaves."""
    sound = [(bits, found) for bits, found in tried.values() if found is not None and np.isfinite(bits)]
    least = min((bits for bits, _ in sound), default=np.inf)
    near = [(len(found[1]), bits, found) for bits, found in sound if bits <= least + DOUBT]
    return min(near, key=lambda one: one[:2])[2] if near else None


def structure(Z, found: Found, scale, t, precision, rng):
    """Labels and dimensions after pieces are joined, and the rows of every chart."""
    wide = (Z / scale).std(axis=0) > t
    Y = (Z / scale)[:, wide] / t
    parts, tile_rows = [], []
    for c in range(len(found.dimensions)):
        rows = np.flatnonzero(found.labels == c)
        charts = found.charts[c]
        best, owner = np.full(len(rows), np.inf), np.zeros(len(rows), dtype=int)
        for i, chart in enumerate(charts if len(charts) > 1 else []):
            near = np.flatnonzero(chart.inside(Y[rows]))
            off = chart.off(Y[rows[near]])
            better = off < best[near]
            best[near[better]], owner[near[better]] = off[better], i
        parts += [rows[owner == i] for i in np.unique(owner)]
        tile_rows.append(int(np.median([(owner == i).sum() for i in np.unique(owner)])))
    labels, dims = consolidate(Z, found.labels, found.dimensions, precision, rng, tile_rows)
    return labels, dims, parts


def describe(Z, labels, dims, parts, precision, rng) -> ChartCandidate:
    """The density of leaves. `parts`: rows of every chart, halved where that saves bits; or None for a common
    resolution."""
    leaves, counts = [], []
    for c, d in enumerate(dims):
        mine = np.flatnonzero(labels == c)
        if parts is None:
            pieces = celled(Z, mine, d)
        else:
            pieces = [p[labels[p] == c] for p in parts]
            pieces = [p for p in pieces if len(p) >= max(3 * (d + 1), 8)] or [mine]
            pieces = [half for p in pieces for half in halved(Z, p, d, precision, rng, 16, levels=1)]
        if len(mine) < max(3 * (d + 1), 8):
            continue
        leaves.append(
            Leaf(d, [refit(Z[p], d, precision, rng, len(p) / len(mine), len(pieces), TRIMS[0]) for p in pieces])
        )
        counts.append(len(mine))
    shares = np.array(counts, dtype=float)
    return ChartCandidate("atlas", leaves, shares / shares.sum(), Background.fit(Z, precision))


__all__ = ["describe", "find", "fit_leaf", "noise_scale"]
