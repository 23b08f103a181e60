"""Algorithm 3, LocalSVD: local dimension and tangent plane of every point."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from disentree.geometry.subspaces import Tangents


def local_svd(
    Z: Float[np.ndarray, "n D"],
    neighbors: Int[np.ndarray, "n k"],
    ransac_frac: float = 2 / 3,
    eig_cumsum_thresh: float = 0.95,
    eig_decay_thresh: float = 4.0,
    ransac_first_dimension: int = 0,
    block: int = 8192,
) -> Tangents:
    """Algorithm 3 for every point, in blocks of rows; `neighbors` are without the point itself.

    An SVD of the point and its neighbors around their mean, a second one of the fraction `ransac_frac` of them
    with the smallest reconstruction errors, and the first dimension d that explains `eig_cumsum_thresh` of the
    variance and after which the variance drops by `eig_decay_thresh`.

    The second SVD takes `ransac_frac` times k + 1 points, rounded: the paper's percentile of 40 errors is one of
    them, and whether that point counts is up to rounding. Errors are aggregated over d from
    `ransac_first_dimension` to D - 1. The paper writes 1; the published results were computed with 0, where the
    distance from the mean counts too.
    """
    n, n_dims = Z.shape
    n_kept = max(round(ransac_frac * (neighbors.shape[1] + 1)), 1)
    dimensions = np.empty(n, dtype=np.int64)
    bases = np.empty((n, n_dims, n_dims))
    for start in range(0, n, block):
        rows = slice(start, min(start + block, n))
        points = np.concatenate([Z[rows, None], Z[neighbors[rows]]], axis=1)
        variances, axes = _principal_axes(points)
        if ransac_frac < 1:
            errors = _reconstruction_errors(points, axes, ransac_first_dimension)
            kept = np.argsort(errors, axis=1, kind="stable")[:, :n_kept]
            variances, axes = _principal_axes(np.take_along_axis(points, kept[:, :, None], axis=1))
        share = np.cumsum(variances, axis=1) / np.maximum(variances.sum(axis=1, keepdims=True), 1e-300)
        decays = variances[:, 1:] * eig_decay_thresh <= variances[:, :-1]
        good = (share[:, :-1] >= eig_cumsum_thresh) & decays
        dimensions[rows] = np.where(good.any(axis=1), np.argmax(good, axis=1) + 1, n_dims)
        bases[rows] = axes
    return Tangents(dimensions, bases)


def _reconstruction_errors(
    points: Float[np.ndarray, "m k D"], axes: Float[np.ndarray, "m D D"], first_dimension: int
) -> Float[np.ndarray, "m k"]:
    """The norm, over dimensions d, of the error of each point when only the first d axes are used."""
    n_dims = points.shape[2]
    squares = ((points - points.mean(axis=1, keepdims=True)) @ np.swapaxes(axes, 1, 2)) ** 2
    total = squares.sum(axis=2, keepdims=True)
    errors = np.concatenate([total, total - np.cumsum(squares, axis=2)], axis=2)
    return np.sqrt(np.clip(errors[:, :, first_dimension:n_dims], 0, None).sum(axis=2))


def _principal_axes(
    points: Float[np.ndarray, "m k D"],
) -> tuple[Float[np.ndarray, "m D"], Float[np.ndarray, "m D D"]]:
    """Variances (descending) and principal axes (as rows) of each cloud of points."""
    centered = points - points.mean(axis=1, keepdims=True)
    variances, vectors = np.linalg.eigh(np.swapaxes(centered, 1, 2) @ centered / points.shape[1])
    return np.clip(variances[:, ::-1], 0, None), np.swapaxes(vectors, 1, 2)[:, ::-1]
