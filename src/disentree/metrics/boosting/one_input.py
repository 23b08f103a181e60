"""Gradient-boosted trees on one input, equal to scikit-learn's to rounding and some thirty times faster.

`GradientBoostingRegressor` and `GradientBoostingClassifier` with their defaults (100 trees of depth 3, rate
0.1) sort and search the same single column in every node of every tree. Two facts about one column make that
unnecessary:

- A node is an interval of the sorted column, so a tree is at most seven cut points, and the whole model is a
  step function: one value for each run of inputs that no tree separates.
- All trees that cut between the same two runs use the same threshold, their midpoint, so a new input simply
  takes the value of the run on its side of the midpoint.

Like scikit-learn, inputs are compared as float32 and values closer than 1e-7 are never separated. Runs make
categorical inputs cheap: a fit costs as much as there are different inputs, not rows.

All kernels release the interpreter lock, so that threads can score several pairs at once.
"""

import math
from typing import no_type_check

import numpy as np
from numba import njit

N_TREES = 100
DEPTH = 3
RATE = 0.1
GAP = np.float32(1e-7)  # inputs closer than this count as equal
MOST_LEAVES = 2**DEPTH

# `no_type_check` keeps run-time type checkers from wrapping these functions: numba compiles only plain ones.


@njit(cache=True, nogil=True)
@no_type_check
def r2_of_split(x, y, is_test):
    """R2 on the test rows of a regressor fitted to the others. `x` (float32) ascends, `y` (float64) is in its
    order."""
    run, n_runs = _runs(x, is_test)
    weight, total = np.zeros(n_runs), np.zeros(n_runs)
    for i in range(len(x)):
        if not is_test[i]:
            weight[run[i]] += 1
            total[run[i]] += y[i]
    fitted = fit_regression(weight, total)
    n_test, mean = 0, 0.0
    for i in range(len(x)):
        if is_test[i]:
            n_test += 1
            mean += y[i]
    mean /= n_test
    residual, variance = 0.0, 0.0
    for i in range(len(x)):
        if is_test[i]:
            residual += (y[i] - fitted[run[i]]) ** 2
            variance += (y[i] - mean) ** 2
    if variance == 0:
        return 1.0 if residual == 0 else 0.0
    return 1 - residual / variance


@njit(cache=True, nogil=True)
@no_type_check
def accuracy_of_split(x, y, is_test, n_classes):
    """Accuracy on the test rows of a classifier fitted to the others. `y` holds class numbers as integers."""
    run, n_runs = _runs(x, is_test)
    counts = np.zeros(n_classes, dtype=np.int64)
    for i in range(len(x)):
        if not is_test[i]:
            counts[y[i]] += 1
    # Classes that no training row has are unknown to the classifier and always wrong.
    number = np.full(n_classes, -1)
    n_seen = 0
    for c in range(n_classes):
        if counts[c]:
            number[c] = n_seen
            n_seen += 1
    counts = np.zeros((n_seen, n_runs))
    for i in range(len(x)):
        if not is_test[i]:
            counts[number[y[i]], run[i]] += 1
    predicted = np.zeros(n_runs, dtype=np.int64)
    if n_seen == 2:
        fitted = fit_binomial(counts)
        for g in range(n_runs):
            predicted[g] = 1 if fitted[g] >= 0 else 0
    elif n_seen > 2:
        raw = fit_multinomial(counts)
        for g in range(n_runs):
            for k in range(1, n_seen):
                if raw[k, g] > raw[predicted[g], g]:
                    predicted[g] = k
    right, n_test = 0, 0
    for i in range(len(x)):
        if is_test[i]:
            n_test += 1
            right += number[y[i]] == predicted[run[i]]
    return right / n_test


@njit(cache=True, nogil=True)
@no_type_check
def _runs(x, is_test):
    """The run that every row belongs to, if it trains, or takes its value from, if it tests."""
    n = len(x)
    run = np.empty(n, dtype=np.int64)
    middle = np.empty(n)  # between each run and the next
    n_runs, last = 0, np.float32(0)
    for i in range(n):
        if is_test[i]:
            continue
        if n_runs == 0:
            n_runs = 1
        elif x[i] > last + GAP:
            middle[n_runs - 1] = np.float64(last) / 2 + np.float64(x[i]) / 2
            n_runs += 1
        run[i] = n_runs - 1
        last = x[i]
    g = 0
    for i in range(n):
        if is_test[i]:
            while g < n_runs - 1 and np.float64(x[i]) > middle[g]:
                g += 1
            run[i] = g
    return run, n_runs


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz", "reassoc"})
@no_type_check
def _best_cut(a, b, weight, total, gains):
    """The cut of runs a..b-1 that lowers the squared error most; `weight` and `total` are running sums."""
    all_weight, all_total = weight[b] - weight[a], total[b] - total[a]
    weight_a, total_a = weight[a], total[a]
    best = -1.0
    for s in range(a + 1, b):
        left = weight[s] - weight_a
        difference = (total[s] - total_a) * all_weight - all_total * left
        gain = difference * difference / (left * (all_weight - left))
        gains[s] = gain
        best = max(best, gain)
    for s in range(a + 1, b):
        if gains[s] == best:
            return s
    return a + 1


