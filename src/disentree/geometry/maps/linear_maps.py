"""Encoder and decoder in closed form: every leaf is an affine subspace, and a row is on the likeliest.

Two forms are fitted. In the *free* one each leaf has directions of its own, which is for trees only; in the
*additive* one (`additive.py`) a variable has one direction wherever it is active. The one that describes left-out
rows better is kept. If both describe them equally well, the additive one is kept, unless variables depend on each
other in it that are independent in the free one: a variable need not do the same in every leaf.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.stats import kurtosis, rankdata

from disentree.geometry.charts import n_quadratic_terms, quadratic_terms
from disentree.geometry.maps.additive import (
    AdditiveMap,
    Items,
    fit_additive,
    made_independent,
    solve_variables,
    spread_of,
)
from disentree.geometry.maps.leaf_factors import ROWS_PER_DIMENSION, LeafFactors, assign_columns, fast_ica
from disentree.geometry.maps.leaf_spans import (
    STRAY,
    Cloud,
    choose_share,
    clouds_of,
    covariance_of,
    others_covariance,
)
from disentree.geometry.maps.path_model import PathModel, fit_path_model
from disentree.hierarchy import Hierarchy
from disentree.hierarchy.tree import Group

HELD_OUT = 0.2  # of the rows, to choose between the two forms and to measure them
BETTER = 0.05  # by which the log of the free form's error must be lower: it has more to fit
# Variables of a leaf depend on each other if a correlation of ranks, or of how far these are from the middle, is
# above the first; they are independent if all are below the second, or within so many standard errors. A leaf with
# fewer rows tells neither.
DEPENDENT, INDEPENDENT, BY_CHANCE, TELLING_ROWS = 0.25, 0.05, 4.0, 400
NEGLIGIBLE = 1e-10  # of the variance: errors below it are rounding
THINNEST = 1e-6  # extent of a leaf in its last dimension over that in its first; below, it has fewer dimensions
BENT_TERMS = 3  # rows for each quadratic term of a leaf, to look for its curvature
BENT_DIMENSIONS = 10  # of a leaf; in more the quadratic terms are too many


@dataclass(frozen=True)
class LinearMaps:
    """An affine map for each path, and which path a row is on."""

    hierarchy: Hierarchy
    items: Items  # its options and continuous variables
    means: Float[np.ndarray, "paths r"]  # the point of each path where its variables are 0
    directions: Float[np.ndarray, "paths continuous r"]  # 0 where a variable is not active
    additive: AdditiveMap | None  # the same as one map, if it is of that form
    model: PathModel  # tells the paths apart

    def encode(
        self, Y: Float[np.ndarray, "n r"], paths: Int[np.ndarray, " n"] | None = None
    ) -> Float[np.ndarray, "n v"]:
        """Codes of rows, on given paths or on the likeliest."""
        paths = self.model.predict(Y) if paths is None else paths
        z = solve_variables(Y, paths, self.means, self.directions, self.items)
        return self.items.codes(self.hierarchy, paths, z)

    def decode(self, codes: Float[np.ndarray, "n v"]) -> Float[np.ndarray, "n r"]:
        """Rows of codes."""
        paths = self.hierarchy.path_of(codes)
        z = np.nan_to_num(codes[:, self.items.columns])
        out = self.means[paths]
        for path in np.unique(paths):
            rows = paths == path
            out[rows] += z[rows] @ self.directions[path]
        return out


@dataclass(frozen=True)
class HeldOut:
    """How well maps describe rows that they were not fitted to."""

    explained: float  # part of the variance (R2), with the paths that the maps find
    agreement: float  # part of the rows that are found on the path that they were given
    # Part of the variance that is left, and that quadratic terms of the variables explain: what a curved map might
    # gain.
    bend: float


def fit_linear_maps(
    Y: Float[np.ndarray, "n r"],
    hierarchy: Hierarchy,
    paths: Int[np.ndarray, " n"],
    random_state: int | np.random.Generator = 0,
    held: Int[np.ndarray, " m"] | None = None,
) -> tuple[LinearMaps, HeldOut]:
    """Maps fitted to all rows, and how good they are on rows left out: those of `held`, or a fifth of all.

    Y is in coordinates in which squared distances are errors. Rows may have no path (-1), paths few rows or none,
    and groups several categoricals.
    """
    rng = np.random.default_rng(random_state)
    items = Items.of(hierarchy)
    known = np.flatnonzero(paths >= 0)
    if held is None:
        held = np.sort(rng.choice(known, int(HELD_OUT * len(known)), replace=False))
    rest = np.setdiff1d(known, held)
    if not len(held) or len(rest) < 2:
        rest = held = known
    tried = _fit_both(Y[rest], hierarchy, paths[rest], items, rng)
    negligible = NEGLIGIBLE * float(np.square(Y - Y.mean(axis=0)).sum(axis=1).mean())
    errors = {kind: _log_error(maps, Y[held], paths[held], negligible) for kind, maps in tried.items()}
    shares_variables = bool((items.continuous.sum(axis=0) > 1).any())  # else only the free form pools directions
    is_better = errors.get("free", np.inf) < errors["additive"] - BETTER
    use_free = "free" in errors and (is_better or not shares_variables or _untangles(tried, Y[rest], paths[rest]))
    kind = "free" if use_free else "additive"
    measured = _measure(tried[kind], Y[rest], paths[rest], Y[held], paths[held])
    return _fit_both(Y[known], hierarchy, paths[known], items, rng, only=kind)[kind], measured


def _log_error(
    maps: LinearMaps, Y: Float[np.ndarray, "n r"], paths: Int[np.ndarray, " n"], negligible: float
) -> float:
    """The log of each leaf's mean squared error, on average over rows: an exact leaf should stay exact, however
    noisy another is. The worst rows of a leaf, which may be on another, do not count."""
    off, total = np.square(Y - maps.decode(maps.encode(Y, paths))).sum(axis=1), 0.0
    for path in np.unique(paths):
        own = np.sort(off[paths == path])
        total += len(own) * np.log(own[: max(1, int((1 - STRAY) * len(own)))].mean() + negligible)
    return total / len(Y)


@dataclass(frozen=True)
class _Dependence:
    """How the variables of a leaf depend on each other, from so many rows."""

    n_rows: int
    correlation: float  # the largest of two variables: of ranks, or of how far these are from the middle
    n_gaussian: int  # variables whose fourth moment is that of a Gaussian within chance

    @property
    def is_none(self) -> bool:
        """Whether they are independent components, and the only ones: of two that are Gaussian, any mixture is."""
        chance = BY_CHANCE / math.sqrt(self.n_rows)
        return self.correlation <= max(INDEPENDENT, chance) and self.n_gaussian <= 1


def _untangles(tried: Mapping[str, LinearMaps], Y: Float[np.ndarray, "n r"], paths: Int[np.ndarray, " n"]) -> bool:
    """Whether variables are independent in every leaf of the free form, and not in one of the additive form."""
    free, additive = (_dependences(tried[kind], Y, paths) for kind in ("free", "additive"))
    return all(leaf.is_none for leaf in free) and any(leaf.correlation > DEPENDENT for leaf in additive)


def _dependences(maps: LinearMaps, Y: Float[np.ndarray, "n r"], paths: Int[np.ndarray, " n"]) -> list[_Dependence]:
    """Of every leaf that has several variables, all of some extent, and rows enough."""
    codes, out = maps.encode(Y, paths), []
    for path in np.unique(paths):
        own = codes[paths == path][:, list(maps.hierarchy.paths[path].continuous)]
        n, d = own.shape
        if d < 2 or n < TELLING_ROWS or own.std(axis=0).min() <= THINNEST:
            continue
        ranks = rankdata(own, axis=0) / n - 0.5
        pairs = np.triu_indices(d, 1)
        correlation = max(float(np.abs(np.corrcoef(x, rowvar=False)[pairs]).max()) for x in (ranks, np.abs(ranks)))
        gaussian = np.abs(kurtosis(own, axis=0)) <= BY_CHANCE * np.sqrt(24 / n)
        out.append(_Dependence(n, correlation, int(gaussian.sum())))
    return out


def _fit_both(
    Y: Float[np.ndarray, "n r"],
    hierarchy: Hierarchy,
    paths: Int[np.ndarray, " n"],
    items: Items,
    rng: np.random.Generator,
    only: str | None = None,
) -> dict[str, LinearMaps]:
    """The additive form and, for a tree, the free one."""
    clouds = clouds_of(Y, hierarchy, paths)
    on = np.sort(np.concatenate([cloud.rows for cloud in clouds.values()]))
    rows, own_paths = Y[on], paths[on]
    free = _free_maps(Y, hierarchy, clouds, items, rng) if is_tree(hierarchy.root) else None
    if free is None:
        additive = fit_additive(rows, own_paths, items)
        z = solve_variables(rows, own_paths, additive.means(items), additive.directions, items)
        additive = made_independent(additive, items, z, own_paths, rng)
    else:
        z = solve_variables(rows, own_paths, *free, items)
        additive = fit_additive(rows, own_paths, items, z)
    z = solve_variables(rows, own_paths, additive.means(items), additive.directions, items)
    additive = additive.rescaled(items, *spread_of(z, items, own_paths))
    means, directions = additive.means(items), items.continuous[:, :, None] * additive.directions
    expected = None
    if free is None:  # cells of a product: what is known of a variable holds in all of them
        z = solve_variables(rows, own_paths, means, additive.directions, items)
        left = rows - means[own_paths] - z @ additive.directions
        expected = np.einsum("pkr,pks->prs", directions, directions) + left.T @ left / len(left)
    model = fit_path_model(Y, hierarchy, clouds, means, rng, expected)
    out = {}
    if only != "free":
        out["additive"] = LinearMaps(hierarchy, items, means, directions, additive, model)
    if free is not None and only != "additive":
        absent = [p for p in range(len(hierarchy.paths)) if p not in clouds]
        free[0][absent], free[1][absent] = means[absent], directions[absent]
        mean, scale = spread_of(solve_variables(rows, own_paths, *free, items), items, own_paths)
        shifted = free[0] + np.einsum("k,pkr->pr", mean, free[1])
        shifted[absent] = means[absent]
        out["free"] = LinearMaps(hierarchy, items, shifted, free[1] * scale[:, None], None, model)
    return out


def is_tree(group: Group) -> bool:
    """Whether no group has more than one categorical."""
    below = (option for categorical in group.categoricals for option in categorical.options)
    return len(group.categoricals) <= 1 and all(map(is_tree, below))


def _free_maps(
    Y: Float[np.ndarray, "n r"],
    hierarchy: Hierarchy,
    clouds: Mapping[int, Cloud],
    items: Items,
    rng: np.random.Generator,
) -> tuple[Float[np.ndarray, "paths r"], Float[np.ndarray, "paths continuous r"]]:
    """Where the variables of each path are 0, and their directions: independent components of its span."""
    leaves = factors_of(Y, hierarchy, clouds, rng)
    columns = assign_columns(hierarchy, leaves)
    means = np.zeros((len(hierarchy.paths), Y.shape[1]))
    directions = np.zeros((*items.continuous.shape, Y.shape[1]))
    for path, leaf in leaves.items():
        means[path] = leaf.center - leaf.mixing @ leaf.origin
        directions[path, np.searchsorted(items.columns, columns[path])] = leaf.mixing.T
    return means, directions


def factors_of(
    Y: Float[np.ndarray, "n r"], hierarchy: Hierarchy, clouds: Mapping[int, Cloud], rng: np.random.Generator
) -> dict[int, LeafFactors]:
    """The span of each leaf and the independent directions in it."""
    return {
        path: _factors(Y, cloud, hierarchy.paths[path].dimension, others_covariance(clouds, path), rng)
        for path, cloud in clouds.items()
    }


def _factors(
    Y: Float[np.ndarray, "n r"],
    cloud: Cloud,
    d: int,
    others: Float[np.ndarray, "r r"] | None,
    rng: np.random.Generator,
) -> LeafFactors:
    """The span of a leaf and the independent directions in it; principal ones where rows are few."""
    r = Y.shape[1]
    kept = min(d, r)

    def missed(rows: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
        span = np.linalg.eigh(covariance)[1][:, r - kept :]
        off = rows - mean
        return np.square(off - off @ span @ span.T).sum(axis=1)

    share = choose_share(Y, cloud, others, missed, rng) if 0 < kept < r else 0.0
    values, vectors = np.linalg.eigh(covariance_of(cloud, others, share))
    values, vectors = np.maximum(values[::-1][:kept], 0.0), vectors[:, ::-1][:, :kept]
    spread = np.sqrt(values)
    thick = int((spread > THINNEST * max(float(spread[0]), 1e-300)).sum()) if kept else 0
    turn = np.eye(kept)
    off = Y[cloud.rows] - cloud.mean
    if thick > 1 and cloud.n_rows >= ROWS_PER_DIMENSION * thick:
        white = off @ vectors[:, :thick]
        white = white / np.maximum(white.std(axis=0), 1e-300)
        turn[:thick, :thick] = fast_ica(white, rng)
    mixing = np.zeros((r, d))
    mixing[:, :kept] = (vectors * np.where(spread > 0, spread, 0.0)) @ turn
    factors = off @ np.linalg.pinv(mixing, rcond=1e-9).T
    return LeafFactors(cloud.path, cloud.rows, cloud.mean, mixing, factors, np.zeros(d), 1.0)


def _measure(
    maps: LinearMaps,
    Y: Float[np.ndarray, "n r"],
    paths: Int[np.ndarray, " n"],
    held: Float[np.ndarray, "m r"],
    held_paths: Int[np.ndarray, " m"],
) -> HeldOut:
    total = max(float(np.square(held - held.mean(axis=0)).sum()), 1e-300)
    codes = maps.encode(held)
    error = float(np.square(held - maps.decode(codes)).sum())
    agreement = float((maps.hierarchy.path_of(codes) == held_paths).mean())
    gained = 0.0
    for path in np.unique(paths):
        d = maps.hierarchy.paths[path].dimension
        own, left = np.flatnonzero(paths == path), np.flatnonzero(held_paths == path)
        if not 0 < d <= BENT_DIMENSIONS or len(own) < BENT_TERMS * n_quadratic_terms(d) or not len(left):
            continue
        columns = list(maps.hierarchy.paths[path].continuous)
        (z, off), (new_z, new_off) = (
            _without_worst(maps.encode(rows, np.full(len(rows), path)), rows, maps)
            for rows in (Y[own], held[left])
        )
        slopes = np.linalg.lstsq(quadratic_terms(z[:, columns]), off, rcond=None)[0]
        bent = new_off - quadratic_terms(new_z[:, columns]) @ slopes
        gained += max(0.0, float(np.square(new_off).sum() - np.square(bent).sum()))
    return HeldOut(1 - error / total, agreement, gained / total)


def _without_worst(
    codes: Float[np.ndarray, "n v"], rows: Float[np.ndarray, "n r"], maps: LinearMaps
) -> tuple[Float[np.ndarray, "m v"], Float[np.ndarray, "m r"]]:
    """Codes and errors of rows of a leaf, without those that may be on another."""
    off = rows - maps.decode(codes)
    kept = np.argsort(np.square(off).sum(axis=1), kind="stable")[: max(1, int((1 - STRAY) * len(rows)))]
    return codes[kept], off[kept]
