"""Codes within the leaves of a fitted MIMOSA, in closed form, and how well it describes rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from jaxtyping import Float, Int

from disentree.geometry.additive import Items, spread_of
from disentree.geometry.additive_maps import fit_additive_maps, has_too_many_paths
from disentree.geometry.linear_maps import fit_linear_maps
from disentree.hierarchy import Hierarchy
from disentree.mimosa.judge import background

ROWS = 20_000  # that the maps are fitted to, at most: more do not change them

# From rows and their paths to codes.
Encode = Callable[[Float[np.ndarray, "n D"], Int[np.ndarray, " n"]], Float[np.ndarray, "n v"]]

# Maps of fitted models: they follow from what is saved, and are made when they are first asked for.
_MAPS: WeakKeyDictionary[Any, tuple[Any, Encode]] = WeakKeyDictionary()


def codes_of(model: Any, Z: Float[np.ndarray, "n D"], paths: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n v"]:
    """Codes of rows that are on given paths: by affine maps of the leaves in the coordinates of `embedding_`, or
    of the features of a table."""
    known, fitted = _MAPS.get(model), model.embedding_ if model.table_ is None else model.features_
    if known is None or known[0] is not fitted:
        labels = model.labels_
        rng = np.random.default_rng(0)
        rows = np.flatnonzero(labels >= 0)
        rows = rows if len(rows) <= ROWS else np.sort(rng.choice(rows, ROWS, replace=False))
        known = (fitted, _fit(fitted[rows], model.hierarchy_, labels[rows], rng))
        _MAPS[model] = known
    return known[1](Z, paths)


def _fit(
    Z: Float[np.ndarray, "n D"], hierarchy: Hierarchy, paths: Int[np.ndarray, " n"], rng: np.random.Generator
) -> Encode:
    """A map for each path, or one that adds up what options and variables do if paths are too many for that."""
    if not len(Z) or not has_too_many_paths(hierarchy, Z.shape[1]):
        return fit_linear_maps(Z, hierarchy, paths, rng)[0].encode
    items, maps = Items.of(hierarchy), fit_additive_maps(Z, hierarchy, paths, rng)
    mean, scale = spread_of(maps.variables(Z, paths, items), items, paths)

    def encode(Z: Float[np.ndarray, "n D"], paths: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n v"]:
        return items.codes(hierarchy, paths, (maps.variables(Z, paths, items) - mean) / scale)

    return encode


def log2_density(model: Any, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, " n"]:
    """The log2 of the density of rows in the units of X, with the broad background that the judge gives to every
    candidate, so that one strange row does not decide."""
    broad = background(model.embedding_, np.full(Z.shape[1], np.finfo(float).tiny))
    density = broad.mixed(model.candidate_.log_density(Z), Z) / np.log(2)
    representation = model.representation_
    if representation.kind != "linear" or not Z.shape[1]:
        return density
    back = np.linalg.pinv(np.asarray(representation.weights, dtype=np.float64))
    return density - 0.5 * np.linalg.slogdet(back @ back.T)[1] / np.log(2)
