"""What is used instead: principal components and a flat autoencoder with as many dimensions as the codes have."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from jaxtyping import Float, Int, Num, Shaped

from disentree.geometry.pca import EXACT_COLUMNS, principal_axes
from disentree.hierarchy import Hierarchy

PCA_ROWS = 10_000  # rows that the components are computed from, at most
BELOW = 0.02  # R2 that a model may be below principal components without a warning: the doubt of a small test
AUTOENCODER_ROWS = 20_000  # up to which a flat autoencoder is trained for comparison: seconds
AUTOENCODER_STEPS = 500  # at most


def mean_dimension(codes: Float[np.ndarray, "n v"], hierarchy: Hierarchy) -> float:
    """Continuous variables that are active, on average over rows."""
    return float((~np.isnan(codes[:, ~hierarchy.is_categorical])).sum(axis=1).mean())


def pca_r2(
    train: Num[np.ndarray, "n ..."], test: Num[np.ndarray, "m ..."], dimension: float, seed: int = 0
) -> float:
    """Part of the variance of held-out rows that principal components of the training rows explain; between two
    whole numbers of components, it is between theirs. Components of wide rows are approximated."""
    rng = np.random.default_rng(seed)
    rows = train.reshape(len(train), -1).astype(np.float64)
    held = test.reshape(len(test), -1).astype(np.float64)
    mean = rows.mean(axis=0)
    spread = float(np.square(held - held.mean(axis=0)).sum())
    if not spread:
        return 0.0
    whole, most = int(np.floor(dimension)), int(np.ceil(dimension))
    solver: Any = "qr" if rows.shape[1] <= EXACT_COLUMNS else "randomized"
    found = principal_axes(rows - mean, max(1, most), solver=solver, random_state=rng)
    scores = (held - mean) @ found.axes
    missed = np.square(held - mean).sum() - np.concatenate([[0], np.cumsum(np.square(scores).sum(axis=0))])
    explained = 1 - missed / spread
    low, high = (float(explained[min(k, len(explained) - 1)]) for k in (whole, most))
    return low + (dimension - whole) * (high - low)


def autoencoder_r2(
    train: Shaped[np.ndarray, "n p"],
    test: Shaped[np.ndarray, "m p"],
    dimension: float,
    steps: int,
    seed: int,
    device: str,
) -> float:
    """The same for an autoencoder with a flat code."""
    from disentree.baselines import AE

    model = AE(n_continuous=max(1, round(dimension)), steps=steps, random_state=seed, device=device)
    again = model.fit(train).inverse_transform(model.transform(test))
    return float(1 - np.square(test - again).sum() / np.square(test - test.mean(axis=0)).sum())


def compare(
    model: Any,
    X: Shaped[np.ndarray, "n ..."],
    train: Int[np.ndarray, " t"],
    test: Int[np.ndarray, " m"],
    codes: Float[np.ndarray, "m v"],
    seed: int,
    device: str = "auto",
) -> dict[str, float]:
    """Scores of the rivals of a model whose `codes` are of the rows `test` of X, for ``metrics.json``.

    A flat autoencoder without hidden layers is principal components, so it is trained only beside networks, for as
    long as they were, and not for images and many rows, where it would take minutes.
    """
    hierarchy: Hierarchy = model.hierarchy_
    dimension = mean_dimension(codes, hierarchy)
    few = train
    if len(train) > PCA_ROWS:
        few = np.sort(np.random.default_rng(seed).choice(train, PCA_ROWS, replace=False))
    out = {"mean_dimension": dimension, "pca_r2": pca_r2(X[few], X[test], dimension, seed)}
    is_flat = hasattr(model, "n_continuous")  # a baseline
    is_small = X.ndim == 2 and len(train) <= AUTOENCODER_ROWS
    is_network = getattr(model, "maps_", None) == "network"
    if is_network and not is_flat and is_small and dimension >= 0.5:
        steps = min(AUTOENCODER_STEPS, len(model.history_) * math.ceil(len(train) / model.pace.batch))
        out["autoencoder_r2"] = autoencoder_r2(X[train], X[test], dimension, steps, seed, device)
    return out


def warning(scores: dict[str, Any]) -> str | None:
    """A sentence if the model explains less than principal components do."""
    own, other = scores["reconstruction_r2"], scores.get("pca_r2")
    if other is None or own is None or own >= other - BELOW:
        return None
    return (
        f"warning: the codes explain less of the held-out rows (R² {own:.3f}) than principal components with as "
        f"many dimensions ({scores['mean_dimension']:.3g} on average) do (R² {other:.3f})"
    )
