"""Local dimension and tangent directions of every point: the lowest-dimensional flat *through the point itself*
that holds more of its neighbors than chance would put there.

Where a low-dimensional component lies inside a higher-dimensional one,
the differences from a point of the higher to points of the lower lie in the higher one's tangent space, so
neighbors on the other component help instead of disturbing.
"""

from __future__ import annotations

from typing import no_type_check

import numpy as np
from jaxtyping import Float, Int
from numba import njit
from scipy import stats

from disentree.geometry.subspaces import Tangents, gram_schmidt
from disentree.mimosa.finders.constants import FINDERS
from disentree.mimosa.finders.flats.constants import FLATS
from disentree.utils.threads import over_rows


def chance_on_flat(d: int, tolerance: float) -> float:
    """The probability that a random direction in d + 1 dimensions is within `tolerance` of a given d-flat.

    In m dimensions the squared distance from a hyperplane follows Beta(1/2, (m - 1)/2).
    """
    return float(stats.beta.cdf(tolerance**2, 0.5, d / 2)) if d else 0.0


def support_needed(k: int, n_dims: int, tolerance: float) -> Int[np.ndarray, " D"]:
    """How many of `k` neighbors a d-flat (d = 0..n_dims-1) must hold within a relative distance of
    `tolerance` so that a cloud of one dimension more would not put them there by chance; d neighbors lie on
    the flat because it was drawn through them."""
    needed = np.empty(n_dims, dtype=np.int64)
    for d in range(n_dims):
        tail = FLATS.chance / (FINDERS.looks * max(d, 1))
        by_chance = stats.binom.ppf(1 - tail, max(k - d, 1), chance_on_flat(d, tolerance))
        needed[d] = d + max(FLATS.min_links, int(by_chance) + 1)
    return needed


def support_off_wall(k: int, n_dims: int, tolerance: float) -> Int[np.ndarray, "D k1"]:
    """How many of j = 0..k neighbors off a wall a d-flat must hold to be more than chance."""
    p = np.array([chance_on_flat(d, tolerance) for d in range(n_dims)])
    return stats.binom.ppf(1 - 1e-3, np.arange(k + 1), p[:, None]).astype(np.int64) + 1


