"""Modularity and explicitness (Ridgeway and Mozer, 2018)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from disentree.hierarchy import Hierarchy
from disentree.metrics.flat.information import Relations
from disentree.metrics.inputs import pair_up
from disentree.metrics.shared_docs import documented


@documented
def modularity_score(
    V: ArrayLike, Z: ArrayLike, v_hierarchy: Hierarchy | None = None, z_hierarchy: Hierarchy | None = None, *,
    random_state: int = 0, max_rows: int | None = None,
) -> float:  # fmt: skip
    """Whether each code tells of one factor alone.

    The mean over codes of 1 minus the squared mutual information with all factors but the best, over (the number
    of factors - 1) times that with the best. A code that tells nothing counts 0. Bins and correction are those of
    `infomec_scores`; inactive entries are 0.

    Parameters
    ----------
    {codes}
    random_state : int, default=0
        Seed of the subset of rows.
    {max_rows}

    Returns
    -------
    {score}

    Examples
    --------
    >>> from disentree import Hierarchy
    >>> V = Hierarchy.flat(2).sample(5000)
    >>> round(modularity_score(V, V), 2), round(modularity_score(V, V @ [[1, 1], [1, -1]]), 1) < 1
    (1.0, True)
    """
    pairing = pair_up(V, Z, v_hierarchy, z_hierarchy, max_rows=max_rows, random_state=random_state)
    return modularity(Relations(pairing))


@documented
def explicitness_score(
    V: ArrayLike, Z: ArrayLike, v_hierarchy: Hierarchy | None = None, z_hierarchy: Hierarchy | None = None, *,
    random_state: int = 0, n_jobs: int | None = None, max_rows: int | None = None,
) -> float:  # fmt: skip
    """Whether logistic regression on all codes tells the values of each factor apart.

    The mean over factors, and over the classes of each, of the area A under the curve of true against false
    positives, as 2 A - 1, so that guessing is 0. Bins are those of `infomec_scores`; inactive entries are 0.

    Parameters
    ----------
    {codes}
    random_state : int, default=0
        Seed of the subset of rows.
    {n_jobs}
    {max_rows}

    Returns
    -------
    {score}

    Examples
    --------
    >>> from disentree import Hierarchy
    >>> V = Hierarchy.flat(2).sample(5000)
    >>> round(explicitness_score(V, V @ [[1, 1], [1, -1]]), 1)
    1.0
    """
    pairing = pair_up(V, Z, v_hierarchy, z_hierarchy, max_rows=max_rows, random_state=random_state)
    return explicitness(Relations(pairing, random_state, n_jobs))


def modularity(relations: Relations) -> float:
    """The modularity of codes that were paired before."""
    squares = np.square(relations.information)
    n_factors, n_codes = squares.shape
    if not n_codes or not n_factors:
        return 0.0
    best = squares.max(axis=0)
    others = (squares.sum(axis=0) - best) / np.maximum(best * max(n_factors - 1, 1), 1e-300)
    return float(np.where(best > 0, 1 - others, 0.0).mean())


def explicitness(relations: Relations) -> float:
    """The explicitness of codes that were paired before."""
    from sklearn.metrics import roc_auc_score

    if not relations.factors:
        return 0.0
    areas = [
        np.mean([roc_auc_score(v == c, p) for c, p in zip(np.unique(v), probabilities.T, strict=True)])
        for v, probabilities in zip(relations.factors, relations.probabilities, strict=True)
    ]
    return float(np.clip(2 * np.mean(areas) - 1, 0, 1))
