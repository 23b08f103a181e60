"""Guides for a curved leaf from a leaf that it encloses and that has one variable less.

Where the last variable ends, rows of the larger leaf are rows of the smaller one. So a row is described by the
rows of the smaller leaf that are nearest to it, which have its other variables, and by how far it is off them. On
images of ships with a jet that distance tells its length (R2 of .98) where the layout of the leaf does not (.02 to
.7, by the luck of the landmarks).
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from sklearn.neighbors import KNeighborsRegressor, NearestNeighbors

from disentree.cofhae import constants


def shared_and_offset(
    Y: Float[np.ndarray, "m r"],
    enclosed: Float[np.ndarray, "a r"],
    factors: Float[np.ndarray, "a k"],
    rng: np.random.Generator,
) -> tuple[Float[np.ndarray, "m k"], Float[np.ndarray, " m"]] | None:
    """What rows of a leaf of k + 1 dimensions share with an enclosed leaf of k, and how far they are off it.

    The first are the mean factors of the nearest enclosed rows. The second is the distance from a plane through
    them, as a standardized rank among the rows that agree in the first: so it does not depend on them. None if
    there are too few rows.
    """
    k = factors.shape[1]
    patch, window = constants.PATCH * (k + 1), min(constants.WINDOW, len(Y) // 10)
    if len(enclosed) < patch or window < patch:
        return None
    if len(enclosed) > constants.ENCLOSED_ROWS:
        some = rng.choice(len(enclosed), constants.ENCLOSED_ROWS, replace=False)
        enclosed, factors = enclosed[some], factors[some]
    nearest = NearestNeighbors(n_neighbors=patch, algorithm="brute").fit(enclosed)
    index = nearest.kneighbors(Y, return_distance=False)
    parts = [slice(first, first + constants.PATCHES) for first in range(0, len(Y), constants.PATCHES)]
    off = np.concatenate([_off_planes(Y[part], enclosed[index[part]], k) for part in parts])
    shared = factors[index[:, : constants.NEIGHBORS]].mean(axis=1)
    if not (shared.std(axis=0) > 0).all():
        return None
    scaled = shared / shared.std(axis=0)
    alike = NearestNeighbors(n_neighbors=window).fit(scaled).kneighbors(scaled, return_distance=False)
    rank = (off[alike] < off[:, None]).mean(axis=1)
    return (shared, (rank - rank.mean()) / rank.std()) if rank.std() > 0 else None


def _off_planes(
    Y: Float[np.ndarray, "b r"], patches: Float[np.ndarray, "b p r"], k: int
) -> Float[np.ndarray, " b"]:
    """How far each row is off the k-dimensional plane through a patch of its own."""
    centers = patches.mean(axis=1)
    across, offsets = patches - centers[:, None], Y - centers
    values, vectors = np.linalg.eigh(across @ across.transpose(0, 2, 1))
    values, vectors = values[:, -k:], vectors[:, :, -k:]
    products = np.einsum("bpk,bpr,br->bk", vectors, across, offsets, optimize=True)
    along = (np.square(products) / np.maximum(values, 1e-300)).sum(axis=1)
    return np.sqrt(np.maximum(np.square(offsets).sum(axis=1) - along, 0))


def not_told_by(factors: Float[np.ndarray, "m k"], rows: Float[np.ndarray, "m r"]) -> float:
    """The share of the variance of rows that their factors do not tell: in the second half, by the rows of the
    first half that are nearest in factors. Rows are to be in random order."""
    factors = factors / np.maximum(factors.std(axis=0), 1e-300)
    half = len(rows) // 2
    regressor = KNeighborsRegressor(constants.INTERPOLATED_FROM).fit(factors[:half], rows[:half])
    error = np.square(rows[half:] - regressor.predict(factors[half:])).mean(axis=0).sum()
    return float(error / max(float(rows[half:].var(axis=0).sum()), 1e-300))
