"""Which points are in the hull of others."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import Delaunay

from disentree.geometry.neighbors import nearest_neighbors
from disentree.mimosa.paper.hulls import hull_contains_origin, on_edge


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
    # bulging sides: a point on a straight side is in the hull of its neighbors on that side
    Z = np.column_stack([x.ravel(), y.ravel()])
    Z = (Z - 3.5) * (1 + 0.02 * (24.5 - ((Z - 3.5) ** 2).sum(axis=1, keepdims=True)) / 24.5)
    _, near = nearest_neighbors(Z, 12)
    bases = np.tile(np.eye(2), (64, 1, 1))
    edge = on_edge(Z, bases, near, np.arange(64)).reshape(8, 8)
    border = np.ones((8, 8), dtype=bool)
    border[1:-1, 1:-1] = False
    np.testing.assert_array_equal(edge, border)
