"""A quadratic chart: a piece of a manifold as a graph over its tangent space, with a residual per normal
direction.

A row z has tangent coordinates u = T (z - center) and normal coordinates v = N (z - center). On the chart
v = q(u) with q a polynomial of degree 0, 1 or 2. The map (u, v) -> (u, v - q(u)) keeps volumes, so a density of u
times a Gaussian of v - q(u) is a proper density of z.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import no_type_check

import numpy as np
from jaxtyping import Float, Int
from numba import njit
from scipy import stats

GLANCE = 32  # a flat without support among so many rows is not looked at further
EDGE = 1.1  # the edge of what noise gives is blurred
ROWS_PER_TERM = 4  # a quadratic needs so many rows per coefficient; with fewer rows the chart is flat


def n_terms(d: int, degree: int = 2) -> int:
    """Coefficients of a polynomial of d variables."""
    return 1 + d + d * (d + 1) // 2 if degree == 2 else 1 + d


@cache
def pairs(d: int) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the products of two of d variables."""
    return np.triu_indices(d)


def terms(U: Float[np.ndarray, "n d"], degree: int) -> Float[np.ndarray, "n t"]:
    parts = [np.ones((len(U), 1)), U]
    if degree == 2:
        a, b = pairs(U.shape[1])
        parts.append(U[:, a] * U[:, b])
    return np.concatenate(parts, axis=1)


@dataclass(frozen=True)
class Chart:
    center: Float[np.ndarray, " D"]
    frame: Float[np.ndarray, "D D"]  # rows: d tangent directions, then normal directions
    scale: Float[np.ndarray, " d"]  # tangent coordinates are divided by this before the polynomial
    coefficients: Float[np.ndarray, "t c"]  # of the normal coordinates
    sigma: Float[np.ndarray, " c"]  # residual scale of each normal direction

    @property
    def dimension(self) -> int:
        return len(self.scale)

    @property
    def degree(self) -> int:
        d = self.dimension
        return 2 if d and len(self.coefficients) > 1 + d else 1

    def split(self, Z: Float[np.ndarray, "n D"]) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, "n c"]]:
        """Tangent coordinates (scaled to unit deviation) and residuals across the chart."""
        W = (Z - self.center) @ self.frame.T
        d = self.dimension
        U = W[:, :d] / self.scale
        return U, W[:, d:] - terms(U, self.degree) @ self.coefficients

    def log_across(self, residuals: Float[np.ndarray, "n c"]) -> Float[np.ndarray, " n"]:
        """Log density of residuals."""
        constant = np.log(self.sigma).sum() + 0.5 * len(self.sigma) * np.log(2 * np.pi)
        return -0.5 * ((residuals / self.sigma) ** 2).sum(axis=1) - constant


def fit_chart(
    Z: Float[np.ndarray, "m D"],
    d: int,
    floor: Float[np.ndarray, "p D"] | Float[np.ndarray, " D"] | float,
    degree: int = 2,
    trim: float = 0.05,
    rounds: int = 3,
) -> Chart:
    """The chart of dimension d of rows that mostly lie on one manifold.

    The share `trim` of rows that fit worst (in units of each normal direction's own residual) is left out of the
    fit: one stray row would otherwise hide that all others lie exactly on it. No residual scale is below `floor`,
    the precision of each coordinate, or a matrix whose rows are independent errors of the coordinates.
    """
    n, D = Z.shape
    floor = np.asarray(floor, dtype=float)
    floor = floor if floor.ndim == 2 else np.diag(np.broadcast_to(floor, (D,)))
    if d == 0 or (degree == 2 and n < ROWS_PER_TERM * n_terms(d)) or d == D:
        degree = 1
    used = np.ones(n, dtype=bool)
    keep = max(int(np.ceil((1 - trim) * n)), min(n, n_terms(d, degree) + 1))
    chart = None
    for _ in range(rounds if trim and keep < n and d < D else 1):
        S = Z[used]
        center = S.mean(axis=0)
        Y = S - center
        _, _, frame = np.linalg.svd(
            Y if len(Y) >= D else np.concatenate([Y, np.zeros((D - len(Y), D))]), full_matrices=False
        )
        W = Y @ frame.T
        scale = W[:, :d].std(axis=0)
        scale = np.where(scale > 1e-100, scale, 1.0)  # rows that are all at one place have no width
        A = terms(W[:, :d] / scale, degree)
        C = curvature(A, W[:, d:])
        R = W[:, d:] - A @ C
        chart = _with_normals(
            center, frame, scale, C, R, floor, A.shape[1], round(keep / n, 2) if keep < n else 1.0
        )
        if keep >= n or d == D:
            break
        off = ((chart.split(Z)[1] / chart.sigma) ** 2).sum(axis=1)
        used = np.zeros(n, dtype=bool)
        used[np.argpartition(off, keep - 1)[:keep]] = True
    assert chart is not None
    return chart


