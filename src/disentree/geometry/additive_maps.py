"""Encoder and decoder of an additive map (`additive.py`) for trees with very many paths.

A row is x = b + sum of the effects of its options + sum over its groups of z_g V_g. With a map for every path, the
number of maps would be a product over categoricals beside each other; here it is a sum. The encoder is a sum too:
variables are read from a row without its options' effects, options are told apart one categorical at a time.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from disentree.geometry.additive import AdditiveMap, Items
from disentree.hierarchy import Hierarchy

MANY_NUMBERS = 1e6  # in the Gaussians of all paths, from which there are none: an array of eight megabytes
RIDGE = 1.0  # rows of prior weight on an option's effect being none
SHARPNESS = 1000.0  # inverse strength of the penalty on the weights that tell options apart
OWN = 0.05  # of its variance that a feature may have where a group is not active, to be the group's own
CLASSIFIED = 10_000  # rows that options are told apart on


def has_too_many_paths(hierarchy: Hierarchy, n_features: int) -> bool:
    """Whether a map and a Gaussian for each path would be too many."""
    return hierarchy.root.n_paths * n_features**2 > MANY_NUMBERS


@dataclass(frozen=True)
class AdditiveMaps(AdditiveMap):
    """Encoder and decoder of a tree: the map and what inverts it.

    Attributes
    ----------
    forward : array of shape (f, continuous)
        Variables from a row without its base and its options' effects.
    weights : array of shape (f, options)
    bias : array of shape (options,)
        Logits of the options from a row.
    """

    forward: Float[np.ndarray, "f continuous"]
    weights: Float[np.ndarray, "f options"]
    bias: Float[np.ndarray, " options"]

    def variables(
        self, X: Float[np.ndarray, "n f"], paths: Int[np.ndarray, " n"], items: Items
    ) -> Float[np.ndarray, "n continuous"]:
        """The variables of rows on given paths, NaN where not active."""
        z = (X - self.base) @ self.forward - (items.options @ (self.effects @ self.forward))[paths]
        return np.where(items.continuous[paths], z, np.nan)


def fit_additive_maps(
    X: Float[np.ndarray, "n f"],
    hierarchy: Hierarchy,
    paths: Int[np.ndarray, " n"],
    rng: np.random.Generator,
) -> AdditiveMaps:
    """Least squares for base and effects, then principal components of what is left, from the root down.

    Parameters
    ----------
    X : array of shape (n, f)
    hierarchy : Hierarchy
    paths : array of shape (n,)
        Path of each row, none of them -1.
    rng : Generator
    """
    items = Items.of(hierarchy)
    A, on = items.options[paths], items.continuous[paths]
    base = X.mean(axis=0)
    center = A.mean(axis=0)
    C = A - center
    effects = np.linalg.solve(C.T @ C + RIDGE * np.eye(A.shape[1]), C.T @ (X - base))
    base = base - center @ effects
    left = X - base - A @ effects

    directions = np.zeros((on.shape[1], X.shape[1]))
    forward = np.zeros((X.shape[1], on.shape[1]))
    done: list[int] = []
    for own in items.groups():
        rows = on[:, own[0]]
        # Active wherever this group is: the variables of the groups above it.
        above = [i for i in done if (items.continuous[:, i] >= items.continuous[:, own[0]]).all()]
        explained = forward[:, above] @ directions[above]
        V = _components(left, rows, len(own), explained)
        spread = (
            np.sqrt(np.maximum(np.mean((left[rows] @ V) ** 2, axis=0), 1e-300))
            if rows.any()
            else np.ones(len(own))
        )
        directions[own] = (V * spread).T
        forward[:, own] = (np.eye(len(V)) - explained) @ V / spread
        done += own.tolist()
    weights, bias = _logits(X, A, hierarchy, rng)
    return AdditiveMaps(base, effects, directions, forward, weights, bias)


def _components(
    left: Float[np.ndarray, "n f"], rows: Bool[np.ndarray, " n"], d: int, explained: Float[np.ndarray, "f f"]
) -> Float[np.ndarray, "f d"]:
    """Leading directions of what is left of some rows, among the features that only these rows have, if any."""
    out = np.zeros((left.shape[1], d))
    if rows.sum() < 2:
        return out
    E = left[rows] - left[rows] @ explained
    own = np.arange(left.shape[1])
    if not rows.all():
        outside = left[~rows].var(axis=0)
        private = np.flatnonzero((outside <= OWN * np.maximum(E.var(axis=0), 1e-300)) & (E.var(axis=0) > 0))
        own = private if len(private) else own
    _, vectors = np.linalg.eigh(E[:, own].T @ E[:, own])
    k = min(d, len(own))
    out[own, :k] = vectors[:, ::-1][:, :k]
    signs = np.sign(out[np.abs(out).argmax(axis=0), np.arange(d)])
    return out * np.where(signs == 0, 1.0, signs)


def _logits(
    X, A, hierarchy: Hierarchy, rng
) -> tuple[Float[np.ndarray, "f options"], Float[np.ndarray, " options"]]:
    """Weights that tell the options of each categorical apart, among the rows in which it is active."""
    weights, bias, start = np.zeros((X.shape[1], A.shape[1])), np.zeros(A.shape[1]), 0
    for variable in hierarchy.variables:
        if variable.kind != "categorical":
            continue
        k = variable.n_options
        rows = np.flatnonzero(A[:, start : start + k].any(axis=1))
        if len(rows) > CLASSIFIED:
            rows = np.sort(rng.choice(rows, CLASSIFIED, replace=False))
        y = A[rows][:, start : start + k].argmax(axis=1)
        found = np.unique(y)
        bias[start : start + k] = -1e3  # options that no row has
        if len(found) == 1:
            bias[start + found] = 0.0
        elif len(found) > 1:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model = LogisticRegression(C=SHARPNESS, max_iter=500).fit(X[rows], y)
            w, b = (model.coef_, model.intercept_)
            if len(found) == 2:
                w, b = np.concatenate([np.zeros_like(w), w]), np.concatenate([[0.0], b])
            weights[:, start + found], bias[start + found] = w.T, b
        start += k
    return weights, bias