def anchored_flats(
    Z: Float[np.ndarray, "n D"],
    neighbors: Int[np.ndarray, "n k"],
    tolerance: float,
    rng: np.random.Generator,
    rows: Int[np.ndarray, " m"] | None = None,
) -> Tangents:
    """The lowest-dimensional significant flat through each point (of `rows`, or of all).

    For d = 1, 2, ... flats through the point and d of its neighbors are tried, the same tuples of neighbor
    ranks for every point so that nothing depends on the order of rows. The first d whose best flat holds
    enough neighbors (`support_needed`) within `tolerance` times their distance is taken, and the flat is
    refitted to those neighbors. A point for which none is found keeps the full dimension.
    """
    n_dims, k = Z.shape[1], neighbors.shape[1]
    top = min(n_dims, k) - 1
    counts = [FINDERS.looks * d for d in range(1, top + 1)]
    tuples = np.zeros((max(counts, default=0), max(top, 1), max(top, 1)), dtype=np.int64)
    for d, count in enumerate(counts, start=1):
        for t in range(count):
            tuples[t, d - 1, :d] = rng.choice(k, d, replace=False)
    if rows is None:
        rows = np.arange(len(Z))
    dimensions = np.full(len(rows), n_dims)
    bases = np.zeros((len(rows), n_dims, n_dims))
    over_rows(
        _anchored,
        len(rows),
        np.ascontiguousarray(Z),
        neighbors[:, rng.permutation(k)],  # so that the first ones are near and far neighbors alike
        rows,
        tuples,
        np.array([0, *counts]),
        support_needed(k, n_dims, tolerance),
        support_off_wall(k, n_dims, tolerance),
        tolerance,
        top,
        -(-k // 3),  # a flat without support among the first third of neighbors is dropped
        dimensions,
        bases,
    )
    return Tangents(dimensions, bases)


@njit(cache=True)
@no_type_check
def _off(u, B, d):
    """Squared distance of a unit vector from the span of the first d rows of B."""
    inside = 0.0
    for b in range(d):
        dot = 0.0
        for a in range(len(u)):
            dot += B[b, a] * u[a]
        inside += dot * dot
    return 1.0 - inside


@njit(cache=True)
@no_type_check
def _refit(U, B, d, limit):
    """Least squares on the directions that a flat holds; returns how many the new flat holds."""
    k, n_dims = U.shape
    S = np.zeros((n_dims, n_dims))
    for j in range(k):
        if _off(U[j], B, d) <= limit:
            for a in range(n_dims):
                for b in range(n_dims):
                    S[a, b] += U[j, a] * U[j, b]
    _, vectors = np.linalg.eigh(S)
    for c in range(d):
        B[c] = vectors[:, n_dims - 1 - c]
    held = 0
    for j in range(k):
        if _off(U[j], B, d) <= limit:
            held += 1
    return held


@njit(cache=True)
@no_type_check
def _wall(U, norms, B, d, limit, tuples, n_tuples):
    """Of the neighbors that a d-flat holds, how many lie on the (d-1)-flat, not through the point, that holds
    most of them, and how many off it.

    A point beside a component of dimension d-1 spans a d-flat with it. Such a flat holds many neighbors, but
    all of them on one wall, and says nothing about the point's own component.
    """
    k = len(U)
    tolerance = np.sqrt(limit)
    C = np.empty((k, d))  # coordinates of the held neighbors within the flat
    m = 0
    for j in range(k):
        if _off(U[j], B, d) <= limit:
            for c in range(d):
                dot = 0.0
                for a in range(U.shape[1]):
                    dot += B[c, a] * U[j, a]
                C[m, c] = dot * norms[j]
            m += 1
    most = 0
    V, W, order = np.empty((d - 1, d)), np.empty((d - 1, d)), np.arange(d - 1)
    normal = np.empty(d)
    for t in range(n_tuples):
        first = tuples[t, 0] % m
        for c in range(d - 1):
            V[c] = C[tuples[t, c + 1] % m] - C[first]
            V[c] /= np.sqrt((V[c] ** 2).sum() + 1e-300)
        if not gram_schmidt(V, order, d - 1, 1e-6, W):
            continue
        # the normal: what is left of the axis that the wall covers least
        best = -1.0
        for axis in range(d):
            left = 1.0
            for c in range(d - 1):
                left -= W[c, axis] ** 2
            if left > best:
                best, at = left, axis
        normal[:] = 0.0
        normal[at] = 1.0
        for c in range(d - 1):
            normal -= W[c, at] * W[c]
        size = np.sqrt((normal**2).sum())
        on = 0
        for j in range(m):
            height, length = 0.0, 0.0
            for a in range(d):
                step = C[j, a] - C[first, a]
                height += normal[a] * step
                length += step * step
            if abs(height) / size <= tolerance * np.sqrt(length):
                on += 1
        most = max(most, on)
    return most, m - most


@njit(nogil=True, cache=True)
@no_type_check
def _anchored(
    start,
    stop,
    Z,
    neighbors,
    rows,
    tuples,
    trials,
    needed,
    off_wall,
    tolerance,
    top,
    early,
    dimensions,
    bases,
):
    k, n_dims = neighbors.shape[1], Z.shape[1]
    limit = tolerance * tolerance
    for i in range(start, stop):
        U = np.empty((k, n_dims))
        norms = np.empty(k)
        B = np.empty((n_dims, n_dims))
        best_B = np.empty((n_dims, n_dims))
        apart = 0  # neighbors that are not at the very same place
        for j in range(k):
            s = 0.0
            for a in range(n_dims):
                U[apart, a] = Z[neighbors[rows[i], j], a] - Z[rows[i], a]
                s += U[apart, a] ** 2
            if s > 0:
                norms[apart] = np.sqrt(s)
                for a in range(n_dims):
                    U[apart, a] /= norms[apart]
                apart += 1
        if k - apart >= needed[0]:
            dimensions[i] = 0  # an atom
            continue
        U = U[:apart]
        for d in range(1, min(top, apart - 1) + 1):
            best, best_sum = 0, np.inf
            for t in range(trials[d]):
                ranks = tuples[t, d - 1, :d]
                if ranks.max() >= apart or not gram_schmidt(U, ranks, d, 1e-6, B):
                    continue
                held, total = 0, 0.0
                least = max(best, needed[d] // 2)
                for j in range(apart):
                    e = _off(U[j], B, d)
                    if e <= limit:
                        held += 1
                        total += max(e, 0.0)
                    elif held + apart - 1 - j < least:
                        break  # what is left cannot make it interesting
                    if j == early - 1 and held <= (ranks < early).sum():
                        break  # no support but the neighbors it was drawn through
                if held > best or (held == best and total < best_sum):
                    best, best_sum = held, total
                    best_B[:d] = B[:d]
                if best >= needed[d] and 2 * best > apart:
                    break
            if 2 * best < needed[d]:
                continue
            # A flat through d neighbors is a rough fit where there is noise or curvature: better it.
            for _ in range(3):
                B[:d] = best_B[:d]
                held = _refit(U, B, d, limit)
                if held < best:
                    break
                improved = held > best
                best = held
                best_B[:d] = B[:d]
                if not improved:
                    break
            if best < needed[d]:
                continue
            if d > 1:
                on, off = _wall(U, norms, best_B, d, limit, tuples[:, d - 1], trials[d])
                if off < off_wall[d, apart - on]:
                    continue
            dimensions[i] = d
            bases[i, :d] = best_B[:d]
            break
        if dimensions[i] == n_dims:
            bases[i] = np.eye(n_dims)
