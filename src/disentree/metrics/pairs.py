"""How well two variables determine each other: R2(X <-> Y) of the paper's section on COFHAE metrics.

A model learns to predict each of the two from the other, on random three quarters of the rows; the scores on
the remaining quarter (R2, or accuracy if the target is categorical) are averaged over splits and floored at
0, and the result is the geometric mean of both directions.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from disentree.metrics.boosting.one_input import DEPTH, N_TREES, RATE, accuracy_of_split, r2_of_split
from disentree.metrics.inputs import Column, check_choice, check_count, random_quarter, standardized

Estimator = Literal["fast", "reference"]
FEWEST_ROWS = 30  # on fewer, a score says more about the split than about the pair
N_BINS = 16


def estimator_name(estimator: Estimator) -> str:
    """The estimator and its version, to store with a score."""
    settings = f"{N_TREES} trees of depth {DEPTH}, rate {RATE}"
    if estimator == "fast":
        return f"fast: disentree presorted gradient boosting 1, {settings}"
    import sklearn

    return f"reference: scikit-learn {sklearn.__version__} GradientBoosting, {settings}"


def reference_model(classifies: bool) -> Any:
    """The boosted trees of scikit-learn with its defaults."""
    from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor

    return (GradientBoostingClassifier if classifies else GradientBoostingRegressor)(random_state=0)


@dataclass(eq=False)
class PairScorer:
    """Scores pairs of columns over subsets of rows, and remembers what it has scored.

    The splits of a subset follow from `random_state` and from which rows it holds, nothing else: the same
    pair gets the same score in any order and on any number of threads.
    """

    estimator: Estimator = "fast"
    n_splits: int = 5
    random_state: int = 0
    adjusted: bool = False
    strict: bool = False
    _known: dict[tuple[int, int, bytes], float] = field(default_factory=dict, init=False, repr=False)
    # keeps the columns, and so their ids, alive
    _columns: dict[int, Column] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        check_choice(self.estimator, "estimator", ("fast", "reference"))
        check_count(self.n_splits, "n_splits", least=1)
        check_count(self.random_state, "random_state", least=0)

    def score(self, v: Column, z: Column, rows: Int[np.ndarray, " m"], floor: float = 0.0) -> float:
        """R2(v <-> z) over `rows`. Exact if it exceeds `floor`; otherwise some number that does not."""
        if len(rows) < FEWEST_ROWS or v.is_dead or z.is_dead or floor >= 1:
            return 0.0
        v_values, z_values = v.values[rows], z.values[rows]
        v_constant, z_constant = v.is_constant(v_values), z.is_constant(z_values)
        if v_constant or z_constant:
            # Two points correspond; a point and anything larger do not.
            return 1.0 if v_constant and z_constant and not self.strict else 0.0
        subset = hashlib.blake2b(np.ascontiguousarray(rows).tobytes(), digest_size=16).digest()
        key = (id(v), id(z), subset)
        if key not in self._known:
            splits = self._splits(len(rows), subset)
            score = self._both_ways(v, z, v_values, z_values, splits, floor)
            if score is None:
                return 0.0
            self._known[key] = score
            self._columns |= {id(v): v, id(z): z}
        return self._known[key]

    def most_informative_first(
        self, v: Column, candidates: Sequence[tuple[int, Column]], rows: Int[np.ndarray, " m"]
    ) -> list[tuple[int, Column]]:
        """The candidates with those first that look most like `v`. The sooner the best is known, the more of
        the others can be dropped after one fit."""
        if len(rows) < FEWEST_ROWS:
            return []
        v_bins = _bins(v, v.values[rows])
        information = {j: _shared_information(v_bins, _bins(z, z.values[rows])) for j, z in candidates}
        return sorted(candidates, key=lambda candidate: -information[candidate[0]])

    def _splits(self, n: int, subset: bytes) -> list[Bool[np.ndarray, " n"]]:
        words = np.frombuffer(subset, dtype=np.uint32).tolist()
        seeds = np.random.SeedSequence([self.random_state, n, *words]).spawn(self.n_splits)
        return [random_quarter(n, np.random.default_rng(seed)) for seed in seeds]

    def _both_ways(self, v, z, v_values, z_values, splits, floor) -> float | None:
        """The score, or None as soon as it is certain not to exceed `floor`."""
        ways = [(v, v_values, z, z_values), (z, z_values, v, v_values)]
        # A categorical input is cheap to learn from, so it goes first and may spare the other direction.
        ways.sort(key=lambda way: not way[0].is_categorical)
        product = 1.0
        for x, x_values, y, y_values in ways:
            needed = floor**2 / product
            one_way = self._one_way(x, x_values, y, y_values, splits, needed)
            if one_way is None or one_way <= 0:
                return None if floor > 0 else 0.0
            product *= one_way
        return math.sqrt(product)

    def _one_way(self, x, x_values, y, y_values, splits, needed) -> float | None:
        majority = 0.0
        if y.is_categorical and self.adjusted:
            majority = float(np.bincount(y_values.astype(np.int64)).max() / len(y_values))
        needed = majority + needed * (1 - majority)
        predictors = x_values if x.is_categorical else standardized(x_values)
        targets = y_values.astype(np.int64) if y.is_categorical else standardized(y_values)
        fit = self._fast if self.estimator == "fast" else self._reference
        total = 0.0
        for done, score in enumerate(fit(predictors, targets, y.n_classes, splits), start=1):
            total += score
            # No split scores above 1: stop when even that could not bring the mean to what is needed.
            if (total + len(splits) - done) / len(splits) < needed - 1e-12:
                return None
        return max(0.0, (total / len(splits) - majority) / (1 - majority))

    def _fast(self, x, y, n_classes, splits):
        x = x.astype(np.float32)
        order = np.argsort(x, kind="stable")
        x, y = x[order], y[order]
        for is_test in splits:
            if n_classes:
                yield accuracy_of_split(x, y, is_test[order], n_classes)
            else:
                yield r2_of_split(x, y, is_test[order])

    def _reference(self, x, y, n_classes, splits):
        x = x[:, None]
        for is_test in splits:
            if n_classes and np.ptp(y[~is_test]) == 0:  # scikit-learn refuses to learn a single class
                yield float((y[is_test] == y[~is_test][0]).mean())
                continue
            yield float(reference_model(n_classes > 0).fit(x[~is_test], y[~is_test]).score(x[is_test], y[is_test]))


def _bins(column: Column, values: Float[np.ndarray, " m"]) -> Int[np.ndarray, " m"]:
    if column.is_categorical:
        return values.astype(np.int64)
    edges = np.quantile(values, np.arange(1, N_BINS) / N_BINS)
    return np.searchsorted(edges, values)


def _shared_information(a: Int[np.ndarray, " m"], b: Int[np.ndarray, " m"]) -> float:
    """Mutual information as a share of the larger entropy, so that a finer variable has no advantage."""
    table = np.bincount(a * (b.max() + 1) + b).astype(float)
    joint = _entropy(table)
    h_a, h_b = _entropy(np.bincount(a)), _entropy(np.bincount(b))
    return (h_a + h_b - joint) / max(h_a, h_b, 1e-12)


def _entropy(counts: np.ndarray) -> float:
    p = counts[counts > 0] / counts.sum()
    return float(-(p * np.log(p)).sum())
