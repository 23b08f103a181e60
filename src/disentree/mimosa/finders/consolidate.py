"""Pieces of one leaf become one: bits do not tell two halves of a surface from the whole, geometry does.

Two pieces are joined if charts over the border between them are as good as charts inside them. A piece that was
taken for one of higher dimension, but whose rows are locally as thin as those of a neighbor of lower dimension,
is of that dimension.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Int
from scipy.spatial import KDTree

from disentree.mimosa.finders.atlas_charts import thinned
from disentree.mimosa.finders.chart import fit_chart, n_terms

NEIGHBORS = 12  # nearest rows that tell which leaves touch
ANCHORS = 9  # charts that decide, by majority
THIN = 0.2  # residual of a chart relative to its width, for rows of that dimension
THIN_BORDER = 0.5  # the same for a chart over a border, which has to be as good as those beside it besides
LOOSER = 5.0  # residual of a piece of seemingly higher dimension relative to the leaf it is a piece of, at most
AS_GOOD = 1.4  # residual of charts over a border relative to charts beside it
SIDE = 0.1  # share of a chart's rows on either side of a border


def consolidate(Z, labels, dims, precision, rng, tile_rows) -> tuple[Int[np.ndarray, " n"], list[int]]:
    """Labels and dimensions after all joins. `tile_rows`: rows per chart of each leaf."""
    labels, dims, tile_rows = labels.copy(), list(dims), list(tile_rows)
    on = np.flatnonzero(labels >= 0)
    if len(dims) < 2 or len(on) < 50:
        return labels, dims
    tree = KDTree(Z[on])
    nearest = on[np.asarray(tree.query(Z[on], min(NEIGHBORS + 1, len(on)))[1])[:, 1:]]
    alive = set(range(len(dims)))
    refused: set[tuple[int, int, int]] = set()
    while True:
        joined = False
        counts = np.bincount(labels[on], minlength=len(dims))
        for low, high in _touching(labels, on, nearest, dims, counts):
            key = (low, high, int(counts[low] + counts[high]))
            if key in refused or low not in alive or high not in alive:
                continue
            if dims[low] == dims[high]:
                d = dims[low]
                # small charts bear strong curvature, large ones reach over gaps and out of noise
                most = max(4 * n_terms(d), min(tile_rows[low], tile_rows[high]))
                sizes = {4 * n_terms(d), min(most, 50 * (d + 1)), most}
                ok = any(_smooth_across(Z, labels, low, high, d, precision, rng, k) for k in sorted(sizes))
            else:
                rows_low, rows_high = np.flatnonzero(labels == low), np.flatnonzero(labels == high)
                ok = _thin(Z, rows_low, rows_high, dims[low], precision, rng, tile_rows[low])
            if ok:
                labels[labels == high] = low
                tile_rows[low] = min(tile_rows[low], max(tile_rows[high], 20))
                alive.discard(high)
                joined = True
                break
            refused.add(key)
        if not joined:
            break
    kept = sorted(alive)
    number = np.full(len(dims) + 1, -1)
    number[kept] = np.arange(len(kept))
    return number[labels], [dims[c] for c in kept]


def _touching(labels, on, nearest, dims, counts):
    """Pairs (lower or equal dimension, higher) of leaves that touch; the smallest first, as pieces usually are."""
    k = len(dims)
    touch = np.zeros((k, k), dtype=int)
    mine = np.repeat(labels[on], nearest.shape[1])
    other = labels[nearest].ravel()
    np.add.at(touch, (mine, other), 1)
    pairs = []
    for a in range(k):
        for b in range(k):
            if a == b or not counts[a] or not counts[b]:
                continue
            # rows between two pieces of one dimension may be on other leaves: those are judged without touch
            same = dims[a] == dims[b] and (counts[a], -a) > (counts[b], -b)
            if same or (dims[a] < dims[b] and touch[a, b] + touch[b, a] >= 8):
                pairs.append((int(counts[b]), dims[b] - dims[a], a, b))
    return [(a, b) for _, _, a, b in sorted(pairs)]


def _roughness(P, d, precision):
    """The largest residual of a chart of dimension d, and its least width."""
    chart = fit_chart(P, d, precision, trim=0.1)
    return float(chart.sigma.max()) if len(chart.sigma) else 0.0, float(chart.scale.min()) if d else 0.0


def _thin(Z, low, high, d, precision, rng, k) -> bool:
    """Whether most neighborhoods of rows of `high` are of dimension d, about as thin as those of `low`."""
    if len(high) < 2 * n_terms(d):
        return True  # too few to tell: a scatter of rows beside a leaf
    k, rough, _ = _telling_size(Z, low, d, precision, rng, 4 * n_terms(d))
    limit = LOOSER * np.quantile(rough, 0.75)
    rough, width = _local_roughness(
        Z, high, d, precision, rng, min(k, max(len(high) // 3, 3 * n_terms(d)), len(high))
    )
    return bool(2 * np.sum((rough <= THIN * width) & (rough <= limit)) > len(rough))


def _telling_size(Z, rows, d, precision, rng, k):
    """How many nearest rows of a leaf make a chart that is wide compared with its residual; residuals and
    widths."""
    k = int(np.clip(k, min(3 * n_terms(d), len(rows)), len(rows)))
    while True:
        rough, width = _local_roughness(Z, rows, d, precision, rng, k)
        if 2 * np.sum(rough <= THIN * width) > len(rough) or 2 * k > len(rows):
            return k, rough, width
        k *= 2


def _local_roughness(Z, rows, d, precision, rng, k):
    tree = KDTree(Z[rows])
    anchors = rng.choice(rows, min(ANCHORS, len(rows)), replace=False)
    return np.array([_roughness(Z[rows[np.atleast_1d(tree.query(Z[a], k)[1])]], d, precision) for a in anchors]).T


def _smooth_across(Z, labels, one, two, d, precision, rng, k) -> bool:
    """Whether charts over the border of two leaves are as good as charts of the same size beside it."""
    rows, first, second = (
        np.flatnonzero((labels == one) | (labels == two)),
        *(np.flatnonzero(labels == c) for c in (one, two)),
    )
    tree = KDTree(Z[rows])
    trees = KDTree(Z[first]), KDTree(Z[second])
    picks = []
    for mine, other in ((first, trees[1]), (second, trees[0])):
        some = thinned(mine)
        gap = np.asarray(other.query(Z[some])[0])
        near = some[np.argsort(gap, kind="stable")[: max(ANCHORS, len(some) // 25)]]
        picks.append(rng.choice(near, min(ANCHORS // 2 + 1, len(near)), replace=False))
    anchors = np.concatenate(picks)
    inner = [_telling_size(Z, side, d, precision, rng, k) for side in (first, second)]
    k = min(max(found[0] for found in inner), len(first) + len(second))
    limit = AS_GOOD * max(float(np.quantile(found[1], 0.75)) for found in inner)
    votes = 0
    for anchor in anchors:
        size = k
        while True:
            near = rows[np.atleast_1d(tree.query(Z[anchor], size)[1])]
            side = np.mean(labels[near] == one)
            rough, width = _roughness(Z[near], d, precision)
            # denser at the border than elsewhere: the same number of rows may not be wide enough to tell
            if rough > limit or rough <= THIN * width or 2 * size > min(len(rows), 8 * k):
                break
            size *= 2
        if not (SIDE <= side <= 1 - SIDE and rough <= THIN_BORDER * width):
            continue
        if rough > limit:  # curved more than elsewhere? Then charts just beside the border are as rough
            beside = [
                part[np.atleast_1d(t.query(Z[anchor], min(size, len(part)))[1])]
                for part, t in zip((first, second), trees, strict=True)
            ]
            votes += bool(
                rough <= AS_GOOD * np.sqrt(np.prod([_roughness(Z[near], d, precision)[0] for near in beside]))
            )
        else:
            votes += 1
    return 2 * votes > len(anchors)


__all__ = ["consolidate", "thinned"]
