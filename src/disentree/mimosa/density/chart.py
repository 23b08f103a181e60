"""A quadratic chart as a density: a residual scale per normal direction beside the graph over the tangent space.

The map (u, v) -> (u, v - q(u)) of tangent and normal coordinates keeps volumes, so a density of u times a Gaussian
of v - q(u) is a proper density of z.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import no_type_check

import numpy as np
from jaxtyping import Float
from numba import njit
from scipy import stats

from disentree.geometry.charts import QuadraticGraph, fit_graph, n_quadratic_terms
from disentree.mimosa.density.chart_constants import CHART

# The precision of each coordinate, or a matrix whose rows are independent errors of the coordinates.
Errors = Float[np.ndarray, "p D"] | Float[np.ndarray, " D"] | float


@dataclass(frozen=True)
class Chart(QuadraticGraph):
    """A graph with the scale of the residuals along each normal direction."""

    sigma: Float[np.ndarray, " c"]

    @property
    def is_bent(self) -> bool:
        """Whether any quadratic coefficient is left."""
        return bool(np.any(self.coefficients[1 + self.dimension :]))

    @property
    def width(self) -> float:
        """Deviation of its rows along it, where they spread least, relative to the largest residual."""
        return float(self.scale.min() / self.sigma.max())

    def log_across(self, residuals: Float[np.ndarray, "n c"]) -> Float[np.ndarray, " n"]:
        """Log density of residuals."""
        constant = np.log(self.sigma).sum() + 0.5 * len(self.sigma) * np.log(2 * np.pi)
        return -0.5 * ((residuals / self.sigma) ** 2).sum(axis=1) - constant


def rows_needed(d: int) -> int:
    """By a quadratic chart of dimension d."""
    return CHART.rows_per_term * n_quadratic_terms(d)


def degree_for(n: int, d: int) -> int:
    """Of a chart of dimension d of so many rows."""
    return 2 if d and n >= rows_needed(d) else 1


def fit_chart(
    Z: Float[np.ndarray, "m D"], d: int, errors: Errors, degree: int = 2, trim: float = 0.05, rounds: int = 3
) -> Chart:
    """The chart of dimension d of rows that mostly lie on one manifold.

    The share `trim` of rows that fit worst (in units of each normal direction's own residual) is left out of the
    fit: one stray row would otherwise hide that all others lie exactly on it. No residual scale is below the
    errors.
    """
    n, D = Z.shape
    floor = np.asarray(errors, dtype=float)
    floor = floor if floor.ndim == 2 else np.diag(np.broadcast_to(floor, (D,)))
    degree = min(degree, degree_for(n, d)) if d < D else 1
    used = np.ones(n, dtype=bool)
    keep = max(int(np.ceil((1 - trim) * n)), min(n, n_quadratic_terms(d, degree) + 1))
    kept = round(keep / n, 2) if keep < n else 1.0
    while True:
        center = Z[used].mean(axis=0)
        Y = Z[used] - center
        padded = Y if len(Y) >= D else np.concatenate([Y, np.zeros((D - len(Y), D))])
        frame = np.linalg.svd(padded, full_matrices=False)[2]
        chart = _with_normals(*fit_graph(Y, center, frame, d, degree, shrunk_coefficients), floor, kept)
        rounds -= 1
        if rounds <= 0 or keep >= n or d == D:
            return chart
        off = ((chart.split(Z)[1] / chart.sigma) ** 2).sum(axis=1)
        used = np.zeros(n, dtype=bool)
        used[np.argpartition(off, keep - 1)[:keep]] = True


def shrunk_coefficients(A: Float[np.ndarray, "m t"], V: Float[np.ndarray, "m c"]) -> Float[np.ndarray, "t c"]:
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
    s = np.where(s > CHART.edge * (np.sqrt(t) + np.sqrt(V.shape[1])), s, 0.0)
    return np.linalg.solve(triangle, (left * s) @ right * noise)


def _with_normals(graph: QuadraticGraph, R: Float[np.ndarray, "m c"], floor: np.ndarray, kept: float) -> Chart:
    """Turn normal directions so that residuals are uncorrelated; their scales, corrected for the fit and the
    trim."""
    d, frame, C = graph.dimension, graph.frame, graph.coefficients
    if R.shape[1] == 0:
        return Chart(graph.center, frame, graph.scale, C, np.ones(0))
    dof = max(len(R) - len(C), 1)
    # errors of the data are rows beside the residuals: a direction is as coarse as the data is along it
    both = np.concatenate([R / np.sqrt(dof), floor @ frame[d:].T])
    _, s, V = np.linalg.svd(both, full_matrices=False)
    # the spread of a leaf without dimensions is its own shape, not noise
    s = pooled(s, dof, CHART.edge) if d else s
    sigma = np.maximum(s * trim_factor(kept, R.shape[1]), np.finfo(float).tiny)
    return Chart(graph.center, np.concatenate([frame[:d], V @ frame[d:]]), graph.scale, C @ V.T, sigma)


@njit(cache=True)
@no_type_check
def pooled(deviations, n, blur):
    """Deviations, largest first, with those that equal noise may have shown among n rows replaced by their mean.

    The deviations of c directions of equal noise spread between 1 - sqrt(c / n) and 1 + sqrt(c / n) (Marchenko and
    Pastur), with edges blurred by a factor: the smallest of them are not thinner, they are chance, and would be
    found out by other rows.
    """
    out = deviations.copy()
    c = len(out)
    i = 0
    while i < c:
        j = i + 1
        while j < c:
            edge = np.sqrt((j + 1 - i) / n)
            if deviations[j] * (1 + edge) * blur**2 < deviations[i] * (1 - edge):
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
