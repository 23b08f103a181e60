"""The choice between the maps of a tree: one for each path, or one that adds up for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from disentree.geometry.maps.additive_maps import AdditiveMaps, fit_additive_maps
from disentree.geometry.maps.linear_maps import LinearMaps, fit_linear_maps
from disentree.geometry.maps.matched import aligned
from disentree.hierarchy import Hierarchy

MANY_NUMBERS = 1e6  # in the Gaussians of all paths, from which there are none: an array of eight megabytes


def choose_map(
    hierarchy: Hierarchy, n_features: int, *, has_presence: bool = False
) -> Literal["linear", "additive"]:
    """Which maps a tree gets: "linear", an affine map and a Gaussian for each path, or "additive", if these would
    be too many, or if cells of a table that are there or not already tell the options (`has_presence`)."""
    is_large = hierarchy.root.n_paths * n_features**2 > MANY_NUMBERS
    return "additive" if has_presence or is_large else "linear"


def fit_codes(
    Y: Float[np.ndarray, "n r"],
    hierarchy: Hierarchy,
    paths: Int[np.ndarray, " n"],
    rng: np.random.Generator,
    matches: Sequence[Sequence[int]] = (),
) -> LinearMaps | AdditiveMaps:
    """The maps that are chosen, for rows that all have a path: `encode(rows, paths)` gives codes of mean 0 and
    deviation 1, but for variables that share zero and unit with another (`matches`)."""
    if len(Y) and choose_map(hierarchy, Y.shape[1]) == "additive":
        return fit_additive_maps(Y, hierarchy, paths, rng).standardized(Y, paths)
    return aligned(fit_linear_maps(Y, hierarchy, paths, rng)[0], matches)
