"""The SAP score (Kumar et al. 2018): how far the best linear predictor of a factor is ahead of the next."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import ArrayLike

from disentree.hierarchy import Hierarchy
from disentree.metrics.inputs import Column, Pairing, in_threads, pair_up, random_quarter, standardized
from disentree.metrics.shared_docs import documented


@documented
def sap_score(
    V: ArrayLike, Z: ArrayLike, v_hierarchy: Hierarchy | None = None, z_hierarchy: Hierarchy | None = None, *,
    random_state: int = 0, n_jobs: int | None = None, max_rows: int | None = None,
) -> float:  # fmt: skip
    """The separated attribute predictability score.

    The mean over true variables of the gap between the two learned variables that predict it best. A
    continuous factor is predicted by linear regression (R2), a categorical one by a linear support vector
    classifier with balanced classes and C = .01 (accuracy on a held-out quarter of the rows). Continuous
    codes are standardized first and categorical codes enter as indicators of their options, so the score
    depends neither on units nor on the order of options. Inactive entries are 0. A constant code predicts
    nothing; with a single learned variable the second best is 0.

    Parameters
    ----------
    {codes}
    {held_out_seed}
    {n_jobs}
    {max_rows}

    Returns
    -------
    {score}

    Examples
    --------
    >>> from disentree import Hierarchy
    >>> h = Hierarchy.flat(2)
    >>> V = h.sample(2000)
    >>> sap_score(V, V, h, h) > 0.95
    True
    >>> sap_score(V, V[:, [0, 0]], h, h) < 0.01
    True
    """
    pairing = pair_up(V, Z, v_hierarchy, z_hierarchy, max_rows=max_rows, random_state=random_state)
    return predictability_gap(pairing, random_state, n_jobs)


def predictability_gap(pairing: Pairing, random_state: int = 0, n_jobs: int | None = None) -> float:
    """The SAP score of codes that were paired before."""
    v_columns, z_columns = pairing.flat()
    is_test = random_quarter(pairing.n_rows, np.random.default_rng(random_state))
    features = [_features(z) for z in z_columns]

    def gap(v: Column) -> float:
        if v.is_categorical:
            scores = [_accuracy(x, v.values, is_test) for x in features]
        else:
            scores = [_r2(x, v.values) for x in features]
        ordered = sorted(scores, reverse=True)
        return ordered[0] - (ordered[1] if len(ordered) > 1 else 0.0)

    return float(np.mean(in_threads(gap, v_columns, n_jobs)))


def _features(z: Column) -> Float[np.ndarray, "n k"] | None:
    if z.is_dead:
        return None
    if z.is_categorical:
        present = np.unique(z.values)
        return (z.values[:, None] == present).astype(float)
    return standardized(z.values)[:, None]


def _r2(x: Float[np.ndarray, "n k"] | None, y: Float[np.ndarray, " n"]) -> float:
    y = y - y.mean()
    total = float(y @ y)
    if x is None or total == 0:
        return 0.0
    if x.shape[1] == 1:
        return float((x[:, 0] @ y) ** 2 / (total * (x[:, 0] @ x[:, 0])))
    # Indicators: the prediction is the mean of y within each option.
    sums, counts = x.T @ y, x.sum(axis=0)
    return float((sums**2 / counts).sum() / total)


def _accuracy(
    x: Float[np.ndarray, "n k"] | None, y: Float[np.ndarray, " n"], is_test: Bool[np.ndarray, " n"]
) -> float:
    from sklearn.svm import LinearSVC

    if x is None or np.ptp(y[~is_test]) == 0:
        return 0.0
    model = LinearSVC(C=0.01, class_weight="balanced", random_state=0).set_params(dual=False)
    model.fit(x[~is_test], y[~is_test].astype(np.int64))
    return float(model.score(x[is_test], y[is_test].astype(np.int64)))
