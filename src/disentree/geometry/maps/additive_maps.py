"""Encoder and decoder of an additive map (`additive.py`) for trees with very many paths.

A row is x = b + sum of the effects of its options + sum over its groups of z_g V_g. With a map for every path, the
number of maps would be a product over categoricals beside each other; here it is a sum. The encoder is a sum too:
variables are read from a row without its options' effects, options are told apart one categorical at a time.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from disentree.geometry.maps.additive import AdditiveMap, Items, spread_of
from disentree.hierarchy import Hierarchy

RIDGE = 1.0  # rows of prior weight on an option's effect being none
SHARPNESS = 1000.0  # inverse strength of the penalty on the weights that tell options apart
OWN = 0.05  # of its variance that a direction may have where a group is not active, to be the group's own
ENOUGH = 4  # rows for every feature where a group is not active: fewer have directions without variance by chance
SLIGHT = 1e-3  # of the mean variance of features, below which a direction does not vary
TOLD = 1e-3  # of its variance that options leave of a feature, if they tell it (whether there is a garage)
CLASSIFIED = 10_000  # rows that options are told apart on


@dataclass(frozen=True)
class AdditiveMaps(AdditiveMap):
    """Encoder and decoder of a tree: the map and what inverts it."""

    hierarchy: Hierarchy
    items: Items
    forward: Float[np.ndarray, "f continuous"]  # variables from a row without its base and its options' effects
    weights: Float[np.ndarray, "f options"]  # with `bias`, logits of the options from a row
    bias: Float[np.ndarray, " options"]
    mean: Float[np.ndarray, " continuous"] | float = 0.0  # subtracted from variables in codes
    scale: Float[np.ndarray, " continuous"] | float = 1.0  # that they are then divided by

    def encode(self, X: Float[np.ndarray, "n f"], paths: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n v"]:
        """Codes of rows on given paths."""
        z = (self._variables(X, paths) - self.mean) / self.scale
        return self.items.codes(self.hierarchy, paths, z)

    def standardized(self, X: Float[np.ndarray, "n f"], paths: Int[np.ndarray, " n"]) -> AdditiveMaps:
        """The same with codes of mean 0 and deviation 1 in some rows."""
        mean, scale = spread_of(self._variables(X, paths), self.items, paths)
        return replace(self, mean=mean, scale=scale)

    def _variables(
        self, X: Float[np.ndarray, "n f"], paths: Int[np.ndarray, " n"]
    ) -> Float[np.ndarray, "n continuous"]:
        """NaN where not active."""
        effects = (self.items.options @ (self.effects @ self.forward))[paths]
        z = (X - self.base) @ self.forward - effects
        return np.where(self.items.continuous[paths], z, np.nan)


def fit_additive_maps(
    X: Float[np.ndarray, "n f"], hierarchy: Hierarchy, paths: Int[np.ndarray, " n"], rng: np.random.Generator
) -> AdditiveMaps:
    """Least squares for base and effects, then leading directions of what is left, from the root down: of a branch
    those that vary only there, of a group not the features of those below it. Every row has a path."""
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
    groups = items.groups()
    told = np.flatnonzero(left.var(axis=0) <= TOLD * X.var(axis=0))
    private = [_own_features(left[on[:, group[0]]], left[~on[:, group[0]]]) for group in groups]
    for own in groups:
        rows = on[:, own[0]]
        below = [g for g, other in enumerate(groups) if _is_below(on[:, other[0]], rows)]
        # Active wherever this group is: the variables of the groups above it.
        above = [i for i in done if (items.continuous[:, i] >= items.continuous[:, own[0]]).all()]
        explained = forward[:, above] @ directions[above]
        E = left[rows] - left[rows] @ explained
        simplest = on[rows][:, [groups[g][0] for g in below]].sum(axis=1) == 0
        last = np.unique(np.concatenate([told, *(private[g] for g in below)]))
        V = _components(E, left[~rows], simplest, last, len(own))
        spread = np.sqrt(np.maximum(np.mean((E @ V) ** 2, axis=0), 1e-300)) if len(E) else np.ones(len(own))
        forward[:, own] = (np.eye(len(V)) - explained) @ V / spread
        directions[own] = (V * spread).T
        done += own.tolist()
    weights, bias = _logits(X, A, hierarchy, rng)
    return AdditiveMaps(base, effects, directions, hierarchy, items, forward, weights, bias)


def _is_below(rows: Bool[np.ndarray, " n"], others: Bool[np.ndarray, " n"]) -> bool:
    """Whether a group is active only where another is, and not everywhere there."""
    return bool((rows <= others).all() and (rows < others).any())


def _components(
    E: Float[np.ndarray, "n f"],
    outside: Float[np.ndarray, "m f"],
    simplest: Bool[np.ndarray, " n"],
    last: Int[np.ndarray, " k"],
    d: int,
) -> Float[np.ndarray, "f d"]:
    """What tells the variables of a group: leading directions of its rows, first among those that have variance
    only there, then among all but some features that come `last`: those of groups below it, and those that options
    tell. Of the group's rows, those without groups below it are asked, if they are enough."""
    out = np.zeros((E.shape[1], d))
    if len(E) < 2:
        return out
    E = E[simplest] if simplest.sum() >= max(2, ENOUGH * E.shape[1]) else E
    others = np.delete(np.eye(E.shape[1]), last, axis=1)
    own = others @ _own_directions(E @ others, outside @ others) if len(outside) else others[:, :0]
    found = _leading(E, own, d)
    for among in (others, np.eye(E.shape[1])):
        left = among - found @ (found.T @ among)
        found = np.concatenate([found, _leading(E, left, d - found.shape[1])], axis=1)
    out[:, : found.shape[1]] = found
    signs = np.sign(out[np.abs(out).argmax(axis=0), np.arange(d)])
    return out * np.where(signs == 0, 1.0, signs)


