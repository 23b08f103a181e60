"""Codes within the leaves, in closed form, and how well a fitted MIMOSA describes rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from disentree.geometry.maps.additive import Items, spread_of
from disentree.geometry.maps.additive_maps import AdditiveMaps, fit_additive_maps, has_too_many_paths
from disentree.geometry.maps.linear_maps import LinearMaps, fit_linear_maps
from disentree.geometry.maps.matched import aligned
from disentree.hierarchy import Hierarchy
from disentree.mimosa.coordinates.representation import Representation
from disentree.mimosa.density.candidate import Candidate
from disentree.mimosa.density.structureless import Background
from disentree.mimosa.tree.constants import TREE
from disentree.mimosa.tree.matching import match_variables


@dataclass(frozen=True)
class LeafMaps:
    """Affine maps of the leaves: one for each path, or one that adds up what options and variables do if paths are
    too many for that."""

    hierarchy: Hierarchy
    items: Items  # of the hierarchy
    by_path: LinearMaps | None
    additive: AdditiveMaps | None = None
    mean: Float[np.ndarray, " k"] | float = 0.0  # of the variables of `additive`, and their deviations
    scale: Float[np.ndarray, " k"] | float = 1.0

    def codes(self, Z: Float[np.ndarray, "n D"], paths: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n v"]:
        """Codes of rows that are on given paths."""
        if self.by_path is not None:
            return self.by_path.encode(Z, paths)
        assert self.additive is not None
        z = (self.additive.variables(Z, paths, self.items) - self.mean) / self.scale
        return self.items.codes(self.hierarchy, paths, z)


def leaf_maps(
    Z: Float[np.ndarray, "n D"],
    hierarchy: Hierarchy,
    labels: Int[np.ndarray, " n"],
    matches: Sequence[Sequence[int]] = (),
) -> LeafMaps:
    """The maps of labeled rows, with columns that are the same variable aligned."""
    Z, labels, rng = _some_rows(Z, labels)
    items = Items.of(hierarchy)
    if not len(Z) or not has_too_many_paths(hierarchy, Z.shape[1]):
        return LeafMaps(hierarchy, items, aligned(fit_linear_maps(Z, hierarchy, labels, rng)[0], matches))
    maps = fit_additive_maps(Z, hierarchy, labels, rng)
    return LeafMaps(hierarchy, items, None, maps, *spread_of(maps.variables(Z, labels, items), items, labels))


def matched_columns(
    Z: Float[np.ndarray, "n D"],
    hierarchy: Hierarchy,
    labels: Int[np.ndarray, " n"],
    lost: Sequence[dict[str, Any]],
) -> list[list[int]]:
    """Variables of different branches that are the same, where leaves enclose several others (`lost`)."""
    if not lost or has_too_many_paths(hierarchy, Z.shape[1]):
        return []
    Z, labels, rng = _some_rows(Z, labels)
    return match_variables(fit_linear_maps(Z, hierarchy, labels, rng)[0], lost, Z, labels)


def _some_rows(
    Z: Float[np.ndarray, "n D"], labels: Int[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, "m D"], Int[np.ndarray, " m"], np.random.Generator]:
    """Rows that maps are fitted to, their labels, and the generator that has chosen them."""
    rng, rows = np.random.default_rng(0), np.flatnonzero(labels >= 0)
    if len(rows) > TREE.map_rows:
        rows = np.sort(rng.choice(rows, TREE.map_rows, replace=False))
    return Z[rows], labels[rows], rng


def log2_likelihood(
    candidate: Candidate,
    representation: Representation,
    embedding: Float[np.ndarray, "n D"],
    Z: Float[np.ndarray, "m D"],
) -> Float[np.ndarray, " m"]:
    """The log2 of the density of rows in the units of X, with the broad background of the training rows that the
    judge gives to every candidate, so that one strange row does not decide."""
    broad = Background.fit(embedding, np.full(Z.shape[1], np.finfo(float).tiny))
    density = broad.mixed(candidate.log_density(Z), Z) / np.log(2)
    if representation.kind != "linear" or not Z.shape[1]:
        return density
    back = np.linalg.pinv(np.asarray(representation.weights, dtype=np.float64))
    return density - 0.5 * np.linalg.slogdet(back @ back.T)[1] / np.log(2)


# The same of a fitted estimator.


def codes_of(model: Any, Z: Float[np.ndarray, "n D"], paths: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n v"]:
    """Codes of rows that are on given paths, in the coordinates of `embedding_` or the features of a table."""
    fitted = model.embedding_ if model.table_ is None else model.features_
    return leaf_maps(fitted, model.hierarchy_, model.labels_, model.matches_).codes(Z, paths)


def find_matches(model: Any) -> list[list[int]]:
    fitted = model.embedding_ if model.table_ is None else model.features_
    return matched_columns(fitted, model.hierarchy_, model.labels_, model.lost_)


def log2_density(model: Any, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, " n"]:
    return log2_likelihood(model.candidate_, model.representation_, model.embedding_, Z)
