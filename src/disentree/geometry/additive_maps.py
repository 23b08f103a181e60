"""Linear maps for trees with very many paths: what options and variables do is added up.

A row is x = b + sum of the effects of its options + sum over its groups of z_g V_g. With a map for every path, the
number of maps would be a product over categoricals beside each other; here it is a sum.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from disentree.hierarchy import Hierarchy

RIDGE = 1.0  # rows of prior weight on an option's effect being none
SHARPNESS = 1000.0  # inverse strength of the penalty on the weights that tell options apart
OWN = 0.05  # of its variance that a feature may have where a group is not active, to be the group's own
CLASSIFIED = 10_000  # rows that options are told apart on


@dataclass(frozen=True)
class AdditiveMaps:
    """Encoder and decoder of a tree.

    Attributes
    ----------
    base : array of shape (f,)
    effects : array of shape (options, f)
    directions : array of shape (continuous, f)
        z times these is added.
    forward : array of shape (f, continuous)
        Variables from a row without its base and its options' effects.
    weights : array of shape (f, options)
    bias : array of shape (options,)
        Logits of the options from a row.
    """

    base: Float[np.ndarray, " f"]
    effects: Float[np.ndarray, "options f"]
    directions: Float[np.ndarray, "continuous f"]
    forward: Float[np.ndarray, "f continuous"]
    weights: Float[np.ndarray, "f options"]
    bias: Float[np.ndarray, " options"]


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
    variables = hierarchy.variables
    continuous = [v for v in variables if v.kind == "continuous"]
    options = [(v.index, k) for v in variables if v.kind == "categorical" for k in range(v.n_options)]
    chosen = np.zeros((len(hierarchy.paths), len(options)))
    active = np.zeros((len(hierarchy.paths), len(variables)), bool)
    for path in hierarchy.paths:
        active[path.index, list(path.active)] = True
        for choice in path.choices:
            chosen[path.index, options.index(choice)] = 1.0
    A, on = chosen[paths], active[paths]
    base = X.mean(axis=0)
    center = A.mean(axis=0)
    C = A - center
    effects = np.linalg.solve(C.T @ C + RIDGE * np.eye(len(options)), C.T @ (X - base))
    base = base - center @ effects
    left = X - base - A @ effects

    directions = np.zeros((len(continuous), X.shape[1]))
    forward = np.zeros((X.shape[1], len(continuous)))
    chain: dict[tuple[int | None, int | None], list[int]] = {}
    place = {v.index: i for i, v in enumerate(continuous)}
    for key in dict.fromkeys((v.parent, v.option) for v in continuous):
        own = [place[v.index] for v in continuous if (v.parent, v.option) == key]
        rows = on[:, continuous[own[0]].index]
        above = _above(hierarchy, key, chain)
        chain[key] = [*above, *own]
        V = _components(left, rows, len(own), forward[:, above] @ directions[above])
        spread = (
            np.sqrt(np.maximum(np.mean((left[rows] @ V) ** 2, axis=0), 1e-300))
            if rows.any()
            else np.ones(len(own))
        )
        directions[own] = (V * spread).T
        rest = np.eye(len(V)) - forward[:, above] @ directions[above]
        forward[:, own] = rest @ V / spread
    weights, bias = _logits(X, A, on, hierarchy, rng)
    return AdditiveMaps(base, effects, directions, forward, weights, bias)


def _above(hierarchy: Hierarchy, key: tuple[int | None, int | None], chain: dict) -> list[int]:
    """The variables of all groups above one."""
    parent = key[0]
    while parent is not None:
        variable = hierarchy.variables[parent]
        key = (variable.parent, variable.option)
        if key in chain:
            return chain[key]
        parent = key[0]
    return []


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
    X, A, on, hierarchy: Hierarchy, rng
) -> tuple[Float[np.ndarray, "f options"], Float[np.ndarray, " options"]]:
    """Weights that tell the options of each categorical apart, among the rows in which it is active."""
    weights, bias, start = np.zeros((X.shape[1], A.shape[1])), np.zeros(A.shape[1]), 0
    for variable in hierarchy.variables:
        if variable.kind != "categorical":
            continue
        k = variable.n_options
        rows = np.flatnonzero(on[:, variable.index])
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
