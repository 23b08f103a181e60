"""Codes within the leaves of a fitted MIMOSA, in closed form, and how well it describes rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from jaxtyping import Float, Int

from disentree.geometry.maps.choosing import choose_map, fit_codes
from disentree.geometry.maps.linear_maps import fit_linear_maps
from disentree.mimosa.search.judge import background
from disentree.mimosa.tree.matching import match_variables

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
        rows, rng = _some_rows(model)
        known = (
            fitted,
            fit_codes(fitted[rows], model.hierarchy_, model.labels_[rows], rng, model.matches_).encode,
        )
        _MAPS[model] = known
    return known[1](Z, paths)


def find_matches(model: Any) -> list[list[int]]:
    """Variables of different branches that are the same, of a model with leaves that enclose several others."""
    lost, Z = model.lost_, model.embedding_ if model.table_ is None else model.features_
    if not lost or choose_map(model.hierarchy_, Z.shape[1]) == "additive":
        return []
    rows, rng = _some_rows(model)
    maps, _ = fit_linear_maps(Z[rows], model.hierarchy_, model.labels_[rows], rng)
    return match_variables(maps, lost, Z[rows], model.labels_[rows])


def _some_rows(model: Any) -> tuple[Int[np.ndarray, " m"], np.random.Generator]:
    """Rows that maps are fitted to, and the generator that has chosen them."""
    rng, rows = np.random.default_rng(0), np.flatnonzero(model.labels_ >= 0)
    return rows if len(rows) <= ROWS else np.sort(rng.choice(rows, ROWS, replace=False)), rng


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
