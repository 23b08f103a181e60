"""Codes within the leaves of a fitted MIMOSA, in closed form, and how well it describes rows."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from jaxtyping import Float, Int

from disentree.geometry.linear_maps import LinearMaps, fit_linear_maps
from disentree.mimosa.judge import background

ROWS = 20_000  # that the maps are fitted to, at most: more do not change them

# Maps of fitted models: they follow from what is saved, and are made when they are first asked for.
_MAPS: WeakKeyDictionary[Any, tuple[Any, LinearMaps]] = WeakKeyDictionary()


def maps_of(model: Any) -> LinearMaps:
    """Affine maps of the leaves in the coordinates of `embedding_`, or of the features of a table."""
    known, Z = _MAPS.get(model), model.embedding_ if model.table_ is None else model.features_
    if known is None or known[0] is not Z:
        labels = model.labels_
        rng = np.random.default_rng(0)
        rows = np.arange(len(Z)) if len(Z) <= ROWS else np.sort(rng.choice(len(Z), ROWS, replace=False))
        maps, _ = fit_linear_maps(Z[rows], model.hierarchy_, labels[rows], rng)
        known = (Z, maps)
        _MAPS[model] = known
    return known[1]


def codes_of(model: Any, Z: Float[np.ndarray, "n D"], paths: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n v"]:
    """Codes of rows that are on given paths."""
    return maps_of(model).encode(Z, paths)


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
