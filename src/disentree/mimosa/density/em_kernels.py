"""Kernels of expectation maximization: the loop over steps and all that is done in it, for matrices so small that
calls of numpy would take most of the time."""

from __future__ import annotations

from enum import IntEnum
from typing import no_type_check

import numpy as np
from numba import njit

from disentree.mimosa.density.logs import LOG_2PI


class Family(IntEnum):
    """Of covariances, see `gaussians`."""

    POOLED = 0
    LOWRANK = 1
    FULL = 2


@njit(cache=True, nogil=True, error_model="numpy")
@no_type_check
def cholesky(A):
    """The lower root of a matrix, and whether it has one."""
    q = len(A)
    L = np.zeros((q, q))
    for i in range(q):
        for j in range(i + 1):
            s = A[i, j]
            for m in range(j):
                s -= L[i, m] * L[j, m]
            if i > j:
                L[i, j] = s / L[j, j]
            elif s > 0.0:
                L[i, i] = np.sqrt(s)
            else:
                return L, False
    return L, True


@njit(cache=True, nogil=True, error_model="numpy")
@no_type_check
def inverse_of_lower(L):
    q = len(L)
    out = np.zeros((q, q))
    for j in range(q):
        out[j, j] = 1.0 / L[j, j]
        for i in range(j + 1, q):
            s = 0.0
            for m in range(j, i):
                s -= L[i, m] * out[m, j]
            out[i, j] = s / L[i, i]
    return out


@njit(cache=True, nogil=True, error_model="numpy")
@no_type_check
def not_below(covariance, floor):
    """The covariance with no standard deviation, in any direction, below the precision of the data."""
    q = len(floor)
    rest = covariance.copy()
    for i in range(q):
        rest[i, i] -= floor[i] * floor[i]
    if cholesky(rest)[1]:
        return covariance
    scaled = np.empty((q, q))
    for i in range(q):
        for j in range(q):
            scaled[i, j] = covariance[i, j] / (floor[i] * floor[j])
    values, vectors = np.linalg.eigh(scaled)
    # Beside a variance of 1e15 times the floor's, rounding alone makes others negative.
    least = max(1.0, 4e-16 * q * values[q - 1])
    if values[0] >= least:
        return covariance
    root = np.empty((q, q))
    for j in range(q):
        width = np.sqrt(max(values[j], least))
        for i in range(q):
            root[i, j] = vectors[i, j] * width * floor[i]
    return np.dot(root, root.T.copy())


@njit(cache=True, nogil=True, error_model="numpy")
@no_type_check
def unbiased(values, count):
    """Relative variances without the spread that few rows give to eigenvalues.

    Of `count` rows of equal variance 1 in q directions the eigenvalues fill the interval between
    (1 - sqrt(q / count))^2 and (1 + sqrt(q / count))^2 (Marchenko and Pastur). What is within it is taken for
    1, and what lies outside is divided by the nearer end.
    """
    edge = np.sqrt(len(values) / max(count, 1.0))
    low, high = max(1 - edge, 0.0) ** 2, (1 + edge) ** 2
    out = np.ones(len(values))
    for i in range(len(values)):
        if values[i] < low:
            out[i] = values[i] / low
        elif values[i] > high:
            out[i] = values[i] / high
    return out


@njit(cache=True, nogil=True, error_model="numpy")
@no_type_check
def moments(Y, R):
    """Counts, means and sample covariances of rows that belong to components with weights R."""
    n, q = Y.shape
    k = R.shape[1]
    counts, means = np.empty(k), np.zeros((k, q))
    covariances = np.empty((k, q, q))
    centered = np.empty((n, q))
    for c in range(k):
        counts[c] = R[:, c].sum() + 1e-300
        for i in range(n):
            for j in range(q):
                means[c, j] += R[i, c] * Y[i, j]
        means[c] /= counts[c]
        for i in range(n):
            root = np.sqrt(R[i, c])
            for j in range(q):
                centered[i, j] = (Y[i, j] - means[c, j]) * root
        covariances[c] = np.dot(centered.T.copy(), centered) / counts[c]
    return counts, means, covariances


@njit(cache=True, nogil=True, error_model="numpy")
@no_type_check
def pooled_covariances(S, counts, n, floor, elsewhere, has_elsewhere):
    """The pooled covariance, changed in the directions where a component clearly differs from it.

    A direction in which the variance is l times the pooled one gains counts / 2 (l - 1 - log l) in likelihood and
    costs log(n) / 2 for each of its free coordinates. `elsewhere` is the scatter of rows of other components.
    """
    k, q = len(S), len(floor)
    scatter = elsewhere.copy()
    for c in range(k):
        scatter += counts[c] * S[c]
    W = not_below(scatter / (n if has_elsewhere else counts.sum()), floor)
    root, ok = cholesky(W)
    out = np.empty_like(S)
    if not ok:
        return out, 0.0, False
    inverse = inverse_of_lower(root)
    back = inverse.T.copy()
    parameters = 0.0 if has_elsewhere else q * (q + 1) / 2
    for c in range(k):
        values, vectors = np.linalg.eigh(np.dot(np.dot(inverse, np.ascontiguousarray(S[c])), back))
        scale = values.mean()
        if scale > 0.0 and counts[c] / 2 * q * (scale - 1 - np.log(scale)) > 0.5 * np.log(n):
            parameters += 1
        else:
            scale = 1.0
        values = np.maximum(unbiased(values / scale, counts[c]), 1e-12)
        gain = counts[c] / 2 * (values - 1 - np.log(values))
        order = np.argsort(-gain)
        best, most, saved, free = 0, 0.0, 0.0, 0.0
        for i in range(q):
            saved += gain[order[i]] - 0.5 * np.log(n) * (q - i)
            if saved > most:
                best, most = i + 1, saved
        own = W.copy()
        if best:
            V = np.dot(root, np.ascontiguousarray(vectors[:, order[:best]]))
            scaled = np.empty((q, best))
            for i in range(best):
                scaled[:, i] = V[:, i] * (values[order[i]] - 1)
                free += q - i
            own += np.dot(scaled, V.T.copy())
        out[c] = not_below(scale * own, floor)
        parameters += free
    return out, parameters, True


