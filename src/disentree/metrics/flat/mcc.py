"""The mean correlation coefficient: the best match of factors and codes (Hyvärinen and Morioka, 2016)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from disentree.hierarchy import Hierarchy
from disentree.metrics.inputs import Column, Pairing, pair_up
from disentree.metrics.shared_docs import documented


@documented
def mcc_score(
    V: ArrayLike, Z: ArrayLike, v_hierarchy: Hierarchy | None = None, z_hierarchy: Hierarchy | None = None, *,
    random_state: int = 0, max_rows: int | None = None,
) -> float:  # fmt: skip
    """The mean correlation coefficient.

    The mean over factors of the absolute correlation with the code that a matching of factors to different codes
    gives them, of all matchings the best. Of two categoricals the correlation is Cramér's V; of a continuous
    variable and a categorical the root of the variance that the options explain. Inactive entries are 0.

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
    >>> V = Hierarchy.flat(3).sample(1000)
    >>> round(mcc_score(V, 2 - 3 * V[:, [2, 0, 1]]), 3)
    1.0
    """
    pairing = pair_up(V, Z, v_hierarchy, z_hierarchy, max_rows=max_rows, random_state=random_state)
    return matched_correlation(pairing)


def matched_correlation(pairing: Pairing) -> float:
    """The score of codes that were paired before."""
    from scipy.optimize import linear_sum_assignment

    factors, codes = pairing.flat()
    table = np.array([[correlation(v, z) for z in codes] for v in factors])
    rows, columns = linear_sum_assignment(-table)
    return float(table[rows, columns].sum() / len(factors))


def correlation(a: Column, b: Column) -> float:
    """From 0 to 1, whatever the kinds of the two."""
    if a.is_dead or b.is_dead:
        return 0.0
    parts = [_centered(a), _centered(b)]
    # Canonical correlations: one of two numbers, several of indicators; of which the mean square counts.
    bases = [np.linalg.svd(part, full_matrices=False)[0][:, : np.linalg.matrix_rank(part)] for part in parts]
    shared = np.square(bases[0].T @ bases[1]).sum()
    return float(np.sqrt(min(1.0, shared / min(basis.shape[1] for basis in bases))))


def _centered(column: Column) -> np.ndarray:
    values = column.values[:, None]
    part = (values == np.unique(values)).astype(float) if column.is_categorical else values / column.spread
    return part - part.mean(axis=0)
