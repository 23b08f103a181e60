"""Mutual information of columns from histograms, and how well logistic regression reads factors from codes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from disentree.metrics.inputs import Column, Pairing, in_threads, standardized

N_BINS = 20  # of a continuous variable


def binned(column: Column, n_bins: int = N_BINS) -> Int[np.ndarray, " n"]:
    """Options of a categorical; a continuous variable in bins of equal width."""
    if column.is_categorical:
        return column.values.astype(np.int64)
    if column.is_dead:
        return np.zeros(len(column.values), dtype=np.int64)
    position = (column.values - column.values.min()) / column.spread
    return np.minimum((position * n_bins).astype(np.int64), n_bins - 1)


def information(a: Int[np.ndarray, " n"], b: Int[np.ndarray, " n"], corrected: bool = False) -> float:
    """Mutual information in nats; a variable's with itself is its entropy. `corrected`: for the bias that
    histograms of few rows have (Miller and Madow, 1955), half a row for each cell that is not empty."""
    width = int(b.max()) + 1
    joint = np.bincount(a * width + b, minlength=(int(a.max()) + 1) * width).reshape(-1, width) / len(a)
    rows, columns = joint.sum(axis=1, keepdims=True), joint.sum(axis=0, keepdims=True)
    occurs = joint > 0
    found = float((joint[occurs] * np.log(joint[occurs] / (rows * columns)[occurs])).sum())
    if corrected:
        cells = np.count_nonzero(rows) + np.count_nonzero(columns) - np.count_nonzero(joint) - 1
        found += cells / (2 * len(a))
    return max(0.0, found)


class Relations:
    """Factors that vary and codes that vary, in bins; what they tell of each other is computed when asked for."""

    def __init__(self, pairing: Pairing, random_state: int = 0, n_jobs: int | None = None):
        v, z = pairing.flat()
        self.codes: list[Column] = [column for column in z if not column.is_dead]
        every = [binned(column) for column in v]
        self.factors = [column for column in every if np.ptp(column) > 0]
        self.random_state, self.n_jobs = random_state, n_jobs

    @cached_property
    def information(self) -> Float[np.ndarray, "factors codes"]:
        """Mutual information of each factor with each code."""
        codes = [binned(z) for z in self.codes]
        return np.array([[information(v, z, corrected=True) for z in codes] for v in self.factors]).reshape(
            len(self.factors), len(codes)
        )

    @cached_property
    def entropies(self) -> Float[np.ndarray, " factors"]:
        return np.array([information(v, v, corrected=True) for v in self.factors])

    @cached_property
    def probabilities(self) -> list[Float[np.ndarray, "n classes"]]:
        """Of the classes of each factor that occur, by logistic regression on all codes."""
        if not self.codes:
            return [np.tile(np.bincount(v)[np.unique(v)] / len(v), (len(v), 1)) for v in self.factors]
        x = _design(self.codes)
        return in_threads(lambda v: _logistic(x, v), self.factors, self.n_jobs)


def _design(codes: Sequence[Column]) -> Float[np.ndarray, "n _"]:
    parts = [
        (z.values[:, None] == np.unique(z.values)).astype(float)
        if z.is_categorical
        else standardized(z.values)[:, None]
        for z in codes
    ]
    return np.concatenate(parts, axis=1)


def _logistic(x: Float[np.ndarray, "n d"], classes: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n k"]:
    from sklearn.linear_model import LogisticRegression

    with warnings.catch_warnings():  # where classes can be told apart, weights grow without end
        warnings.simplefilter("ignore")
        return LogisticRegression(C=1e6, max_iter=200).fit(x, classes).predict_proba(x)
