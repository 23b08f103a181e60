"""Edges of components, and merging over them."""

import numpy as np

from disentree.geometry.neighbors import nearest_neighbors
from disentree.geometry.subspaces import Tangents
from disentree.mimosa.paper.algorithm6_merge_components import (
    common_edge_frac,
    component_edges,
    edge_overlap,
    merge_components,
    merge_over_edges,
)


def test_edges_of_a_component_ignore_its_surroundings():
    line = np.linspace(0, 1, 101)[:, None] * [1.0, 0.0]
    cloud = np.random.default_rng(0).uniform(-0.2, 1.2, (400, 2))
    Z = np.concatenate([line, cloud])
    labels = np.where(np.arange(501) < 101, 0, -1)
    tangents = Tangents(np.where(labels == 0, 1, 2), np.tile(np.eye(2), (501, 1, 1)))
    _, near = nearest_neighbors(Z, 10)
    assert np.flatnonzero(component_edges(Z, tangents, labels, near)).tolist() == [0, 100]


def two_half_squares(gap):
    rng = np.random.default_rng(0)
    left = rng.uniform(0, 1, (400, 2))
    right = rng.uniform(0, 1, (400, 2)) + np.array([1 + gap, 0])
    Z = np.column_stack([np.concatenate([left, right]), np.zeros(800)])
    tangents = Tangents(np.full(800, 2), np.tile(np.eye(3), (800, 1, 1)))
    return Z, tangents, np.repeat([0, 1], 400), nearest_neighbors(Z, 20)[1]


def test_halves_of_a_sheet_are_merged_over_their_edges():
    Z, tangents, labels, near = two_half_squares(gap=0.3)
    merged = merge_over_edges(Z, tangents, labels, near, 0.99, common_edge_frac)
    assert len(np.unique(merged)) == 1


def test_sheets_with_other_tangents_are_not_merged():
    Z, tangents, labels, near = two_half_squares(gap=0.3)
    tangents.bases[400:, :2] = np.eye(3)[[0, 2]]
    edge = component_edges(Z, tangents, labels, near)
    np.testing.assert_array_equal(edge_overlap(Z, tangents, labels, edge, 0.99), np.zeros((2, 2)))
    merged = merge_over_edges(Z, tangents, labels, near, 0.99, common_edge_frac)
    assert len(np.unique(merged)) == 2


def test_default_of_the_common_edge_fraction():
    assert [common_edge_frac(d) for d in (1, 2, 3)] == [0.375, 0.1875, 0.09375]


def test_overlap_is_averaged_over_both_directions():
    # On a line: 0 and 1 are the edge of one component, 2, 3, 4 that of another; the tangent of 3 points elsewhere.
    Z = np.array([[0.0, 0], [10, 0], [0.1, 0], [0.2, 0], [0.3, 0]])
    bases = np.tile(np.eye(2), (5, 1, 1))
    bases[3] = bases[3, ::-1]
    tangents = Tangents(np.ones(5, dtype=np.int64), bases)
    overlap = edge_overlap(Z, tangents, np.array([0, 0, 1, 1, 1]), np.ones(5, dtype=bool), 0.99)
    # 0 and 1 are nearest to 2 and 4, both similar; of 2, 3, 4, all nearest to 0, two are similar
    mean = (1 + 2 / 3) / 2
    np.testing.assert_allclose(overlap, [[0, mean], [mean, 0]])


def test_small_components_are_discarded_before_and_after_merging():
    Z, tangents, labels, near = two_half_squares(gap=0.3)
    labels[:5] = 2
    settings = {"cos_simil_thresh": 0.99, "min_common_edge_frac": common_edge_frac}
    merged = merge_components(Z, tangents, labels, near, min_size_init=6, min_size_merged=700, **settings)
    assert np.unique(merged).tolist() == [-1, 0]
    assert np.flatnonzero(merged < 0).tolist() == [0, 1, 2, 3, 4]
    none = merge_components(Z, tangents, labels, near, min_size_init=6, min_size_merged=796, **settings)
    assert (none < 0).all()
