"""Mixtures of Gaussians by expectation maximization, with covariances as parsimonious as the rows allow.

One E step serves all families of covariances; a family is only the step from sample covariances to covariances
and a number of parameters:

``pooled``
    All components share the pooled covariance within components, except in the directions in which a component
    differs from it by more than those directions cost in BIC. No direction: equal covariances (linear
    discriminants). All directions: free covariances. Columns of noise, which are the same in all components,
    cost nothing. Invariant to any affine map of the data.
``lowrank``
    Each component has its own directions of own variance and one variance in the remaining ones (HDDC,
    Bouveyron et al. 2007; mixtures of probabilistic PCA). The number of directions is chosen by BIC.
``full``
    Free covariances.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

LOG_2PI = float(np.log(2 * np.pi))
# A direction is wide if its variance is GAP times that of the widest residual direction, and residual variances
# differ by no more than FLAT, beside what few rows make of equal ones.
GAP, FLAT = 10.0, 4.0


def log_sum(joint: Float[np.ndarray, "n k"]) -> Float[np.ndarray, " n"]:
    """Log of the sum of exponentials of each row (scipy's does the same at three times the cost)."""
    if joint.shape[1] == 1:
        return joint[:, 0]
    top = joint.max(axis=1)
    return top + np.log(np.exp(joint - top[:, None]).sum(axis=1))


@dataclass(frozen=True)
class Mixture:
    """Gaussians with shares; `parameters` is the number that BIC charges for."""

    shares: Float[np.ndarray, " k"]
    means: Float[np.ndarray, "k q"]
    covariances: Float[np.ndarray, "k q q"]
    parameters: float
    within: Float[np.ndarray, "k q q"]  # sample covariances, from which the family made `covariances`

    def __len__(self) -> int:
        return len(self.shares)

    def joint(self, Y: Float[np.ndarray, "n q"]) -> Float[np.ndarray, "n k"]:
        """Log of share times density, for each row and component."""
        return log_gaussians(Y, self.means, self.covariances) + np.log(self.shares)

    def log_density(self, Y: Float[np.ndarray, "n q"]) -> Float[np.ndarray, " n"]:
        return log_sum(self.joint(Y))

    def posteriors(self, Y: Float[np.ndarray, "n q"]) -> Float[np.ndarray, "n k"]:
        joint = self.joint(Y)
        return np.exp(joint - log_sum(joint)[:, None])


def log_gaussians(
    Y: Float[np.ndarray, "n q"], means: Float[np.ndarray, "k q"], covariances: Float[np.ndarray, "k q q"]
) -> Float[np.ndarray, "n k"]:
    q = Y.shape[1]
    out = np.empty((len(Y), len(means)))
    roots = np.linalg.cholesky(covariances)
    inverses = np.linalg.inv(roots)
    volumes = np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1)
    for k in range(len(means)):
        U = (Y - means[k]) @ inverses[k].T
        out[:, k] = -0.5 * (np.einsum("ij,ij->i", U, U) + q * LOG_2PI) - volumes[k]
    return out


def moments(
    Y: Float[np.ndarray, "n q"], R: Float[np.ndarray, "n k"]
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, "k q"], Float[np.ndarray, "k q q"]]:
    """Counts, means and sample covariances of rows that belong to components with weights R."""
    counts = R.sum(axis=0) + 1e-300
    means = (R.T @ Y) / counts[:, None]
    covariances = np.empty((R.shape[1], Y.shape[1], Y.shape[1]))
    for k in range(R.shape[1]):
        C = (Y - means[k]) * np.sqrt(R[:, k])[:, None]
        covariances[k] = C.T @ C / counts[k]
    return counts, means, covariances


