"""Whether columns depend on each other by more than their margins and correlations tell.

A valley in one column alone (two ages that are common, a price that is rounded up) is no structure: rows that are
drawn with the same values in each column, and with the same correlations of their normal scores, have it too. Rows
that have more than that are nearer to each other than to such drawn rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtri
from sklearn.neighbors import NearestNeighbors

from disentree.mimosa.constants import FIT
from disentree.mimosa.coordinates.columns import Columns
from disentree.mimosa.finders.constants import FINDERS
from disentree.mimosa.finders.modes.constants import MODES
from disentree.mimosa.search.constants import SEARCH

Placed = tuple[np.ndarray, NearestNeighbors]  # rows, and their neighbors


def exceeds_margins(Z: Float[np.ndarray, "n D"], columns: Columns, rng: np.random.Generator) -> bool:
    """Whether rows are nearer to each other than to rows drawn column by column, beyond doubt: by more errors than
    such draws differ by among themselves, for the nearest neighbors or for as many as modes take."""
    columns = columns.independent()
    if len(Z) > FIT.many:
        Z = Z[rng.choice(len(Z), FIT.many, replace=False)]
    X = columns.of(Z)
    deviations = np.maximum(X.std(axis=0), columns.precision)
    farther = [round(scale * np.sqrt(len(X))) for scale in MODES.scales]
    ks = np.minimum([SEARCH.nearest, *(max(SEARCH.nearest, k) for k in farther)], len(X) - 1)

    def placed(own: Float[np.ndarray, "n p"]) -> Placed:
        """Anywhere within the cells of the grid, in units of deviations."""
        Y = (own + rng.uniform(-0.5, 0.5, own.shape) * columns.precision) / deviations
        return Y, NearestNeighbors(n_jobs=1).fit(Y)

    def excess(rows: Placed, others: Sequence[Placed]) -> Float[np.ndarray, " k"]:
        """How much farther the k-th neighbor is among other rows than among its own, where a row itself is the
        first."""
        among_others = np.mean([_log_reach(rows[0], other[1], ks) for other in others], axis=0)
        return among_others - _log_reach(*rows, ks + 1)

    draws = [placed(own) for own in drawn(X, columns.precision, FINDERS.looks, rng)]
    among = np.array(
        [excess(one, [*draws[i + 1 :], *draws[:i]][: SEARCH.compared]) for i, one in enumerate(draws)]
    )
    own = excess(placed(X), draws)  # with all of them, which leaves less to chance
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


def _log_reach(
    Y: Float[np.ndarray, "n p"], others: NearestNeighbors, ks: Int[np.ndarray, " k"]
) -> Float[np.ndarray, " k"]:
    """The log of the distance to the k-th neighbor among others, on average."""
    distances = others.kneighbors(Y, int(ks.max()))[0][:, ks - 1]
    return np.log(np.maximum(distances, np.finfo(float).tiny)).mean(axis=0)
