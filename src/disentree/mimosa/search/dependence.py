"""Whether columns depend on each other by more than their margins and correlations tell.

A valley in one column alone (two ages that are common, a price that is rounded up) is no structure: rows that are
drawn with the same values in each column, and with the same correlations of their normal scores, have it too. Rows
that have more than that are nearer to each other than to such drawn rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri
from sklearn.neighbors import NearestNeighbors

from disentree.mimosa.constants import FIT
from disentree.mimosa.coordinates.columns import Columns
from disentree.mimosa.finders.constants import FINDERS
from disentree.mimosa.search.constants import SEARCH


def exceeds_margins(Z: Float[np.ndarray, "n D"], columns: Columns, rng: np.random.Generator) -> bool:
    """Whether rows are nearer to each other than to rows drawn column by column, beyond doubt: by more errors than
    such draws differ by among themselves, for near neighbors or for farther ones."""
    columns = columns.independent()
    if len(Z) > FIT.many:
        Z = Z[rng.choice(len(Z), FIT.many, replace=False)]
    X = columns.of(Z)
    deviations = np.maximum(X.std(axis=0), columns.precision)

    def placed(own: Float[np.ndarray, "n p"]) -> Float[np.ndarray, "n p"]:
        """Anywhere within the cells of the grid, in units of deviations."""
        return (own + rng.uniform(-0.5, 0.5, own.shape) * columns.precision) / deviations

    draws = [placed(own) for own in drawn(X, columns.precision, FINDERS.looks, rng)]
    ks = [SEARCH.nearest, max(SEARCH.nearest, round(0.5 * np.sqrt(len(X))))]

    def excess(rows: Float[np.ndarray, "n p"], others: Sequence[Float[np.ndarray, "n p"]]) -> np.ndarray:
        return np.mean([_excess(rows, other, ks) for other in others[: SEARCH.compared]], axis=0)

    among = np.array([excess(one, [*draws[i + 1 :], *draws[:i]]) for i, one in enumerate(draws)])
    own = excess(placed(X), draws)
    return bool((own - among.mean(axis=0) > FIT.sure * among.std(axis=0, ddof=1)).any())


def drawn(
    X: Float[np.ndarray, "n p"], precision: Float[np.ndarray, " p"], times: int, rng: np.random.Generator
) -> list[Float[np.ndarray, "n p"]]:
    """Rows with the values of each column, whose normal scores have the correlations of those of X: draws from a
    Gaussian copula."""
    n, p = X.shape
    scores = np.empty(X.shape)
    values = np.round(X / precision)  # equal numbers differ in the last bits after a rotation
    for j in range(p):  # ties in any order: atoms and heaps stay in the margins
        scores[np.lexsort((rng.random(n), values[:, j])), j] = ndtri((np.arange(n) + 0.5) / n)
    variances, vectors = np.linalg.eigh(scores.T @ scores / n)
    root = vectors * np.sqrt(np.maximum(variances, 0))
    ordered = np.sort(X, axis=0)
    ranks = [np.argsort(np.argsort(rng.standard_normal((n, p)) @ root.T, axis=0), axis=0) for _ in range(times)]
    return [np.take_along_axis(ordered, rank, axis=0) for rank in ranks]


def _excess(A: Float[np.ndarray, "n p"], B: Float[np.ndarray, "n p"], ks: list[int]) -> Float[np.ndarray, " 2"]:
    """How much farther the k-th neighbor is among other rows than among its own, in logs, on average."""
    own = NearestNeighbors(n_neighbors=max(ks) + 1, n_jobs=1).fit(A).kneighbors(A)[0]
    other = NearestNeighbors(n_neighbors=max(ks), n_jobs=1).fit(B).kneighbors(A)[0]
    tiny = np.finfo(float).tiny
    return np.array([np.log(np.maximum(other[:, k - 1], tiny) / np.maximum(own[:, k], tiny)).mean() for k in ks])
