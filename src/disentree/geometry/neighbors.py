"""Nearest neighbors, the dimension that they show, and samples of rows."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial import KDTree


def nearest_neighbors(
    Z: Float[np.ndarray, "n d"], k: int, n_jobs: int = -1
) -> tuple[Float[np.ndarray, "n k"], Int[np.ndarray, "n k"]]:
    """Distances and indices of the k nearest other points of every point, nearest first."""
    distances, indices = map(np.asarray, KDTree(Z).query(Z, k + 1, workers=n_jobs))
    # The point itself comes first, except among duplicates, where any of them may.
    itself = indices == np.arange(len(Z))[:, None]
    itself[~itself.any(axis=1), -1] = True
    keep = ~itself
    return distances[keep].reshape(-1, k), indices[keep].reshape(-1, k)


def intrinsic_dimension(Z: Float[np.ndarray, "n d"]) -> float:
    """How many dimensions points fill, by the ratios of the distances to their two nearest neighbors (Facco,
    d'Errico, Rodriguez and Laio 2017): in d dimensions the log of the ratio has the mean 1 / d. Points at the same
    place count as one; infinite if fewer than three are left.
    """
    places = np.unique(Z, axis=0)
    if len(places) < 3 or not Z.shape[1]:
        return float("inf")
    distances = np.asarray(KDTree(places).query(places, 3)[0])[:, 1:]
    mean = float(np.log(distances[:, 1] / distances[:, 0]).mean())
    return 1 / mean if mean > 0 else float("inf")


def thinned(rows: Int[np.ndarray, " m"], n: int = 1000) -> Int[np.ndarray, " s"]:
    """At most `n` rows, evenly spread."""
    return rows[np.linspace(0, len(rows) - 1, min(len(rows), n)).astype(int)]
