"""Algorithm 4, TangentPlaneCos: how similar the tangent planes of two points are."""

from __future__ import annotations

from typing import no_type_check

import numpy as np
from jaxtyping import Bool, Float, Int
from numba import njit

from disentree.geometry.subspaces import Tangents, plane_cosine, subspace_cosines
from disentree.utils.threads import over_rows


def tangent_plane_cos(U: Float[np.ndarray, "d D"], V: Float[np.ndarray, "e D"]) -> float:
    """Algorithm 4: |det(U V')| for orthonormal bases of equal dimension, 0 for others.

    It is the product of the cosines of the principal angles between the two planes.
    """
    return float(subspace_cosines(U[None], V[None])[0]) if len(U) == len(V) else 0.0


def similar_neighbors(
    tangents: Tangents,
    neighbors: Int[np.ndarray, "m k"],
    cos_simil_thresh: float,
    rows: Int[np.ndarray, " m"] | None = None,
) -> Bool[np.ndarray, "m k"]:
    """For every point (of `rows`, or of all) and each of its neighbors whether `tangent_plane_cos` of the two is
    at least `cos_simil_thresh`."""
    if rows is None:
        rows = np.arange(len(neighbors))
    bases = np.ascontiguousarray(tangents.bases)
    similar = np.zeros(neighbors.shape, dtype=np.bool_)
    over_rows(
        _similar, len(neighbors), tangents.dimensions, bases, rows, neighbors, float(cos_simil_thresh), similar
    )
    return similar


@njit(nogil=True, cache=True)
@no_type_check
def _similar(start, stop, dimensions, bases, rows, neighbors, cos_simil_thresh, similar):
    k = neighbors.shape[1]
    for i in range(start, stop):
        row = rows[i]
        d = dimensions[row]
        for j in range(k):
            other = neighbors[i, j]
            if dimensions[other] != d:
                continue
            if d == bases.shape[2]:  # both planes are the whole space
                similar[i, j] = True
                continue
            similar[i, j] = plane_cosine(bases[row, :d], bases[other, :d]) >= cos_simil_thresh
