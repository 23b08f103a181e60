"""Principal components of sparse rows, which are never made dense: the mean is subtracted in every product."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import sparse

from disentree.geometry.pca import OVERSAMPLES, POWER_ITERATIONS
from disentree.mimosa.constants import FIT
from disentree.mimosa.coordinates.choosing import Coordinates, in_same_unit
from disentree.mimosa.coordinates.columns import Columns
from disentree.mimosa.coordinates.constants import COORDINATES
from disentree.mimosa.coordinates.counts import chosen_stabilizer
from disentree.mimosa.coordinates.representation import Representation


def sparse_coordinates(X: Any, weights: Float[np.ndarray, " p"] | None, rng: np.random.Generator) -> Coordinates:
    """Principal components of a sparse matrix: those along which rows differ more than rows with the same columns
    shuffled do (parallel analysis), and a few directions at random, beside whose noise groups show. Counts are
    stabilized first if that describes them in fewer bits. Columns are in their own units if these may be the same,
    else standardized."""
    stabilizer = chosen_stabilizer(X, rng)
    X = sparse.csr_matrix(stabilizer(X), dtype=np.float64)
    n, p = X.shape
    mean = np.asarray(X.mean(axis=0)).ravel()
    squares = np.asarray(X.multiply(X).mean(axis=0)).ravel()
    deviation = np.sqrt(np.maximum(squares - mean**2, 0.0))
    varies = deviation > COORDINATES.rounding * max(float(np.abs(mean).max(initial=0.0)), float(deviation.max()))
    varies &= True if weights is None else weights > 0
    spread = (X.max(axis=0) - X.min(axis=0)).toarray().ravel()
    scale = np.zeros(p)
    if varies.any():
        scale[varies] = 1.0 if in_same_unit(spread[varies]) else 1.0 / deviation[varies]
    if weights is not None:
        scale *= weights
    X = sparse.csr_matrix(X @ sparse.diags_array(scale))
    most = min(COORDINATES.most, n, p)
    s, axes = leading_axes(X, mean * scale, most, rng)
    edge = leading_axes(shuffled(X, rng), mean * scale, 1, rng)[0][0]
    # one that is a single column tells nothing of how columns vary together
    told = (s > edge) & ((axes**2).max(axis=0) < FIT.half)
    axes = np.concatenate([axes[:, told], mixed(axes[:, ~told], rng)], axis=1)[:, : most if varies.any() else 0]
    s = _norms(X, mean * scale, axes)
    representation = Representation("linear", mean, axes * scale[:, None], s, stabilizer=stabilizer)
    spacing = COORDINATES.float_steps * np.spacing(np.maximum(s, np.finfo(float).tiny))
    return Coordinates(representation, spacing, _columns(mean, axes, scale, spacing))


def _columns(
    mean: Float[np.ndarray, " p"],
    axes: Float[np.ndarray, "p k"],
    scale: Float[np.ndarray, " p"],
    spacing: Float[np.ndarray, " k"],
) -> Columns:
    """As many columns as there are coordinates, from which all others follow, as far as coordinates hold them."""
    units = np.where(scale > 0, scale, 1.0)
    chosen = Columns(mean, (axes / units[:, None]).T, np.full(len(mean), spacing.max(initial=0.0)))
    return chosen.independent()


def mixed(axes: Float[np.ndarray, "p k"], rng: np.random.Generator) -> Float[np.ndarray, "p q"]:
    """A few directions at random in the space of some axes. Where rows are many, principal components of noise are
    single columns, and counts of one column are in groups by themselves: none, one, two."""
    among = axes[:, : 3 * COORDINATES.noise_directions]
    size = among.shape[1], min(COORDINATES.noise_directions, among.shape[1])
    mixing = rng.choice([-1.0, 1.0], size)  # each takes part
    return among @ np.linalg.qr(mixing)[0]


def _norms(X: Any, mean: Float[np.ndarray, " p"], axes: Float[np.ndarray, "p q"]) -> Float[np.ndarray, " q"]:
    """The lengths of the columns of sparse rows minus a mean, along axes."""
    return np.linalg.norm(X @ axes - mean @ axes, axis=0)


def leading_axes(
    X: Any, mean: Float[np.ndarray, " p"], most: int, rng: np.random.Generator
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, "p k"]]:
    """The largest singular values of sparse rows minus a mean, and their axes (randomized)."""
    n, p = X.shape
    width = min(most + OVERSAMPLES, n, p)

    def along(V: Float[np.ndarray, "p k"]) -> Float[np.ndarray, "n k"]:
        return X @ V - mean @ V

    def back(U: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "p k"]:
        return X.T @ U - np.outer(mean, U.sum(axis=0))

    V = rng.standard_normal((p, width))
    for _ in range(POWER_ITERATIONS):
        V = np.linalg.qr(back(np.linalg.qr(along(V))[0]))[0]
    U = np.linalg.qr(along(V))[0]
    left, s, _ = np.linalg.svd(back(U), full_matrices=False)
    left = left * np.where(left[np.abs(left).argmax(axis=0), np.arange(len(s))] < 0, -1.0, 1.0)
    return s[:most], left[:, :most]


def shuffled(X: Any, rng: np.random.Generator) -> Any:
    """The same columns, each with its values in other rows, at random."""
    columns = sparse.csc_matrix(X)
    rows = np.empty_like(columns.indices)
    for a, b in pairwise(columns.indptr):
        rows[a:b] = rng.choice(X.shape[0], b - a, replace=False)
    return sparse.csr_matrix(sparse.csc_matrix((columns.data, rows, columns.indptr), shape=X.shape))