@njit(cache=True, nogil=True, error_model="numpy")
@no_type_check
def lowrank_covariances(S, counts, n, floor):
    """Own variances in the leading directions, one in the others; the number of directions by BIC."""
    k, q = len(S), len(floor)
    out = np.empty_like(S)
    parameters = 0.0
    least = floor.min() ** 2
    for c in range(k):
        values, vectors = np.linalg.eigh(np.ascontiguousarray(S[c]))
        values = np.maximum(values, least)  # ascending
        tail = np.cumsum(values)
        best, lowest, logs = 0, np.inf, 0.0
        for d in range(q):
            residual = tail[q - 1 - d] / (q - d)
            cost = (q * d - d * (d + 1) / 2) + d + 1
            length = counts[c] * (logs + (q - d) * np.log(residual)) + cost * np.log(n)
            if length < lowest:
                best, lowest = d, length
            logs += np.log(values[q - 1 - d])
        if best > counts[c] - 2:
            best = max(int(counts[c]) - 2, 0)
        residual = tail[q - 1 - best] / (q - best)
        scaled = np.empty((q, q))
        for j in range(q):
            spread = values[j] if j >= q - best else residual
            scaled[:, j] = vectors[:, j] * spread
        out[c] = not_below(np.dot(scaled, vectors.T.copy()), floor)
        parameters += (q * best - best * (best + 1) / 2) + best + 1
    return out, parameters


@njit(cache=True, nogil=True, error_model="numpy")
@no_type_check
def maximized(Y, R, n, floor, family, elsewhere, has_elsewhere):
    """The M step: shares, means, covariances, sample covariances, their number of parameters, and whether all have
    a root."""
    counts, means, S = moments(Y, R)
    k, q = means.shape
    parameters, ok = k * q * (q + 1) / 2, True
    if family == Family.POOLED:
        covariances, parameters, ok = pooled_covariances(S, counts, n, floor, elsewhere, has_elsewhere)
    elif family == Family.LOWRANK:
        covariances, parameters = lowrank_covariances(S, counts, n, floor)
    else:
        covariances = np.empty_like(S)
        for c in range(k):
            covariances[c] = not_below(S[c].copy(), floor)
    return counts / counts.sum(), means, covariances, S, parameters + k * q + k - 1, ok


@njit(cache=True, nogil=True, error_model="numpy")
@no_type_check
def log_joint(Y, shares, means, covariances):
    """Log of share times density, for each row and component, and whether all covariances have a root."""
    n, q = Y.shape
    k = len(means)
    out = np.empty((n, k))
    centered = np.empty((n, q))
    for c in range(k):
        root, ok = cholesky(covariances[c])
        if not ok:
            return out, False
        back = inverse_of_lower(root).T.copy()
        constant = np.log(shares[c]) - 0.5 * q * LOG_2PI
        for j in range(q):
            constant -= np.log(root[j, j])
        for i in range(n):
            for j in range(q):
                centered[i, j] = Y[i, j] - means[c, j]
        U = np.dot(centered, back)
        for i in range(n):
            s = 0.0
            for j in range(q):
                s += U[i, j] * U[i, j]
            out[i, c] = constant - 0.5 * s
    return out, True


@njit(cache=True, nogil=True, error_model="numpy")
@no_type_check
def iterate(Y, R, weights, n, floor, family, elsewhere, has_elsewhere, steps, tolerance, fewest):
    """EM from weights of rows: the mixture, its log likelihood, its posteriors, and whether it could be fitted."""
    rows = len(Y)
    total = weights.sum()
    before = -np.inf
    R = R.copy()
    step = 0
    while True:
        k = R.shape[1]
        for i in range(rows):
            R[i] *= weights[i]
        sums = R.sum(axis=0)
        keep = np.flatnonzero(sums >= fewest)
        if 0 < len(keep) < k:
            R = np.ascontiguousarray(R[:, keep])
            k = len(keep)
            for i in range(rows):
                R[i] *= weights[i] / max(R[i].sum(), 1e-300)
        shares, means, covariances, S, parameters, ok = maximized(Y, R, n, floor, family, elsewhere, has_elsewhere)
        joint, solved = log_joint(Y, shares, means, covariances)
        if not (ok and solved):
            return shares, means, covariances, S, parameters, -np.inf, R, False
        likelihood = 0.0
        for i in range(rows):
            top = joint[i].max()
            s = 0.0
            for c in range(k):
                s += np.exp(joint[i, c] - top)
            each = top + np.log(s)
            likelihood += weights[i] * each
            for c in range(k):
                R[i, c] = np.exp(joint[i, c] - each)
        step += 1
        if step >= steps or (step > 1 and likelihood - before < tolerance * total):
            return shares, means, covariances, S, parameters, likelihood, R, True
        before = likelihood
