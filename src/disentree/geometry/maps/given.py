"""Maps of codes that are known: the tree's variables have names, and a model that follows it has the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Float, Int

from disentree.geometry.maps.additive import regress
from disentree.geometry.maps.additive_maps import AdditiveMaps
from disentree.geometry.maps.linear_maps import LinearMaps

ROWS_PER_VARIABLE = 2  # of a path, for its own directions


def with_codes(
    maps: LinearMaps, Y: Float[np.ndarray, "n r"], paths: Int[np.ndarray, " n"], codes: Float[np.ndarray, "n v"]
) -> LinearMaps:
    """Maps of the same form whose variables are those of some codes of rows on given paths, by least squares."""
    items, z = maps.items, np.nan_to_num(codes[:, maps.items.columns])
    if maps.additive is not None:
        additive = regress(Y, paths, items, z)
        directions = items.continuous[:, :, None] * additive.directions
        return replace(maps, means=additive.means(items), directions=directions, additive=additive)
    means, directions = maps.means.copy(), maps.directions.copy()
    for path in np.unique(paths):
        rows, own = paths == path, np.flatnonzero(items.continuous[path])
        if rows.sum() > ROWS_PER_VARIABLE * (len(own) + 1):
            known = np.concatenate([np.ones((rows.sum(), 1)), z[np.ix_(rows, own)]], axis=1)
            solved = np.linalg.lstsq(known, Y[rows], rcond=None)[0]
            means[path], directions[path, own] = solved[0], solved[1:]
    return replace(maps, means=means, directions=directions)


def additive_with_codes(
    maps: AdditiveMaps, X: Float[np.ndarray, "n f"], paths: Int[np.ndarray, " n"], codes: Float[np.ndarray, "n v"]
) -> AdditiveMaps:
    """The same for maps that add up; their way from rows to variables is found by least squares too."""
    items, z = maps.items, np.nan_to_num(codes[:, maps.items.columns])
    found, forward = regress(X, paths, items, z), np.zeros_like(maps.forward)
    left = X - found.means(items)[paths]
    for own in items.groups():
        rows = np.flatnonzero(items.continuous[paths, own[0]])
        forward[:, own] = np.linalg.lstsq(left[rows], z[np.ix_(rows, own)], rcond=1e-9)[0]
    return replace(maps, base=found.base, effects=found.effects, directions=found.directions, forward=forward)
