"""Joining pieces of one manifold over gaps, and dropping what is no manifold of its own."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree

from disentree.geometry.neighbors import thinned
from disentree.geometry.subspaces import Tangents, relative_distances, subspace_cosines
from disentree.mimosa.finders.flats.constants import FLATS
from disentree.mimosa.finders.labels import drop_small, renumber, rows_of


def merge_over_seams(
    Z: Float[np.ndarray, "n D"],
    tangents: Tangents,
    labels: Int[np.ndarray, " n"],
    tolerance: float,
    min_size: int,
) -> Int[np.ndarray, " n"]:
    """Join pieces of equal dimension where most of their closest pairs of points lie on each other's flats,
    and number the pieces anew by dimension and then size; those below `min_size` are dropped."""
    labels = drop_small(labels, min_size)
    pieces = rows_of(labels)
    dims = [int(tangents.dimensions[rows[0]]) for rows in pieces]
    few = [thinned(rows, 4 * FLATS.sample_rows) for rows in pieces]
    trees = [KDTree(Z[rows]) for rows in few]
    joined = []
    for a in range(len(pieces)):
        for b in range(a):
            if dims[a] == dims[b] and _continue_each_other(
                Z, tangents, few[a], few[b], trees[b], dims[a], tolerance
            ):
                joined.append((a, b))
    if joined:
        a, b = np.array(joined).T
        graph = coo_matrix((np.ones(len(a)), (a, b)), shape=(len(pieces), len(pieces)))
        _, group = connected_components(graph, directed=False)
        labels = np.where(labels >= 0, group[labels], -1)
    return renumber(labels, tangents.dimensions)


def _continue_each_other(
    Z: np.ndarray, tangents: Tangents, A: np.ndarray, B: np.ndarray, tree_b: KDTree, d: int, tolerance: float
) -> bool:
    if d == Z.shape[1]:
        return True
    A = thinned(A, FLATS.sample_rows)
    distances, nearest = map(np.asarray, tree_b.query(Z[A]))
    order = np.argsort(distances, kind="stable")[: FLATS.sample_rows // 10]
    a, b = A[order], B[nearest[order]]
    if d == 0:
        return bool((distances[order] == 0).all())
    off = np.maximum(
        relative_distances(Z[b], Z[a], tangents.bases[a, :d]),
        relative_distances(Z[a], Z[b], tangents.bases[b, :d]),
    )
    cos = subspace_cosines(tangents.bases[a, :d], tangents.bases[b, :d])
    fits = (off <= tolerance) & (cos >= (1 - min(0.5, 4 * tolerance**2)) ** d)
    return bool(fits.mean() >= 0.5)


def drop_explained(
    Z: Float[np.ndarray, "n D"],
    tangents: Tangents,
    labels: Int[np.ndarray, " n"],
    radii: Float[np.ndarray, " n"],
    tolerance: float,
    n_jobs: int = -1,
) -> Int[np.ndarray, " n"]:
    """Drop components most of whose points lie on the flats of components of lower dimension, or of larger
    ones of the same: points between manifolds for which no flat of their own was found.

    A component of full dimension takes in every point for which no flat was found, without evidence for any
    of them, so there it is the points that are dropped, one by one.
    """
    labels = labels.copy()
    kept: list[tuple[KDTree, np.ndarray, int]] = []
    for rows in rows_of(labels):  # in order of dimension, larger ones first
        d = int(tangents.dimensions[rows[0]])
        full = d == Z.shape[1]
        some = rows if full else thinned(rows, FLATS.sample_rows)
        explained = np.zeros(len(some), dtype=bool)
        for tree, core, e in kept:
            left = np.flatnonzero(~explained)
            distances, nearest = tree.query(Z[some[left]], workers=n_jobs)
            anchor = core[nearest]
            off = relative_distances(Z[some[left]], Z[anchor], tangents.bases[anchor, :e])
            explained[left] = (off <= tolerance) & (distances <= 4 * radii[anchor])
        if explained.mean() >= 0.5:
            labels[rows] = -1
            continue
        if full:
            labels[rows[explained]] = -1
        kept.append((KDTree(Z[rows]), rows, d))
    return renumber(labels, tangents.dimensions)
