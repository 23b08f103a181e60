"""Growing and merging components, on graphs small enough to follow by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import Delaunay

from disentree.geometry.hulls import hull_contains_origin, on_edge
from disentree.geometry.neighbors import nearest_neighbors
from disentree.mimosa.finders.components import (
    build_components,
    link_components,
    similar_neighbors,
    small_determinant,
)
from disentree.mimosa.finders.merge import drop_small, renumber, rows_of
from disentree.mimosa.finders.tangents import Tangents, anchored_flats, tangent_plane_cos
from disentree.mimosa.paper.estimator import common_edge_frac, component_edges, edge_overlap, merge_over_edges


def test_contagion_counts_the_members_that_list_a_point():
    # 0, 1, 2 list each other; 3 is listed by 0 and 1 (not by 2); 4 is listed by 3 alone; 3 lists 5, 6
    neighbors = np.array([[1, 2, 3], [0, 2, 3], [0, 1, 5], [4, 5, 6], [5, 6, 3], [6, 4, 3], [5, 4, 3]])
    similar = np.ones_like(neighbors, dtype=bool)
    similar[0, 2] = False  # 0 and 3 are not similar: 3 is pressed by 1 alone
    similar[2, 2] = False
    one = build_components(neighbors, similar, 1)
    assert one.tolist() == [0, 0, 0, 0, 0, 0, 0]
    two = build_components(neighbors, similar, 2)
    assert two.tolist() == [0, 0, 0, 1, 1, 1, 1]  # 3 starts a component of its own
    similar[0, 2] = True
    start = build_components(neighbors, similar, 2)
    assert start[3] == 0  # a similar neighbour of the first point joins at once


def test_what_a_point_lists_itself_does_not_count():
    """In-degree: 3 lists all of the component, but no member lists 3."""
    neighbors = np.array([[1, 2], [0, 2], [0, 1], [0, 1]])
    labels = build_components(neighbors, np.ones((4, 2), dtype=bool), 1)
    assert labels.tolist() == [0, 0, 0, 1]


def naive_contagion(neighbors, similar, contagion_num):
    labels = np.full(len(neighbors), -1)
    component = 0
    for start in range(len(neighbors)):
        if labels[start] >= 0:
            continue
        members = {
            start,
            *(j for j, s in zip(neighbors[start], similar[start], strict=True) if s and labels[j] < 0),
        }
        growing = True
        while growing:
            counts = np.zeros(len(neighbors), dtype=int)
            for i in members:
                counts[neighbors[i][similar[i]]] += 1
            more = {int(j) for j in np.flatnonzero(counts >= contagion_num) if labels[j] < 0} - members
            members |= more
            growing = bool(more)
        labels[list(members)] = component
        component += 1
    return labels


@given(st.integers(0, 10_000), st.integers(1, 4))
def test_contagion_is_the_loop_of_the_paper(seed, contagion_num):
    rng = np.random.default_rng(seed)
    n, k = 40, 6
    neighbors = np.array([rng.choice([j for j in range(n) if j != i], k, replace=False) for i in range(n)])
    similar = rng.random((n, k)) < 0.4
    expected = naive_contagion(neighbors, similar, contagion_num)
    np.testing.assert_array_equal(build_components(neighbors, similar, contagion_num), expected)


def test_similar_neighbors_are_those_of_algorithm_4():
    rng = np.random.default_rng(0)
    bases = np.linalg.qr(rng.standard_normal((60, 4, 4)))[0]
    tangents = Tangents(rng.integers(1, 5, 60), bases)
    neighbors = rng.integers(0, 60, (60, 8))
    similar = similar_neighbors(tangents, neighbors, 0.3)
    for i in range(60):
        for j in range(8):
            d, other = tangents.dimensions[i], neighbors[i, j]
            cos = 0.0
            if tangents.dimensions[other] == d:
                cos = tangent_plane_cos(bases[None, i, :d], bases[None, other, :d])[0]
            assert similar[i, j] == (cos >= 0.3)


@given(st.integers(0, 10_000), st.integers(1, 6))
def test_determinants(seed, n):
    A = np.random.default_rng(seed).standard_normal((n, n))
    assert small_determinant(A.copy()) == pytest.approx(np.linalg.det(A), abs=1e-10)


# ------------------------------------------------------------------ hulls


@settings(max_examples=25)
@given(st.integers(0, 100_000), st.integers(2, 5))
def test_hull_membership_is_that_of_delaunay(seed, d):
    rng = np.random.default_rng(seed)
    P = rng.standard_normal((d + 12, d)) + rng.uniform(0, 1.2) * rng.standard_normal(d)
    assert hull_contains_origin(P) == (Delaunay(P).find_simplex(np.zeros(d)) >= 0)


@pytest.mark.parametrize(
    ("points", "inside"),
    [
        ([[1.0], [2.0]], False),
        ([[1.0], [-2.0]], True),
        ([[1.0, 0], [-1, 0]], True),  # a segment through the origin, where Delaunay gives up
        ([[1.0, 0.1], [-1, 0.1]], False),
        ([[0.0, 0.0], [3, 3]], True),
        ([[1.0, 1, 1]] * 4, False),
    ],
)
def test_hulls_by_hand(points, inside):
    assert hull_contains_origin(np.array(points)) is inside


def test_edges_of_a_square_are_its_border():
    x, y = np.meshgrid(np.arange(8.0), np.arange(8.0))
    # bulging sides: a point on a straight side is in the hull of its neighbours on that side
    Z = np.column_stack([x.ravel(), y.ravel()])
    Z = (Z - 3.5) * (1 + 0.02 * (24.5 - ((Z - 3.5) ** 2).sum(axis=1, keepdims=True)) / 24.5)
    _, near = nearest_neighbors(Z, 12)
    bases = np.tile(np.eye(2), (64, 1, 1))
    edge = on_edge(Z, bases, near, np.arange(64)).reshape(8, 8)
    border = np.ones((8, 8), dtype=bool)
    border[1:-1, 1:-1] = False
    np.testing.assert_array_equal(edge, border)


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


# ------------------------------------------------------------------ numbering, links


def test_rows_of_small_and_renumbered_components():
    labels = np.array([2, 0, 0, -1, 2, 2, 1])
    assert [rows.tolist() for rows in rows_of(labels)] == [[1, 2], [6], [0, 4, 5]]
    assert drop_small(labels, 2).tolist() == [1, 0, 0, -1, 1, 1, -1]
    dims = np.array([1, 2, 2, 3, 1, 1, 1])
    assert renumber(labels, dims).tolist() == [0, 2, 2, -1, 0, 0, 1]  # by dimension, then larger first
    assert drop_small(np.full(3, -1), 1).tolist() == [-1, -1, -1]


def test_crossing_lines_are_linked_apart():
    rng = np.random.default_rng(0)
    t = rng.uniform(-1, 1, (800, 1))
    Z = np.concatenate([t[:400] * [1.0, 0, 0], t[400:] * [0.0, 1, 0], rng.uniform(-1, 1, (50, 3))])
    _, near = nearest_neighbors(Z, 30)
    labels = link_components(Z, anchored_flats(Z, near, 1e-4, np.random.default_rng(0)), 2e-4)
    first, second = labels[:400], labels[400:800]
    assert (first >= 0).mean() > 0.95
    assert (second >= 0).mean() > 0.95
    assert not set(first[first >= 0]) & set(second[second >= 0])
