"""DCI (Eastwood & Williams 2018): disentanglement, completeness and informativeness."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import ArrayLike

from disentree.hierarchy import Hierarchy
from disentree.metrics.boosting.many_inputs import classification, regression
from disentree.metrics.boosting.one_input import DEPTH, N_TREES
from disentree.metrics.inputs import (
    Column,
    Pairing,
    check_choice,
    in_threads,
    pair_up,
    random_quarter,
    standardized,
)
from disentree.metrics.pairs import Estimator, reference_model
from disentree.metrics.shared_docs import documented


class DCI(NamedTuple):
    """The three scores, each between 0 and 1.

    Attributes
    ----------
    disentanglement : float
        1 if each code is used for one factor.
    completeness : float
        1 if each factor is predicted from one code.
    informativeness : float
        1 if the factors can be predicted from the codes.
    """

    disentanglement: float
    completeness: float
    informativeness: float


@documented
def dci_score(
    V: ArrayLike, Z: ArrayLike, v_hierarchy: Hierarchy | None = None, z_hierarchy: Hierarchy | None = None, *,
    estimator: Estimator = "fast", random_state: int = 0, n_jobs: int | None = None, max_rows: int | None = None,
) -> float:  # fmt: skip
    """Disentanglement, the first of the three `dci_scores`.

    Parameters
    ----------
    {codes}
    {estimator}
    {held_out_seed}
    {n_jobs}
    {max_rows}

    Returns
    -------
    {score}

    Examples
    --------
    >>> from disentree import Hierarchy
    >>> h = Hierarchy.flat(3)
    >>> V = h.sample(2000)
    >>> dci_score(V, V, h, h) > 0.95
    True
    """
    settings: dict[str, Any] = {"estimator": estimator, "random_state": random_state}
    found = dci_scores(V, Z, v_hierarchy, z_hierarchy, n_jobs=n_jobs, max_rows=max_rows, **settings)
    return found.disentanglement


@documented
def dci_scores(
    V: ArrayLike, Z: ArrayLike, v_hierarchy: Hierarchy | None = None, z_hierarchy: Hierarchy | None = None, *,
    estimator: Estimator = "fast", random_state: int = 0, n_jobs: int | None = None, max_rows: int | None = None,
) -> DCI:  # fmt: skip
    """Disentanglement, completeness and informativeness.

    Boosted trees predict each true variable from all learned ones. R[j, i] is the importance of code j for
    factor i: the share of the squared error (or deviance) that splits on it remove. Disentanglement is the mean
    over codes of ``1 - H(R[j] / sum R[j])``, entropies taken to the base of the number of factors and codes
    weighted by their sums; completeness is the same over columns. Informativeness is the mean score on a held-out
    quarter of the rows: R2, floored at 0, or accuracy. Inactive entries are 0. Codes without any importance do
    not count; if no code has any, both are 0.

    Parameters
    ----------
    {codes}
    {estimator}
    {held_out_seed}
    {n_jobs}
    {max_rows}

    Returns
    -------
    DCI

    Examples
    --------
    >>> from disentree import Hierarchy
    >>> h = Hierarchy.flat(2)
    >>> V = h.sample(2000)
    >>> [round(s, 1) for s in dci_scores(V, V, h, h)]
    [1.0, 1.0, 1.0]
    """
    check_choice(estimator, "estimator", ("fast", "reference"))
    pairing = pair_up(V, Z, v_hierarchy, z_hierarchy, max_rows=max_rows, random_state=random_state)
    return importance_scores(pairing, estimator, random_state, n_jobs)


def importance_scores(
    pairing: Pairing, estimator: Estimator = "fast", random_state: int = 0, n_jobs: int | None = None
) -> DCI:
    """The DCI scores of codes that were paired before."""
    v_columns, z_columns = pairing.flat()
    live = [z.values for z in z_columns if not z.is_dead]
    if not live:
        return DCI(0.0, 0.0, 0.0)
    # trees compare inputs as float32, with a least gap: units must not matter
    x = np.stack([standardized(values) for values in live], axis=1)
    is_test = random_quarter(pairing.n_rows, np.random.default_rng(random_state))
    fit = _fast if estimator == "fast" else _reference

    def learn(v: Column) -> tuple[Float[np.ndarray, " d"], float]:
        if np.ptp(v.values[~is_test]) == 0:
            return np.zeros(x.shape[1]), 0.0
        importances, score = fit(x, v, is_test)
        return importances / max(importances.sum(), 1e-300), score

    learned = in_threads(learn, v_columns, n_jobs)
    importance = np.stack([r for r, _ in learned], axis=1)
    return DCI(
        _concentration(importance),
        _concentration(importance.T),
        float(np.mean([max(0.0, score) for _, score in learned])),
    )


def _concentration(importance: Float[np.ndarray, "a b"]) -> float:
    """1 - entropy of each row, averaged with the rows' sums as weights."""
    sums = importance.sum(axis=1)
    used = sums > 0
    if not used.any():
        return 0.0
    p = importance[used] / sums[used, None]
    entropy = -(p * np.log(np.where(p > 0, p, 1.0))).sum(axis=1)
    if importance.shape[1] > 1:  # with one column there is nothing to spread over
        entropy /= math.log(importance.shape[1])
    return float(((1 - entropy) * sums[used]).sum() / sums.sum())


def _fast(
    x: Float[np.ndarray, "n d"], v: Column, is_test: Bool[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, " d"], float]:
    train = np.flatnonzero(~is_test)
    inputs = np.ascontiguousarray(x.T, dtype=np.float32)
    order = train[np.argsort(inputs[:, train], axis=1, kind="stable")]
    importances = np.zeros(len(inputs))
    classes = np.unique(v.values[train]) if v.is_categorical else np.empty(1)
    rng = np.random.default_rng(len(inputs))
    draws = rng.permuted(np.tile(np.arange(len(inputs)), (N_TREES * len(classes), DEPTH, 1)), axis=2)
    if not v.is_categorical:
        y = standardized(v.values)
        fitted = regression(inputs, order, y, draws, importances)
        return importances, _r2(y[is_test], fitted[is_test])
    y = np.where(np.isin(v.values, classes), np.searchsorted(classes, v.values), -1)
    logits = classification(inputs, order, y, len(classes), draws, importances)
    return importances, float((logits.argmax(axis=0) == y)[is_test].mean())


def _reference(
    x: Float[np.ndarray, "n d"], v: Column, is_test: Bool[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, " d"], float]:
    y = v.values.astype(np.int64) if v.is_categorical else standardized(v.values)
    model = reference_model(v.is_categorical).fit(x[~is_test], y[~is_test])
    return np.asarray(model.feature_importances_), float(model.score(x[is_test], y[is_test]))


def _r2(y: Float[np.ndarray, " m"], predicted: Float[np.ndarray, " m"]) -> float:
    variance = float(((y - y.mean()) ** 2).sum())
    return 1 - float(((y - predicted) ** 2).sum()) / variance if variance > 0 else 0.0
