"""What people use instead of MIMOSA to find groups in a table: clusterings that give labels and nothing else.

Columns are standardized first, as their documentation advises, unless they share a unit. Methods that need the
number of clusters are told the true one, which no user has; the others have their defaults.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from jaxtyping import Float, Int

# Methods whose time or memory grows with the square of the rows are not run on more; OPTICS, the slowest, on half
# of it, and mixtures of full covariances, fitted for each number of components, on twice as many.
QUADRATIC_ROWS = 5_000
MOST_COMPONENTS = 20  # of a Gaussian mixture, tried until BIC has risen for three in a row

Labels = Int[np.ndarray, " n"]
Rows = Float[np.ndarray, "n p"]


@dataclass(frozen=True)
class Rival:
    """A method, and how it is run with the true number of clusters and a seed."""

    title: str
    run: Callable[[Rows, int, int], Labels]
    most_rows: int | None = None
    told: bool = False  # the number of clusters


def cluster(name: str, X: Rows, true_k: int, seed: int) -> Labels | None:
    """Labels of a rival by its name; None where there are too many rows for it."""
    rival = RIVALS[name]
    if rival.most_rows is not None and len(X) > rival.most_rows:
        return None
    scale = X.std(axis=0)
    return run_rival(name, (X - X.mean(axis=0)) / np.where(scale > 0, scale, 1.0), true_k, seed)


def run_rival(name: str, X: Rows, true_k: int, seed: int) -> Labels:
    """Labels of a rival by its name, for rows as they are."""
    return np.asarray({**RIVALS, **OPTIONAL}[name].run(X, true_k, seed), dtype=np.int64)


def _sklearn(name: str, X: Rows, **parameters: Any) -> Labels:
    from sklearn import cluster as methods

    return getattr(methods, name)(**parameters).fit_predict(X)


def _fewest(X: Rows) -> int:
    """Rows of a cluster."""
    return max(5, len(X) // 100)


def _gaussian_mixture(X: Rows, true_k: int, seed: int) -> Labels:
    """The number of full covariances by BIC."""
    from sklearn.mixture import GaussianMixture

    best, since, labels = np.inf, 0, np.zeros(len(X), dtype=np.int64)
    for k in range(1, MOST_COMPONENTS + 1):
        mixture = GaussianMixture(k, reg_covar=1e-6, random_state=seed).fit(X)
        score = mixture.bic(X)
        if score < best:
            best, since, labels = score, 0, mixture.predict(X)
        else:
            since += 1
            if since == 3:
                break
    return labels


RIVALS = {
    "k-means": Rival(
        "k-means, told the number",
        lambda X, k, seed: _sklearn("KMeans", X, n_clusters=k, n_init=10, random_state=seed),
        told=True,
    ),
    "ward": Rival(
        "Ward, told the number",
        lambda X, k, seed: _sklearn("AgglomerativeClustering", X, n_clusters=k),
        QUADRATIC_ROWS,
        told=True,
    ),
    "gmm": Rival("Gaussian mixture, BIC", _gaussian_mixture, 2 * QUADRATIC_ROWS),
    "hdbscan": Rival(
        "HDBSCAN",
        lambda X, k, seed: _sklearn("HDBSCAN", X, min_cluster_size=_fewest(X), copy=True),
        QUADRATIC_ROWS,
    ),
    "optics": Rival(
        "OPTICS", lambda X, k, seed: _sklearn("OPTICS", X, min_samples=_fewest(X)), QUADRATIC_ROWS // 2
    ),
}
# Of packages that are used where they are installed: under licenses that a dependency must not have.
OPTIONAL = {
    "genie": Rival(
        "Genie, told the number",
        lambda X, k, seed: import_module("genieclust").Genie(n_clusters=k).fit_predict(X),
        told=True,
    ),
}
