"""Gradient-boosted trees on several inputs, for DCI: scikit-learn's defaults and importances, but faster.

The inputs are sorted once. A tree grows level by level: one walk along each sorted column, with running sums
for every node, finds the best cut of all nodes of a level. A long run of equal inputs, such as the zeros of
an inactive variable, is stepped over: its sums are what the rest of the column leaves of the nodes' sums.
Test rows travel down the trees with the others, without weight.

Inputs are tried in random order, as in scikit-learn, so that none is favored where several cut equally well.
"""

import math
from typing import no_type_check

import numpy as np
from numba import njit

from disentree.metrics.boosting.one_input import DEPTH, GAP, MOST_LEAVES, N_TREES, RATE

CLEARLY = 1 + 1e-10  # cuts that differ by less are equally good, and the first one tried is taken

# `no_type_check` keeps run-time type checkers from wrapping these functions: numba compiles only plain ones.


@njit(cache=True, nogil=True)
@no_type_check
def regression(x, order, y, draws, importance):
    """Fitted values of all rows.

    `x` (inputs, rows) is float32, `order` (inputs, training rows) sorts each input, `draws` (trees, DEPTH,
    inputs) says in which order to try them; the importance of every input is added to `importance`.
    """
    n, m = x.shape[1], order.shape[1]
    runs = _longest_runs(x, order)
    mean = 0.0
    for s in order[0]:
        mean += y[s]
    fitted = np.full(n, mean / m)
    residual, leaf = np.empty(n), np.empty(n, dtype=np.uint8)
    weight, total = np.empty(MOST_LEAVES), np.empty(MOST_LEAVES)
    for tree in range(N_TREES):
        for s in range(n):
            residual[s] = y[s] - fitted[s]
        _grow(x, order, runs, residual, draws[tree], leaf, importance)
        weight[:], total[:] = 0, 0
        for s in order[0]:
            weight[leaf[s]] += 1
            total[leaf[s]] += residual[s]
        for s in range(n):
            fitted[s] += RATE * total[leaf[s]] / weight[leaf[s]]
    return fitted


@njit(cache=True, nogil=True)
@no_type_check
def classification(x, order, y, n_classes, draws, importance):
    """Logits (classes, rows) of all rows; `y` holds classes 0..n_classes-1, all of them among the training
    rows. Two classes share one sequence of trees: the first has logit 0 then."""
    n, m = x.shape[1], order.shape[1]
    runs = _longest_runs(x, order)
    binary = n_classes == 2
    scale = 1.0 if binary else (n_classes - 1) / n_classes
    raw = np.zeros((n_classes, n))
    counts = np.zeros(n_classes)
    for s in order[0]:
        counts[y[s]] += 1
    for k in range(n_classes):
        raw[k] = math.log(counts[k] / (counts[0] if binary else m))
    p, gradient = np.empty((n_classes, n)), np.empty(n)
    leaf = np.empty(n, dtype=np.uint8)
    slope, curvature = np.empty(MOST_LEAVES), np.empty(MOST_LEAVES)
    for tree in range(N_TREES):
        for s in range(n):
            highest, total = raw[0, s], 0.0
            for k in range(1, n_classes):
                highest = max(highest, raw[k, s])
            for k in range(n_classes):
                p[k, s] = math.exp(raw[k, s] - highest)
                total += p[k, s]
            for k in range(n_classes):
                p[k, s] /= total
        for k in range(1 if binary else 0, n_classes):
            for s in range(n):
                gradient[s] = (1.0 if y[s] == k else 0.0) - p[k, s]
            _grow(x, order, runs, gradient, draws[tree * n_classes + k], leaf, importance)
            slope[:], curvature[:] = 0, 0
            for s in order[0]:
                slope[leaf[s]] += gradient[s]
                curvature[leaf[s]] += p[k, s] * (1 - p[k, s])
            for s in range(n):
                if abs(curvature[leaf[s]]) >= 1e-150:
                    raw[k, s] += RATE * scale * slope[leaf[s]] / curvature[leaf[s]]
    return raw