@njit(cache=True, nogil=True)
@no_type_check
def _grow(weight, total, gains, bounds):
    """Grow one tree. Leaf i holds runs bounds[i]..bounds[i + 1] - 1; returns the number of leaves."""
    bounds[0], bounds[1] = 0, len(weight) - 1
    n_leaves = 1
    for _ in range(DEPTH):
        grown = bounds[: n_leaves + 1].copy()
        n_nodes, n_leaves = n_leaves, 0
        for node in range(n_nodes):
            a, b = grown[node], grown[node + 1]
            if b - a > 1:
                n_leaves += 1
                bounds[n_leaves] = _best_cut(a, b, weight, total, gains)
            n_leaves += 1
            bounds[n_leaves] = b
    return n_leaves


@njit(cache=True, nogil=True)
@no_type_check
def _running(values):
    out = np.empty(len(values) + 1)
    out[0] = 0
    for i in range(len(values)):
        out[i + 1] = out[i] + values[i]
    return out


@njit(cache=True, nogil=True)
@no_type_check
def fit_regression(run_weight, run_total):
    """Value of each run under squared error; `run_total` sums the targets of a run."""
    n_runs = len(run_weight)
    weight, total = _running(run_weight), _running(run_total)
    mean = total[-1] / weight[-1]
    residual = total - mean * weight  # running sums of the residuals
    steps = np.zeros(n_runs + 1)  # changes of the fitted step function from run to run
    steps[0] = mean
    bounds = np.empty(MOST_LEAVES + 1, dtype=np.int64)
    gains = np.empty(n_runs + 1)
    for _ in range(N_TREES):
        n_leaves = _grow(weight, residual, gains, bounds)
        at_a, removed = residual[0], 0.0
        for leaf in range(n_leaves):
            a, b = bounds[leaf], bounds[leaf + 1]
            at_b = residual[b]
            value = RATE * (at_b - at_a) / (weight[b] - weight[a])
            steps[a] += value
            steps[b] -= value
            offset = removed - value * weight[a]
            for s in range(a + 1, b + 1):
                residual[s] -= offset + value * weight[s]
            removed += value * (weight[b] - weight[a])
            at_a = at_b
    return _running(steps)[1:-1]


@njit(cache=True, nogil=True)
@no_type_check
def fit_binomial(counts):
    """Log odds of the second class in each run; `counts` (2, runs) are the rows of each class."""
    n_runs = counts.shape[1]
    run_weight = counts[0] + counts[1]
    weight = _running(run_weight)
    tiny = np.finfo(np.float64).eps
    prior = min(max(counts[1].sum() / weight[-1], tiny), 1 - tiny)
    raw = np.full(n_runs, math.log(prior / (1 - prior)))
    gradient, hessian = np.zeros(n_runs + 1), np.zeros(n_runs + 1)
    bounds = np.empty(MOST_LEAVES + 1, dtype=np.int64)
    gains = np.empty(n_runs + 1)
    for _ in range(N_TREES):
        p = prior
        for g in range(n_runs):
            if g == 0 or raw[g] != raw[g - 1]:
                p = 1 / (1 + math.exp(-raw[g]))
            gradient[g + 1] = gradient[g] + (counts[1, g] - run_weight[g] * p)
            hessian[g + 1] = hessian[g] + run_weight[g] * p * (1 - p)
        n_leaves = _grow(weight, gradient, gains, bounds)
        _newton(raw, gradient, hessian, bounds, n_leaves, 1.0)
    return raw


@njit(cache=True, nogil=True)
@no_type_check
def fit_multinomial(counts):
    """Logits (classes, runs); `counts` (classes, runs) are the rows of each class, none of them empty."""
    n_classes, n_runs = counts.shape
    run_weight = counts.sum(axis=0)
    weight = _running(run_weight)
    raw = np.empty((n_classes, n_runs))
    for k in range(n_classes):
        raw[k] = math.log(counts[k].sum() / weight[-1])
    gradient, hessian = np.zeros((n_classes, n_runs + 1)), np.zeros((n_classes, n_runs + 1))
    cut = np.zeros(n_runs, dtype=np.bool_)  # where any tree has cut: runs in between share their logits
    cut[0] = True
    p = np.empty(n_classes)
    bounds = np.empty(MOST_LEAVES + 1, dtype=np.int64)
    gains = np.empty(n_runs + 1)
    for _ in range(N_TREES):
        for g in range(n_runs):
            if cut[g]:
                highest, total = raw[0, g], 0.0
                for k in range(1, n_classes):
                    highest = max(highest, raw[k, g])
                for k in range(n_classes):
                    p[k] = math.exp(raw[k, g] - highest)
                    total += p[k]
                for k in range(n_classes):
                    p[k] /= total
            for k in range(n_classes):
                gradient[k, g + 1] = gradient[k, g] + (counts[k, g] - run_weight[g] * p[k])
                hessian[k, g + 1] = hessian[k, g] + run_weight[g] * p[k] * (1 - p[k])
        for k in range(n_classes):
            n_leaves = _grow(weight, gradient[k], gains, bounds)
            _newton(raw[k], gradient[k], hessian[k], bounds, n_leaves, (n_classes - 1) / n_classes)
            for leaf in range(n_leaves):
                cut[bounds[leaf]] = True
    return raw


@njit(cache=True, nogil=True)
@no_type_check
def _newton(raw, gradient, hessian, bounds, n_leaves, scale):
    """One Newton step for every leaf of a tree."""
    for leaf in range(n_leaves):
        a, b = bounds[leaf], bounds[leaf + 1]
        curvature = hessian[b] - hessian[a]
        if abs(curvature) >= 1e-150:
            value = RATE * scale * (gradient[b] - gradient[a]) / curvature
            for g in range(a, b):
                raw[g] += value
