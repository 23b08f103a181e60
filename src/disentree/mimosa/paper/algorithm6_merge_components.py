"""Algorithm 6, MergeComponents: joining components over longer distances, discarding small ones."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree

from disentree.geometry.subspaces import Tangents
from disentree.mimosa.finders.labels import drop_small, renumber, rows_of
from disentree.mimosa.paper.algorithm4_tangent_plane_cos import similar_neighbors
from disentree.mimosa.paper.hulls import on_edge


def common_edge_frac(d: int) -> float:
    """`min_common_edge_frac` of the paper: the mean of 2^-d and 2^-(d+1), the fractions of edge points that two
    neighboring hypercubes share in d dimensions and in one more."""
    return 2.0 ** -(d + 1) + 2.0 ** -(d + 2)


def merge_components(
    Z: Float[np.ndarray, "n D"],
    tangents: Tangents,
    labels: Int[np.ndarray, " n"],
    neighbors: Int[np.ndarray, "n k"],
    *,
    min_size_init: int,
    min_size_merged: int,
    cos_simil_thresh: float,
    min_common_edge_frac: Callable[[int], float] = common_edge_frac,
    n_jobs: int = -1,
) -> Int[np.ndarray, " n"]:
    """Algorithm 6. Sizes are numbers of points; components are numbered by dimension, larger ones first."""
    labels = renumber(drop_small(labels, min_size_init), tangents.dimensions)
    labels = merge_over_edges(Z, tangents, labels, neighbors, cos_simil_thresh, min_common_edge_frac, n_jobs)
    return renumber(drop_small(labels, min_size_merged), tangents.dimensions)


def merge_over_edges(
    Z: Float[np.ndarray, "n D"],
    tangents: Tangents,
    labels: Int[np.ndarray, " n"],
    neighbors: Int[np.ndarray, "n k"],
    cos_simil_thresh: float,
    min_common_edge_frac: Callable[[int], float],
    n_jobs: int = -1,
) -> Int[np.ndarray, " n"]:
    """Lines 2 to 11, for components that are numbered from 0 on."""
    if labels.max(initial=-1) < 1:
        return labels
    edge = component_edges(Z, tangents, labels, neighbors, n_jobs)
    overlap = edge_overlap(Z, tangents, labels, edge, cos_simil_thresh, n_jobs)
    dims = [int(tangents.dimensions[rows[0]]) for rows in rows_of(labels)]
    least = np.array([min_common_edge_frac(d) for d in dims])
    a, b = np.nonzero(np.triu((overlap >= least[:, None]) & (overlap > 0), 1))
    graph = coo_matrix((np.ones(len(a)), (a, b)), shape=overlap.shape)
    _, group = connected_components(graph, directed=False)
    return np.where(labels >= 0, group[labels], -1)


def component_edges(
    Z: Float[np.ndarray, "n D"],
    tangents: Tangents,
    labels: Int[np.ndarray, " n"],
    neighbors: Int[np.ndarray, "n k"],
    n_jobs: int = -1,
) -> Bool[np.ndarray, " n"]:
    """Lines 2 to 5: points outside the convex hull of their neighbors within their own component, in their own
    tangent plane."""
    k = neighbors.shape[1]
    edge = np.zeros(len(Z), dtype=bool)
    # Where all neighbors are of the same component they are its nearest, and need not be looked for again.
    at_home = (labels[neighbors] == labels[:, None]).all(axis=1)
    for rows in rows_of(labels):
        d = int(tangents.dimensions[rows[0]])
        near = neighbors[rows]
        away = np.flatnonzero(~at_home[rows])
        few = min(k, len(rows) - 1)
        if few == 0:
            edge[rows] = True
            continue
        if len(away):
            indices = np.asarray(KDTree(Z[rows]).query(Z[rows[away]], few + 1, workers=n_jobs)[1])
            itself = indices == away[:, None]
            itself[~itself.any(axis=1), -1] = True  # among more duplicates than neighbors
            near[away, :few] = rows[indices[~itself].reshape(-1, few)]
            near[away, few:] = near[away, :1]
        edge[rows] = on_edge(Z, tangents.bases[rows, :d], near, rows)
    return edge


def edge_overlap(
    Z: Float[np.ndarray, "n D"],
    tangents: Tangents,
    labels: Int[np.ndarray, " n"],
    edge: Bool[np.ndarray, " n"],
    cos_simil_thresh: float,
    n_jobs: int = -1,
) -> Float[np.ndarray, "c c"]:
    """Lines 6 to 10, the matrix M: for components of equal dimension the fraction of edge points of one whose
    nearest edge point of the other has a similar tangent plane, averaged over both directions."""
    pieces = rows_of(labels)
    dims = np.array([tangents.dimensions[rows[0]] for rows in pieces], dtype=np.int64)
    edges = [rows[edge[rows]] for rows in pieces]
    overlap = np.zeros((len(pieces), len(pieces)))
    for d in np.unique(dims):
        same = [c for c in np.flatnonzero(dims == d) if len(edges[c])]
        if len(same) < 2:
            continue
        points = np.concatenate([edges[c] for c in same])
        owner = np.repeat(same, [len(edges[c]) for c in same])
        for c in same:
            others = owner != c
            nearest = edges[c][KDTree(Z[edges[c]]).query(Z[points[others]], workers=n_jobs)[1]]
            fits = similar_neighbors(tangents, nearest[:, None], cos_simil_thresh, points[others])[:, 0]
            shared = np.bincount(owner[others], fits, minlength=len(pieces))
            overlap[:, c] = shared / np.maximum([len(e) for e in edges], 1)
    return (overlap + overlap.T) / 2
