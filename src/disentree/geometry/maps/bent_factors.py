"""The variables of a curved leaf, as linear functions of its rows.

The rows of a curved leaf fill more directions than it has dimensions, and in these many columns its variables are
nearly linear functions of the row where no linear function of its principal directions is. Such functions are
independent components if their values are independent and bounded, given how much of the leaf, measured along its
tangents, falls into each volume of values. They are one-to-one if they keep the sides of the leaf: tangents are
turned to agree along a spanning tree of neighbors, and a leaf that is folded over itself costs much.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

from disentree.geometry.charts import n_quadratic_terms, quadratic_terms
from disentree.geometry.maps.leaf_factors import ROWS_PER_DIMENSION, fast_ica
from disentree.geometry.maps.linear_maps import BENT_DIMENSIONS
from disentree.geometry.neighbors import nearest_neighbors, thinned
from disentree.hierarchy import Hierarchy

Decode = Callable[[Float[np.ndarray, "n v"]], Float[np.ndarray, "n r"]]

THINNEST = 1e-5  # share of the variance, below which a direction of the rows is left out
FEWEST, FOR_EACH = 20, 6  # neighbors of a row that span its tangent, in all and for each dimension
# The density of a variable of deviation 1: near to even between bounds, which those of a uniform one are.
BOUND, EVENNESS = 1.75, 8
FOLDED = 0.1  # of the mean volume of values for a piece of the leaf, below which it is as good as folded
STEADY = 1e-3  # weight of the squares of the functions
MOST_ROWS = 2000  # of a leaf: more show the same, and take longer
MOST_STEPS, NEGLIGIBLE = 200, 1e-12
MOST_FOLDED = 0.2  # share of the rows of a leaf, beyond which its variables are not known
BENT = 0.005  # share of the variance that quadratic terms explain on left-out rows, from which a leaf is curved


@dataclass(frozen=True)
class BentLeaf:
    """A curved leaf: the values of its variables, and what rows follow from values."""

    factors: Float[np.ndarray, "n d"]
    coefficients: Float[np.ndarray, "t r"]  # of a quadratic function
    folded: float  # share of the rows where the leaf is folded over itself
    explained: float  # share of the variance of the rows that the quadratic function has

    @classmethod
    def fit(cls, Y: Float[np.ndarray, "n r"], d: int, rng: np.random.Generator) -> BentLeaf | None:
        """That of the rows of a leaf; None if they are too few."""
        if not 0 < d <= BENT_DIMENSIONS or len(Y) < ROWS_PER_DIMENSION * (1 + d) ** 2:
            return None
        off = Y - Y.mean(axis=0)
        left, values, _ = np.linalg.svd(off, full_matrices=False)
        # No more directions than a quadratic leaf fills.
        kept = np.square(values[: n_quadratic_terms(d) - 1]) > THINNEST * np.square(values).sum()
        kept = np.flatnonzero(kept)
        if len(kept) < d:
            return None
        white = left[:, kept] * np.sqrt(len(Y))
        Z = white * (values[kept] / values[0])
        T = tangents(Z, d)
        start = np.zeros((Z.shape[1], d))
        start[:d] = fast_ica(white[:, :d], rng) / (values[:d] / values[0])[:, None]
        factors, folded = _independent(Z, T, start)
        factors = (factors - factors.mean(axis=0)) / np.maximum(factors.std(axis=0), 1e-300)
        terms = quadratic_terms(factors)
        coefficients = np.linalg.lstsq(terms, Y, rcond=None)[0]
        missed = np.square(Y - terms @ coefficients).sum() / max(float(np.square(off).sum()), 1e-300)
        return cls(factors, coefficients, folded, 1 - float(missed))

    def rows(self, factors: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "m r"]:
        """Of some values of the variables."""
        return quadratic_terms(factors) @ self.coefficients


def is_bent(Y: Float[np.ndarray, "n r"], d: int) -> bool:
    """Whether the rows of a leaf lie on a curved one: what a half of them says about its principal directions, and
    about quadratic terms of these, is tried on the other half."""
    if not 0 < d < min(Y.shape[1], 1 + BENT_DIMENSIONS) or len(Y) < ROWS_PER_DIMENSION * (1 + d) ** 2:
        return False
    Y = Y[thinned(np.arange(len(Y)), MOST_ROWS)]
    some, others = Y[::2] - Y.mean(axis=0), Y[1::2] - Y.mean(axis=0)
    axes = np.linalg.svd(some, full_matrices=False)[2][:d].T
    off = others - others @ axes @ axes.T
    slopes = np.linalg.lstsq(quadratic_terms(some @ axes), some - some @ axes @ axes.T, rcond=None)[0]
    gained = np.square(off).sum() - np.square(off - quadratic_terms(others @ axes) @ slopes).sum()
    return bool(gained > BENT * np.square(others).sum())


def tangents(Z: Float[np.ndarray, "n r"], d: int) -> Float[np.ndarray, "n r d"]:
    """The directions in which the neighbors of each row lie, in an order that makes the same side of the leaf the
    upper one everywhere."""
    n = len(Z)
    k = min(max(FEWEST, FOR_EACH * d), n - 1)
    distances, near = nearest_neighbors(Z, k)
    around = Z[near] - Z[near].mean(axis=1, keepdims=True)
    T = np.linalg.eigh(np.einsum("nki,nkj->nij", around, around))[1][:, :, -d:]
    links = (distances.ravel() + np.finfo(float).tiny, (np.repeat(np.arange(n), k), near.ravel()))
    tree = minimum_spanning_tree(csr_array(links, shape=(n, n)))
    order, before = breadth_first_order(tree, 0, directed=False)
    below = order[1:]
    same = np.ones(n)
    same[below] = np.linalg.det(np.einsum("nij,nik->njk", T[below], T[before[below]]))
    side = np.ones(n)
    for row in below:
        side[row] = side[before[row]] if same[row] >= 0 else -side[before[row]]
    T[:, :, 0] *= side[:, None]
    return T


def _independent(
    Z: Float[np.ndarray, "n r"], T: Float[np.ndarray, "n r d"], start: Float[np.ndarray, "r d"]
) -> tuple[Float[np.ndarray, "n d"], float]:
    """The likeliest values of independent bounded variables that are linear functions of the rows, and the share
    of rows where they are folded."""
    (n, r), d = Z.shape, T.shape[2]

    def volumes(W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        into = np.einsum("nij,ik->njk", T, W)
        return into, np.linalg.det(into)

    first = volumes(start)[1]
    if np.sign(first).sum() < 0:  # the upper side is the lower one
        T = T * np.where(np.arange(d) == 0, -1.0, 1.0)
    least = FOLDED * float(np.exp(np.log(np.maximum(np.abs(first), 1e-300)).mean()))

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        W, shift = x[:-d].reshape(r, d), x[-d:]
        into, volume = volumes(W)
        scaled = (Z @ W + shift) / BOUND
        slopes = EVENNESS * scaled ** (EVENNESS - 1) / BOUND / n
        low = volume < least  # where its logarithm goes on along a straight line, to below zero
        logs = np.where(low, math.log(least) + volume / least - 1, np.log(np.maximum(volume, least)))
        inverse = np.linalg.inv(into + NEGLIGIBLE * np.eye(d))
        weighted = np.swapaxes(inverse, 1, 2) * (np.where(low, volume / least, 1.0) / n)[:, None, None]
        gradient = Z.T @ slopes - np.einsum("nij,njk->ik", T, weighted) + 2 * STEADY * W
        value = (scaled**EVENNESS).sum() / n - logs.mean() + STEADY * np.square(W).sum()
        return float(value), np.concatenate([gradient.ravel(), slopes.sum(axis=0)])

    found = minimize(
        loss,
        np.concatenate([start.ravel(), np.zeros(d)]),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": MOST_STEPS},
    ).x
    W = found[:-d].reshape(r, d)
    return Z @ W + found[-d:], float((volumes(W)[1] < 0).mean())


def bent_maps(
    hierarchy: Hierarchy, Y: Float[np.ndarray, "n r"], paths: Int[np.ndarray, " n"], rng: np.random.Generator
) -> tuple[Float[np.ndarray, "m v"], Decode]:
    """Codes of the rows of leaves with rows enough, each leaf on scales of its own, and what decodes them."""
    codes = np.full((len(Y), hierarchy.n_variables), np.nan)
    known = np.zeros(len(Y), dtype=bool)
    leaves: dict[int, BentLeaf] = {}
    for path in hierarchy.paths:
        rows = thinned(np.flatnonzero(paths == path.index), MOST_ROWS)
        leaf = BentLeaf.fit(Y[rows], path.dimension, rng)
        if leaf is not None and leaf.folded <= MOST_FOLDED:
            leaves[path.index] = leaf
            codes[rows[:, None], list(path.continuous)] = leaf.factors
            for column, option in path.choices:
                codes[rows, column] = option
            known[rows] = True

    def decode(some: Float[np.ndarray, "m v"]) -> Float[np.ndarray, "m r"]:
        rows = np.zeros((len(some), Y.shape[1]))
        on = hierarchy.path_of(some)
        for path in np.unique(on).tolist():
            rows[on == path] = leaves[path].rows(some[on == path][:, list(hierarchy.paths[path].continuous)])
        return rows

    return codes[known], decode