@njit(cache=True, nogil=True)
@no_type_check
def _longest_runs(x, order):
    """Start and stop of the longest run of equal inputs in each sorted column."""
    d, m = order.shape
    runs = np.zeros((d, 2), dtype=np.int64)
    for f in range(d):
        start = 0
        for i in range(1, m + 1):
            if i == m or x[f, order[f, i]] != x[f, order[f, i - 1]]:
                if i - start > runs[f, 1] - runs[f, 0]:
                    runs[f, 0], runs[f, 1] = start, i
                start = i
    return runs


@njit(cache=True, nogil=True)
@no_type_check
def _grow(x, order, runs, target, draws, leaf, importance):
    """Grow one tree on the training rows; writes the leaf of every row. A node that cannot be cut hands all
    its rows to its left child."""
    n, m = x.shape[1], order.shape[1]
    leaf[:] = 0
    # one row for each node: weight and total, so far and in all
    weight, total = np.empty(MOST_LEAVES), np.empty(MOST_LEAVES)
    left, left_total = np.empty(MOST_LEAVES), np.empty(MOST_LEAVES)
    last = np.empty(MOST_LEAVES, dtype=np.float32)
    best, best_input = np.empty(MOST_LEAVES), np.empty(MOST_LEAVES, dtype=np.int64)
    threshold = np.empty(MOST_LEAVES)
    run_weight, run_total = np.empty(MOST_LEAVES), np.empty(MOST_LEAVES)
    for level in range(DEPTH):
        n_nodes = 2**level
        weight[:], total[:], best[:], best_input[:] = 0, 0, -1, -1
        for s in order[0]:
            weight[leaf[s]] += 1
            total[leaf[s]] += target[s]
        for f in draws[level]:
            run_start, run_stop = runs[f]
            left[:], left_total[:] = 0, 0
            for part in range(2):
                start, stop = (0, run_start) if part == 0 else (run_stop, m)
                for i in range(start, stop):
                    s = order[f, i]
                    k, value = leaf[s], x[f, s]
                    if left[k] > 0 and value > last[k] + GAP:
                        # compared without dividing: most cuts are not the best so far
                        difference = left_total[k] * weight[k] - total[k] * left[k]
                        spread = left[k] * (weight[k] - left[k])
                        if difference * difference > best[k] * spread * CLEARLY:
                            best[k], best_input[k] = difference * difference / spread, f
                            threshold[k] = np.float64(last[k]) / 2 + np.float64(value) / 2
                    left[k] += 1
                    left_total[k] += target[s]
                    last[k] = value
                if part == 1:
                    continue
                run_weight[:n_nodes] = weight[:n_nodes] - left[:n_nodes]
                run_total[:n_nodes] = total[:n_nodes] - left_total[:n_nodes]
                for i in range(run_stop, m):
                    s = order[f, i]
                    run_weight[leaf[s]] -= 1
                    run_total[leaf[s]] -= target[s]
                value = x[f, order[f, run_start]]
                for k in range(n_nodes):
                    if run_weight[k] > 0:
                        if left[k] > 0 and value > last[k] + GAP:
                            difference = left_total[k] * weight[k] - total[k] * left[k]
                            spread = left[k] * (weight[k] - left[k])
                            if difference * difference > best[k] * spread * CLEARLY:
                                best[k], best_input[k] = difference * difference / spread, f
                                threshold[k] = np.float64(last[k]) / 2 + np.float64(value) / 2
                        left[k] += run_weight[k]
                        left_total[k] += run_total[k]
                        last[k] = value
        for k in range(n_nodes):
            if best_input[k] >= 0:
                importance[best_input[k]] += best[k] / weight[k]
        for s in range(n):
            k = leaf[s]
            f = best_input[k]
            leaf[s] = 2 * k + (1 if f >= 0 and np.float64(x[f, s]) > threshold[k] else 0)
