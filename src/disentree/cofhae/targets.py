"""Targets for the continuous variables of flat leaves, by independent component analysis.

A penalty on dependence only encourages independent variables. The rows of a leaf that is close to flat are a
linear map of its variables; if these are independent and not Gaussian, ICA finds them up to order, sign and
scale. Factors of nested leaves are then matched by their mixing vectors, since a variable moves a point in the
same direction in every leaf that has it.

Curved leaves get no such targets: `trust` is 0 for them. `disentree.cofhae.unrolling` finds guides for them.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import linear_sum_assignment
from sklearn.decomposition import FastICA
from sklearn.exceptions import ConvergenceWarning

from disentree.cofhae import constants
from disentree.geometry.subspaces import AffineSubspace
from disentree.hierarchy import Hierarchy


class Targets(NamedTuple):
    values: Float[np.ndarray, "n v"]  # as codes: continuous columns standardized, NaN where there is no target
    trust: Float[np.ndarray, " paths"]  # in [0, 1]: where it is 1, independence need not be asked for
    kept: Float[np.ndarray, "paths v"]  # weights of the targets all through training
    guided: Float[np.ndarray, "paths v"]  # weights of those that are there to begin with, not to be kept

    @property
    def has_guides(self) -> bool:
        """Whether some curved path has coordinates to begin with or to keep."""
        return bool(self.guided.any() or self.kept[self.trust == 0].any())

    @classmethod
    def trusted(cls, values: Float[np.ndarray, "n v"], trust: Float[np.ndarray, " paths"]) -> Targets:
        """Targets that count as much as they are trusted."""
        kept = np.repeat(trust[:, None], values.shape[1], axis=1)
        return cls(values, trust, kept, np.zeros_like(kept))


@dataclass(frozen=True)
class LeafSubspace:
    """The subspace that best fits the rows of a path."""

    path: int
    rows: Int[np.ndarray, " m"]  # those that lie on it
    subspace: AffineSubspace
    trust: float  # 1 for a flat leaf, 0 for one that is too curved


@dataclass
class _Leaf:
    """The independent directions within the subspace of a leaf."""

    path: int
    rows: Int[np.ndarray, " m"]
    center: Float[np.ndarray, " r"]
    mixing: Float[np.ndarray, "r d"]  # how a point moves with each factor
    factors: Float[np.ndarray, "m d"]  # in the order of the mixing vectors
    origin: Float[np.ndarray, " d"]  # the factors at the center
    trust: float


def given_targets(codes: Float[np.ndarray, "n v"], hierarchy: Hierarchy) -> Targets:
    """Codes that are known, each variable to mean 0 and deviation 1 over the rows where it is active; columns of
    categoricals are of no use here. Every path is trusted."""
    values = np.where(hierarchy.is_categorical, np.nan, codes)
    for column in np.flatnonzero(~np.isnan(values).all(axis=0)):
        known = values[:, column]
        values[:, column] = (known - np.nanmean(known)) / max(float(np.nanstd(known)), 1e-12)
    return Targets.trusted(values, np.ones(len(hierarchy.paths)))


def leaf_targets(
    Z: Float[np.ndarray, "n r"],
    hierarchy: Hierarchy,
    paths: Int[np.ndarray, " n"],
    random_state: int | np.random.Generator = 0,
    subspaces: list[LeafSubspace] | None = None,
) -> Targets:
    """Independent components of every path's rows of `Z`, laid out as codes for the hierarchy.

    Parameters
    ----------
    Z
        The data in coordinates in which leaves are as flat as can be had (whitened principal components).
    paths
        The path of each row, -1 for none. Rows without a path get no target, nor do rows that lie far off the
        flat piece of their own path.
    subspaces
        What `fit_subspaces` gives for the same arguments, if it is known already.
    """
    rng = np.random.default_rng(random_state)
    leaves = {leaf.path: _unmix(Z, leaf, rng) for leaf in subspaces or fit_subspaces(Z, hierarchy, paths)}
    columns = _assign_columns(hierarchy, leaves)

    values = np.full((len(Z), hierarchy.n_variables), np.nan)
    trust = np.zeros(len(hierarchy.paths))
    for index, leaf in leaves.items():
        trust[index] = leaf.trust
        if leaf.trust > 0:
            values[leaf.rows[:, None], columns[index]] = leaf.factors
    with_target = ~np.isnan(values).all(axis=0)
    known = values[:, with_target]
    values[:, with_target] = (known - np.nanmean(known, axis=0)) / np.nanstd(known, axis=0)
    return Targets.trusted(values, trust)


def fit_subspaces(
    Z: Float[np.ndarray, "n r"], hierarchy: Hierarchy, paths: Int[np.ndarray, " n"]
) -> list[LeafSubspace]:
    """The subspace of every path that has variables, and rows enough to fit one."""
    found = (_fit_subspace(Z, np.flatnonzero(paths == p.index), p.index, p.dimension) for p in hierarchy.paths)
    return [leaf for leaf in found if leaf is not None]


def _fit_subspace(
    Z: Float[np.ndarray, "n r"], rows: Int[np.ndarray, " m"], path: int, d: int
) -> LeafSubspace | None:
    if d == 0 or d > Z.shape[1] or len(rows) < constants.ROWS_PER_DIMENSION * d:
        return None
    on = np.ones(len(rows), dtype=bool)
    flat = AffineSubspace.fit(Z[rows], d)
    for _ in range(constants.FLAT_REFITS):  # a few rows that do not belong here must not tilt the plane
        off = flat.distances(Z[rows])
        # Rounding alone must not count as lying off the plane.
        outlying = constants.OUTLYING * float(np.median(off[on]))
        near = off <= max(outlying, constants.FLAT_ROUNDING * flat.spread[0])
        fewest = max(constants.LEAST_ON_FLAT * len(rows), constants.ROWS_PER_DIMENSION * d)
        if near.sum() < fewest or (near == on).all():
            break
        on = near
        flat = AffineSubspace.fit(Z[rows[on]], d)
    if flat.spread[-1] <= constants.THINNEST * max(flat.spread[0], 1e-300):
        return None  # the rows span fewer dimensions than the path has
    between = (flat.explained - constants.REFUSED) / (constants.TRUSTED - constants.REFUSED)
    return LeafSubspace(path, rows[on], flat, float(np.clip(between, 0, 1)))


def _unmix(Z: Float[np.ndarray, "n r"], flat: LeafSubspace, rng: np.random.Generator) -> _Leaf:
    subspace = flat.subspace
    scores = subspace.coordinates(Z[flat.rows]) / subspace.spread
    rotation = fast_ica(scores, rng)
    mixing = (subspace.basis.T * subspace.spread) @ rotation
    origin = np.zeros(mixing.shape[1])
    return _Leaf(flat.path, flat.rows, subspace.center, mixing, scores @ rotation, origin, flat.trust)


def fast_ica(Y: Float[np.ndarray, "n d"], rng: np.random.Generator) -> Float[np.ndarray, "d d"]:
    """The rotation of whitened rows whose columns are least Gaussian.

    The nonlinearity is the cube, which is the best one for bounded factors.
    """
    d = Y.shape[1]
    if d == 1:
        return np.eye(1)
    start = np.linalg.qr(rng.standard_normal((d, d)))[0]
    settings: dict[str, Any] = {"whiten": False, "fun": "cube", "w_init": start}  # the rows are white already
    limits = {"max_iter": constants.ICA_ITERATIONS, "tol": constants.ICA_TOLERANCE}
    with warnings.catch_warnings():  # Gaussian factors have no rotation to converge to
        warnings.simplefilter("ignore", ConvergenceWarning)
        return FastICA(**settings, **limits).fit(Y).components_.T


# -------------------------------------------------------------------- which factor is which variable


def _assign_columns(hierarchy: Hierarchy, leaves: dict[int, _Leaf]) -> dict[int, list[int]]:
    """The variable (a column of a code array) of each factor of each leaf. Factors of variables that leaves
    share are flipped, rescaled and shifted in place, to mean the same in each of them.

    From the leaf with the fewest dimensions up: a leaf takes over the variables it shares with one that is
    settled already (the one with which it shares the most), and its remaining factors are its own. Where no
    leaf has just the shared variables, the factors that look most alike in the others are taken to be those.
    """
    active = {path.index: path.continuous for path in hierarchy.paths}
    settled: dict[int, list[int]] = {}
    for index in sorted(leaves, key=lambda i: (len(active[i]), i)):
        leaf = leaves[index]
        column = np.full(len(active[index]), -1)
        shared_with = {q: [c for c in settled[q] if c in active[index]] for q in settled}
        nearest = max(shared_with, key=lambda q: (len(shared_with[q]), -q), default=None)
        if nearest is not None and shared_with[nearest]:
            reference = leaves[nearest]
            theirs = [settled[nearest].index(c) for c in shared_with[nearest]]
            cosine = _cosines(reference.mixing[:, theirs], leaf.mixing)
            for i, j in zip(*linear_sum_assignment(-np.abs(cosine)), strict=True):
                column[j] = shared_with[nearest][i]
                _agree(leaf, int(j), reference.mixing[:, theirs[i]], float(cosine[i, j]))
            _shift(leaf, reference, column, settled[nearest])
        own = [c for c in active[index] if c not in column]
        others = [leaves[q] for q in leaves if q not in settled and q != index]
        free = np.flatnonzero(column < 0)
        column[free[np.argsort(-_alikeness(leaf, free, others, active, own), kind="stable")]] = own
        settled[index] = column.tolist()
    return settled


def _cosines(A: Float[np.ndarray, "r a"], B: Float[np.ndarray, "r b"]) -> Float[np.ndarray, "a b"]:
    return (A / np.linalg.norm(A, axis=0)).T @ (B / np.linalg.norm(B, axis=0))


def _agree(leaf: _Leaf, j: int, direction: Float[np.ndarray, " r"], cosine: float) -> None:
    """Let factor j move a point as far, and the same way, as the other leaf's does."""
    ratio = np.linalg.norm(direction) / np.linalg.norm(leaf.mixing[:, j]) * (1 if cosine >= 0 else -1)
    leaf.mixing[:, j] *= ratio
    leaf.factors[:, j] /= ratio


def _shift(leaf: _Leaf, reference: _Leaf, column: Int[np.ndarray, " d"], theirs: list[int]) -> None:
    """Count the shared factors from the same origin: the difference between the centers, as far as the
    factors of this leaf can bridge it."""
    step = np.linalg.lstsq(leaf.mixing, leaf.center - reference.center, rcond=None)[0]
    for j in np.flatnonzero(column >= 0):
        leaf.origin[j] = step[j] + reference.origin[theirs.index(int(column[j]))]
        leaf.factors[:, j] += leaf.origin[j]


def _alikeness(
    leaf: _Leaf,
    free: Int[np.ndarray, " f"],
    others: list[_Leaf],
    active: dict[int, tuple[int, ...]],
    own: list[int],
) -> Float[np.ndarray, " f"]:
    """How well each free factor is matched by some factor of the leaves that share one of its variables."""
    score = np.zeros(len(free))
    for other in others:
        if len(free) and set(own) & set(active[other.path]):
            score += np.abs(_cosines(leaf.mixing[:, free], other.mixing)).max(axis=1)
    return score
