"""Columns of pure noise: normal, and independent of all other columns.

They are no dimension of any leaf, since nothing that differs between rows shows in them, and in them neighbors and
charts lose what the others tell. A column is not noise if its rank depends on that of another column, or on what
two columns do together (a sign that is the product of two others').
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import ndtri
from scipy.stats import chi2, norm, normaltest

from disentree.mimosa.constants import FIT
from disentree.mimosa.coordinates.constants import COORDINATES


def noise_columns(X: Float[np.ndarray, "n p"]) -> Bool[np.ndarray, " p"]:
    """Which columns are pure noise; none if no others depend on each other."""
    n, p = X.shape
    none = np.zeros(p, bool)
    if not 3 <= p <= COORDINATES.most or n < FIT.sample:
        return none
    middle = np.median(X, axis=0)
    deviation = np.median(np.abs(X - middle), axis=0) / norm.ppf(0.75)
    varies = deviation > 0
    chance = COORDINATES.odd / p
    normal = np.zeros(p, bool)
    # a strange value or two make no other column of one that is noise
    held = np.clip((X - middle)[:, varies] / deviation[varies], -4, 4)
    normal[varies] = normaltest(held).pvalue > chance
    if not normal.any():
        return none
    scores = _scores(X)
    alone = _least_of_pairs(scores) > chance
    found = normal & alone
    if found.any():
        found[found] = _least_of_triples(scores, found) > chance
    return found if (varies & ~alone).sum() > 1 else none


def _scores(X: Float[np.ndarray, "n p"]) -> Float[np.ndarray, "n p"]:
    """Normal scores. Ties are in an order of each column's own, lest two columns agree where both have ties."""
    rng = np.random.default_rng(0)
    scores = np.empty(X.shape)
    for j, x in enumerate(X.T):
        scores[np.lexsort((rng.random(len(X)), x)), j] = ndtri((np.arange(len(X)) + 0.5) / len(X))
    return scores


def _least_of_pairs(S: Float[np.ndarray, "n p"]) -> Float[np.ndarray, " p"]:
    """How likely chance makes a column depend on any one other as much as it does, in counts of a table of equal
    cells or by correlation."""
    (n, p), k = S.shape, COORDINATES.cells
    cells = np.clip((norm.cdf(S) * k).astype(int), 0, k - 1)
    each = (cells[:, :, None] == np.arange(k)).astype(np.float32).reshape(n, -1)
    square = ((each.T @ each - n / k**2) ** 2 / (n / k**2)).reshape(p, k, p, k).sum(axis=(1, 3))
    likely = np.minimum(chi2.sf(square, (k - 1) ** 2), _by_chance(S.T @ S, n))
    np.fill_diagonal(likely, 1.0)
    return likely.min(axis=1) * (p - 1)


def _least_of_triples(S: Float[np.ndarray, "n p"], asked: Bool[np.ndarray, " p"]) -> Float[np.ndarray, " a"]:
    """How likely chance makes a column depend on the product of any two others as much as it does."""
    n, p = S.shape
    mine, columns = S[:, asked], np.flatnonzero(asked)
    least = np.ones(len(columns))
    for a in range(p):
        both = S[:, a:] * S[:, [a]]
        both = (both - both.mean(axis=0)) / np.maximum(both.std(axis=0), 1e-12)
        likely = _by_chance(mine.T @ both, n)
        likely[(columns[:, None] == np.arange(a, p)) | (columns[:, None] == a)] = 1.0
        least = np.minimum(least, likely.min(axis=1))
    return least * (p * (p - 1) / 2)


def _by_chance(sums: Float[np.ndarray, "a b"], n: int) -> Float[np.ndarray, "a b"]:
    """The probability that independent scores have a sum of products at least so large."""
    return 2 * norm.sf(np.abs(sums) / np.sqrt(n))
