"""Independent factors of leaves, and which variable of the hierarchy each of them is.

The rows of a leaf that is close to flat are a linear map of its variables; if these are independent and not
Gaussian, independent component analysis finds them up to order, sign and scale. Factors of nested leaves are
matched by the directions in which they move a point, since a variable moves it the same way in every leaf.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import linear_sum_assignment
from sklearn.decomposition import FastICA
from sklearn.exceptions import ConvergenceWarning

from disentree.hierarchy import Hierarchy

ICA_ITERATIONS, ICA_TOLERANCE = 200, 1e-9  # convergence is cubic, so a strict tolerance costs an iteration or two
ROWS_PER_DIMENSION = 20  # of a leaf; with fewer, fourth moments, and so ICA, are left to chance


@dataclass
class LeafFactors:
    """The independent directions within the subspace of a leaf."""

    path: int
    rows: Int[np.ndarray, " m"]
    center: Float[np.ndarray, " r"]
    mixing: Float[np.ndarray, "r d"]  # how a point moves with each factor
    factors: Float[np.ndarray, "m d"]  # in the order of the mixing vectors
    origin: Float[np.ndarray, " d"]  # the factors at the center
    trust: float


def fast_ica(Y: Float[np.ndarray, "n d"], rng: np.random.Generator) -> Float[np.ndarray, "d d"]:
    """The rotation of whitened rows whose columns are least Gaussian.

    The nonlinearity is the cube, which is the best one for bounded factors.
    """
    d = Y.shape[1]
    if d == 1:
        return np.eye(1)
    start = np.linalg.qr(rng.standard_normal((d, d)))[0]
    settings: dict[str, Any] = {"whiten": False, "fun": "cube", "w_init": start}  # the rows are white already
    limits = {"max_iter": ICA_ITERATIONS, "tol": ICA_TOLERANCE}
    with warnings.catch_warnings():  # Gaussian factors have no rotation to converge to
        warnings.simplefilter("ignore", ConvergenceWarning)
        return FastICA(**settings, **limits).fit(Y).components_.T


def assign_columns(hierarchy: Hierarchy, leaves: Mapping[int, LeafFactors]) -> dict[int, list[int]]:
    """The variable (a column of a code array) of each factor of each leaf. Factors of variables that leaves
    share are flipped, rescaled and shifted in place, to mean the same in each of them.

    From the leaf with the fewest dimensions up: a leaf takes over the variables it shares with those that are
    settled already, each from the one with which it shares the most (in a tree that one has them all; a cell of a
    product may have one variable from here and another from there), and its remaining factors are its own. Where
    no leaf has just the shared variables, the factors that look most alike in the others are taken to be those.
    """
    active = {path.index: path.continuous for path in hierarchy.paths}
    settled: dict[int, list[int]] = {}
    for index in sorted(leaves, key=lambda i: (len(active[i]), i)):
        leaf = leaves[index]
        column = np.full(len(active[index]), -1)
        known = _references(active[index], settled)
        if known:
            directions = np.stack([leaves[q].mixing[:, settled[q].index(c)] for c, q in known.items()], axis=1)
            cosine = _cosines(directions, leaf.mixing)
            for i, j in zip(*linear_sum_assignment(-np.abs(cosine)), strict=True):
                column[j] = list(known)[i]
                _agree(leaf, int(j), directions[:, i], float(cosine[i, j]))
            for q in dict.fromkeys(known.values()):
                theirs = [c if known.get(c) == q else -1 for c in column]
                _shift(leaf, leaves[q], np.array(theirs), settled[q])
        own = [c for c in active[index] if c not in column]
        others = [leaves[q] for q in leaves if q not in settled and q != index]
        free = np.flatnonzero(column < 0)
        column[free[np.argsort(-_alikeness(leaf, free, others, active, own), kind="stable")]] = own
        settled[index] = column.tolist()
    return settled


def _references(active: Sequence[int], settled: Mapping[int, list[int]]) -> dict[int, int]:
    """The settled leaf from which each variable that is known already is taken over."""
    shared = {q: [c for c in columns if c in active] for q, columns in settled.items()}
    known: dict[int, int] = {}
    for q in sorted(shared, key=lambda q: (-len(shared[q]), q)):
        for c in shared[q]:
            known.setdefault(c, q)
    return known


def _cosines(A: Float[np.ndarray, "r a"], B: Float[np.ndarray, "r b"]) -> Float[np.ndarray, "a b"]:
    return (A / np.maximum(np.linalg.norm(A, axis=0), 1e-300)).T @ (
        B / np.maximum(np.linalg.norm(B, axis=0), 1e-300)
    )


def _agree(leaf: LeafFactors, j: int, direction: Float[np.ndarray, " r"], cosine: float) -> None:
    """Let factor j move a point as far, and the same way, as the other leaf's does."""
    here, there = np.linalg.norm(leaf.mixing[:, j]), np.linalg.norm(direction)
    if not (here and there):  # of no extent in one of the leaves: nothing to compare
        return
    ratio = there / here * (1 if cosine >= 0 else -1)
    leaf.mixing[:, j] *= ratio
    leaf.factors[:, j] /= ratio


def _shift(leaf: LeafFactors, reference: LeafFactors, column: Int[np.ndarray, " d"], theirs: list[int]) -> None:
    """Count the shared factors from the same origin. A leaf that has all variables of the other one encloses it:
    the difference between the centers, as far as the factors of this leaf can bridge it. Branches beside each
    other lie anywhere: there the shared factors have the same mean."""
    step = np.zeros(leaf.mixing.shape[1])
    if set(theirs) <= set(column.tolist()):
        step = np.linalg.lstsq(leaf.mixing, leaf.center - reference.center, rcond=None)[0]
    for j in np.flatnonzero(column >= 0):
        leaf.origin[j] = step[j] + reference.origin[theirs.index(int(column[j]))]
        leaf.factors[:, j] += leaf.origin[j]


def _alikeness(
    leaf: LeafFactors,
    free: Int[np.ndarray, " f"],
    others: list[LeafFactors],
    active: dict[int, tuple[int, ...]],
    own: list[int],
) -> Float[np.ndarray, " f"]:
    """How well each free factor is matched by some factor of the leaves that share one of its variables."""
    score = np.zeros(len(free))
    for other in others:
        if len(free) and set(own) & set(active[other.path]):
            score += np.abs(_cosines(leaf.mixing[:, free], other.mixing)).max(axis=1)
    return score