def curvature(A: Float[np.ndarray, "m t"], V: Float[np.ndarray, "m c"]) -> Float[np.ndarray, "t c"]:
    """Coefficients of normal coordinates, without those that noise alone would give.

    A fit of t terms in each of c directions follows noise in all of them, though a leaf bends in few: with 6
    terms, 40 directions and 85 rows that costs two bits on other rows. In units of the noise, coefficients of
    nothing but noise have singular values up to sqrt(t) + sqrt(c) (Marchenko and Pastur).
    """
    m, t = A.shape
    if m <= t or V.shape[1] == 0:
        return np.linalg.lstsq(A, V, rcond=1e-12)[0]
    Q, triangle = np.linalg.qr(A)
    if np.abs(np.diag(triangle)).min() < 1e-10 * np.abs(np.diag(triangle)).max():
        return np.linalg.lstsq(A, V, rcond=1e-12)[0]
    B = Q.T @ V
    noise = np.sqrt(((V - Q @ B) ** 2).sum(axis=0) / (m - t))
    noise = np.maximum(noise, max(1e-14 * float(np.abs(V).max()), np.finfo(float).tiny))
    left, s, right = np.linalg.svd(B / noise, full_matrices=False)
    s = np.where(s > EDGE * (np.sqrt(t) + np.sqrt(V.shape[1])), s, 0.0)
    return np.linalg.solve(triangle, (left * s) @ right * noise)


def _with_normals(center, frame, scale, C, R, floor, p, kept) -> Chart:
    """Turn normal directions so that residuals are uncorrelated; their scales, corrected for the fit and the
    trim."""
    d, n = len(scale), len(R)
    if R.shape[1] == 0:
        return Chart(center, frame, scale, C, np.ones(0))
    dof = max(n - p, 1)
    # errors of the data are rows beside the residuals: a direction is as coarse as the data is along it
    both = np.concatenate([R / np.sqrt(dof), floor @ frame[d:].T])
    _, s, V = np.linalg.svd(both, full_matrices=False)
    # the spread of a leaf without dimensions is its own shape, not noise
    sigma = np.maximum((pooled(s, dof) if d else s) * trim_factor(kept, R.shape[1]), np.finfo(float).tiny)
    return Chart(center, np.concatenate([frame[:d], V @ frame[d:]]), scale, C @ V.T, sigma)


@njit(cache=True)
@no_type_check
def pooled(deviations, n):
    """Deviations, largest first, with those that equal noise may have shown among n rows replaced by their mean.

    The deviations of c directions of equal noise spread between 1 - sqrt(c / n) and 1 + sqrt(c / n) (Marchenko and
    Pastur): the smallest of them are not thinner, they are chance, and would be found out by other rows.
    """
    out = deviations.copy()
    c = len(out)
    i = 0
    while i < c:
        j = i + 1
        while j < c:
            edge = np.sqrt((j + 1 - i) / n)
            if deviations[j] * (1 + edge) * EDGE**2 < deviations[i] * (1 - edge):
                break
            j += 1
        mean = np.sqrt((deviations[i:j] ** 2).mean())
        out[i:j] = mean
        i = j
    return out


@lru_cache(maxsize=4096)
def trim_factor(kept: float, codimension: int) -> float:
    """What trimming by the norm of c residuals takes off the deviation of each, as a factor to undo it."""
    if kept >= 1:
        return 1.0
    limit = stats.chi2.ppf(kept, codimension)
    return float(np.sqrt(kept / stats.chi2.cdf(limit, codimension + 2)))


@njit(cache=True)
@no_type_check
def best_flat(Y, tuples, limit):
    """Of the flats through the origin and d rows of Y each, the one that stands out most: (score, basis).

    Held are rows within a squared distance of `limit`, around it those within four times that. A set of one
    dimension more puts as many rows in the one as in the other.
    """
    m, D = Y.shape
    d = tuples.shape[1]
    square = np.empty(m)
    for j in range(m):
        s = 0.0
        for a in range(D):
            s += Y[j, a] ** 2
        square[j] = s
    best_score = -np.inf
    best = np.zeros((d, D))
    B = np.empty((d, D))
    for t in range(len(tuples)):
        good = True
        for c in range(d):
            for a in range(D):
                B[c, a] = Y[tuples[t, c], a]
            for _ in range(2):
                for b in range(c):
                    dot = 0.0
                    for a in range(D):
                        dot += B[b, a] * B[c, a]
                    for a in range(D):
                        B[c, a] -= dot * B[b, a]
            norm = 0.0
            for a in range(D):
                norm += B[c, a] ** 2
            if norm <= limit / 4 or norm == 0.0:
                good = False
                break
            norm = np.sqrt(norm)
            for a in range(D):
                B[c, a] /= norm
        if not good:
            continue
        held = 0
        around = 0
        for j in range(m):
            off = square[j]
            for c in range(d):
                dot = 0.0
                for a in range(D):
                    dot += B[c, a] * Y[j, a]
                off -= dot * dot
            if off <= limit:
                held += 1
            elif off <= 4 * limit:
                around += 1
            if j == GLANCE - 1:
                drawn = 0
                for c in range(d):
                    drawn += tuples[t, c] < GLANCE
                if held <= drawn:  # no support but the rows it was drawn through
                    held = 0
                    break
        if held == 0:
            continue
        score = (held - d - 1 - 2.0 * around) / np.sqrt(held + 4.0 * around + 1)
        if score > best_score:
            best_score = score
            best[:] = B
    return best_score, best


def clearness(held: float, around: float, spent: float) -> float:
    """By how many deviations of chance a chart that holds `held` rows stands out from those around it; `spent`
    rows lie on it in any case."""
    return (held - spent - 2.0 * around) / np.sqrt(held + 4.0 * around + 1)


@cache
def reach(codimension: int) -> float:
    """The distance within which 95 % of rows lie in so many directions of unit noise."""
    return float(np.sqrt(stats.chi2.ppf(0.95, codimension)))


def random_tuples(rng: np.random.Generator, m: int, d: int, count: int) -> Int[np.ndarray, "count d"]:
    return rng.integers(m, size=(count, d))