def _own_features(inside: Float[np.ndarray, "n f"], outside: Float[np.ndarray, "m f"]) -> Int[np.ndarray, " k"]:
    """Features that vary in some rows and hardly in the others; none if there are no others."""
    if len(inside) < 2 or not len(outside):
        return np.zeros(0, dtype=np.int64)
    variance = inside.var(axis=0)
    return np.flatnonzero((outside.var(axis=0) <= OWN * np.maximum(variance, 1e-300)) & (variance > 0))


def _own_directions(E: Float[np.ndarray, "n f"], outside: Float[np.ndarray, "m f"]) -> Float[np.ndarray, "f k"]:
    """Directions that vary in some rows and hardly in others: features, or, if there are none and rows are enough
    to tell, sums of features with weights (what is paid less than was due)."""
    features = _own_features(E, outside)
    if len(features) or not 0 < ENOUGH * E.shape[1] <= len(outside):
        return np.eye(E.shape[1])[:, features]
    inner, outer = (np.atleast_2d(np.cov(part.T, ddof=0)) for part in (E, outside))
    values, vectors = np.linalg.eigh(inner + outer)
    seen = values > SLIGHT * np.trace(inner) / len(inner)
    white = vectors[:, seen] / np.sqrt(values[seen])
    share, turned = np.linalg.eigh(white.T @ inner @ white)  # of the variance in both that is inside
    found = (white @ turned)[:, share >= 1 / (1 + OWN)]
    return found / np.linalg.norm(found, axis=0)


def _leading(E: Float[np.ndarray, "n f"], among: Float[np.ndarray, "f k"], d: int) -> Float[np.ndarray, "f d2"]:
    """Orthonormal directions of most variance within the span of some."""
    if d <= 0 or not among.size:
        return np.zeros((E.shape[1], 0))
    U, s, _ = np.linalg.svd(among, full_matrices=False)
    U = U[:, s > 1e-6]  # what is left of unit vectors that are spanned already is rounding
    _, vectors = np.linalg.eigh((E @ U).T @ (E @ U))
    return (U @ vectors[:, ::-1])[:, :d]


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