def not_below(covariance: Float[np.ndarray, "q q"], floor: Float[np.ndarray, " q"]) -> Float[np.ndarray, "q q"]:
    """The covariance with no standard deviation, in any direction, below the precision of the data."""
    try:
        np.linalg.cholesky(covariance - np.diag(floor * floor))
        return covariance
    except np.linalg.LinAlgError:
        pass
    scaled = covariance / np.outer(floor, floor)
    values, vectors = np.linalg.eigh(scaled)
    if values[0] >= 1.0:
        return covariance
    root = vectors * np.sqrt(np.maximum(values, 1.0))
    return (root @ root.T) * np.outer(floor, floor)


def unbiased(values: Float[np.ndarray, " q"], count: float) -> Float[np.ndarray, " q"]:
    """Relative variances without the spread that few rows give to eigenvalues.

    Of `count` rows of equal variance 1 in q directions the eigenvalues fill the interval between
    (1 - sqrt(q / count))^2 and (1 + sqrt(q / count))^2 (Marchenko and Pastur). What is within it is taken for
    1, and what lies outside is divided by the nearer end.
    """
    edge = np.sqrt(len(values) / max(count, 1.0))
    low, high = max(1 - edge, 0.0) ** 2, (1 + edge) ** 2
    narrow = values / low if low > 0.0 else np.ones_like(values)
    return np.where(values < low, narrow, np.where(values > high, values / high, 1.0))


def pooled_covariances(
    S: Float[np.ndarray, "k q q"],
    counts: Float[np.ndarray, " k"],
    n: float,
    floor: Float[np.ndarray, " q"],
    elsewhere: Float[np.ndarray, "q q"] | None = None,
) -> tuple[Float[np.ndarray, "k q q"], float]:
    """The pooled covariance, changed in the directions where a component clearly differs from it.

    A direction in which the variance is l times the pooled one gains counts / 2 (l - 1 - log l) in likelihood and
    costs log(n) / 2 for each of its free coordinates. `elsewhere` is the scatter of rows of other components.
    """
    q = S.shape[1]
    scatter = np.einsum("k,kij->ij", counts, S)
    total = counts.sum()
    if elsewhere is not None:
        scatter, total = scatter + elsewhere, n
    W = not_below(scatter / total, floor)
    root = np.linalg.cholesky(W)
    inverse = np.linalg.inv(root)
    out = np.empty_like(S)
    parameters = 0.0
    price = 0.5 * np.log(n) * np.arange(q, 0, -1)
    spectra, directions = np.linalg.eigh(inverse @ S @ inverse.T)
    for k in range(len(S)):
        values, vectors = spectra[k], directions[k]
        scale = values.mean()
        if counts[k] / 2 * q * (scale - 1 - np.log(scale)) > 0.5 * np.log(n):
            parameters += 1
        else:
            scale = 1.0
        values = np.maximum(unbiased(values / scale, counts[k]), 1e-12)
        gain = counts[k] / 2 * (values - 1 - np.log(values))
        order = np.argsort(-gain)
        saved = np.cumsum(gain[order] - price)
        best = int(np.argmax(saved)) + 1 if saved.max() > 0 else 0
        chosen = order[:best]
        V = root @ vectors[:, chosen]
        out[k] = scale * (W + (V * (values[chosen] - 1)) @ V.T)
        out[k] = not_below(out[k], floor)
        parameters += np.arange(q, 0, -1)[:best].sum()
    return out, parameters + (q * (q + 1) / 2 if elsewhere is None else 0.0)


def lowrank_covariances(
    S: Float[np.ndarray, "k q q"], counts: Float[np.ndarray, " k"], n: float, floor: Float[np.ndarray, " q"]
) -> tuple[Float[np.ndarray, "k q q"], float]:
    """Own variances in the leading directions, one in the others; the number of directions by BIC."""
    q = S.shape[1]
    out = np.empty_like(S)
    parameters = 0.0
    least = float(np.min(floor)) ** 2
    for k in range(len(S)):
        values, vectors = np.linalg.eigh(S[k])
        values, vectors = np.maximum(values[::-1], least), vectors[:, ::-1]
        logs = np.concatenate([[0.0], np.cumsum(np.log(values))])
        tail = np.concatenate([np.cumsum(values[::-1])[::-1], [0.0]])
        d = np.arange(q)
        residual = tail[:q] / (q - d)
        minus_two = counts[k] * (logs[:q] + (q - d) * np.log(residual))
        cost = (q * d - d * (d + 1) / 2) + d + 1
        best = int(np.argmin(minus_two + cost * np.log(n)))
        if best > counts[k] - 2:
            best = max(int(counts[k]) - 2, 0)
        spectrum = np.concatenate([values[:best], np.full(q - best, residual[best])])
        out[k] = not_below((vectors * spectrum) @ vectors.T, floor)
        parameters += cost[best]
    return out, parameters


def shaped(S, counts, n, floor, family, elsewhere=None):
    """Covariances of a family, and their number of parameters."""
    if family == "pooled":
        return pooled_covariances(S, counts, n, floor, elsewhere)
    if family == "lowrank":
        return lowrank_covariances(S, counts, n, floor)
    q = S.shape[1]
    return np.array([not_below(s, floor) for s in S]), len(S) * q * (q + 1) / 2


def maximized(Y, R, n, floor, family, elsewhere=None) -> Mixture:
    """The M step: a mixture from weights of rows."""
    counts, means, S = moments(Y, R)
    covariances, parameters = shaped(S, counts, n, floor, family, elsewhere)
    k, q = means.shape
    return Mixture(counts / counts.sum(), means, covariances, parameters + k * q + k - 1, S)


def expectation_maximization(
    Y, R, floor, family, weights=None, n=None, elsewhere=None, steps=50, tolerance=1e-4, fewest=0.0
) -> tuple[Mixture, float, Float[np.ndarray, "n k"]]:
    """EM from weights of rows; the mixture, its log likelihood and its posteriors.

    A component that falls below `fewest` rows is dropped. `tolerance` is in nats per row.
    """
    weights = np.ones(len(Y)) if weights is None else weights
    n = float(weights.sum()) if n is None else n
    before = -np.inf
    step = 0
    while True:
        R = R * weights[:, None]
        keep = R.sum(axis=0) >= fewest
        if not keep.all() and keep.any():
            R = R[:, keep]
            R = R / np.maximum(R.sum(axis=1, keepdims=True), 1e-300) * weights[:, None]
        mixture = maximized(Y, R, n, floor, family, elsewhere)
        joint = mixture.joint(Y)
        each = log_sum(joint)
        R = np.exp(joint - each[:, None])
        likelihood = float(weights @ each)
        step += 1
        if step >= steps or (step > 1 and likelihood - before < tolerance * weights.sum()):
            return mixture, likelihood, R
        before = likelihood


def bic(mixture: Mixture, likelihood: float, n: float) -> float:
    """Higher is better, in nats."""
    return likelihood - 0.5 * mixture.parameters * float(np.log(n))


def dimension_of(covariance: Float[np.ndarray, "D D"], floor: Float[np.ndarray, " D"], count: float) -> int:
    """Directions of a leaf that are clearly wider than its narrowest ones, if those are all alike.

    A blob has no such residual directions and the full dimension; a cluster no wider than the precision has none.
    """
    values, vectors = np.linalg.eigh(covariance)
    values, vectors = values[::-1], vectors[:, ::-1]
    least = (floor**2) @ vectors**2
    if np.all(values <= 1.01 * least):
        return 0
    values = np.maximum(values, least)
    D = len(values)
    for d in range(1, D):
        rest = values[d:]
        ratio = min(np.sqrt(len(rest) / max(count, 1.0)), 0.9)
        chance = ((1 + ratio) / (1 - ratio)) ** 2
        if values[d - 1] >= GAP * chance * rest.max() and rest.max() <= FLAT * chance * rest.min():
            return d
    return D
