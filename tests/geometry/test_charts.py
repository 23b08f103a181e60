"""Quadratic charts of curved manifolds."""

import numpy as np
import pytest

from disentree.geometry.charts import (
    chance_residuals,
    chart_offsets,
    chart_residuals,
    curved_tangents,
    fit_graph,
    n_quadratic_terms,
    quadratic_terms,
)
from disentree.geometry.neighbors import nearest_neighbors


def paraboloid(n=600, seed=0):
    x, y = np.random.default_rng(seed).uniform(-1, 1, (2, n))
    return np.column_stack([x, y, 0.8 * x**2 - 0.5 * x * y])


def test_quadratic_terms_by_hand():
    np.testing.assert_array_equal(quadratic_terms(np.array([[2.0, 3.0]])), [[1, 2, 3, 4, 6, 9]])
    assert quadratic_terms(np.ones((4, 5, 3))).shape == (4, 5, n_quadratic_terms(3))
    assert [n_quadratic_terms(d) for d in (1, 2, 3)] == [3, 6, 10]
    np.testing.assert_array_equal(quadratic_terms(np.array([[2.0, 3.0]]), 1), [[1, 2, 3]])
    assert n_quadratic_terms(3, 1) == 4


def test_a_graph_over_given_axes_by_hand():
    u = np.linspace(-3, 3, 41)
    Z = np.column_stack([u, 1 + u**2, 5 - 2 * u])
    center = Z.mean(axis=0)

    def solve(A, V):
        return np.linalg.lstsq(A, V, rcond=None)[0]

    graph, residuals = fit_graph(Z - center, center, np.eye(3), 1, 2, solve)
    assert (graph.dimension, graph.degree) == (1, 2)
    np.testing.assert_allclose(residuals, 0, atol=1e-12)
    U, off = graph.split(np.array([[2.0, 6.0, 1.0]]))  # (2, 5, 1) is on it
    np.testing.assert_allclose(U * u.std(), [[2]])
    np.testing.assert_allclose(off, [[1, 0]], atol=1e-12)
    assert fit_graph(Z - center, center, np.eye(3), 1, 1, solve)[0].degree == 1


def test_a_quadratic_surface_leaves_nothing_to_its_own_chart():
    Z = paraboloid()
    _, neighbors = nearest_neighbors(Z, 40)
    residuals, bases = chart_residuals(Z, neighbors)
    assert residuals.shape == (600, 2)
    assert np.median(residuals[:, 1]) < 0.02  # a chart over tangent axes is quadratic up to third order
    assert np.median(residuals[:, 0]) > 0.2  # a surface is no curve
    x, y = Z[:, 0], Z[:, 1]
    normals = np.column_stack([-1.6 * x + 0.5 * y, 0.5 * x, np.ones(600)])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    off = np.abs(np.einsum("ncd,nd->nc", bases[:, 1, :2], normals))
    assert np.median(off.max(axis=1)) < 0.02


def test_local_dimension_of_a_surface_and_of_a_cloud():
    cloud = np.random.default_rng(0).uniform(-1, 1, (600, 3))
    for Z, dimension in ((paraboloid(), 2), (cloud, 3)):
        _, neighbors = nearest_neighbors(Z, 40)
        tangents = curved_tangents(*chart_residuals(Z, neighbors), 0.3, chance_residuals(40, 3))
        assert np.mean(tangents.dimensions == dimension) > 0.9


def test_offsets_are_distances_from_the_surface():
    Z = paraboloid(3000)
    inner = np.flatnonzero(np.abs(Z[:, :2]).max(axis=1) < 0.8)[:50]
    _, neighbors = nearest_neighbors(Z, 25)
    others = Z[neighbors[inner]]
    lifted = Z[inner] + np.array([0, 0, 0.05])
    assert chart_offsets(Z[inner], others, 2).max() < 0.02
    sizes = np.sqrt(((others - lifted[:, None]) ** 2).sum(axis=2).mean(axis=1))
    slopes = np.sqrt(1 + (1.6 * Z[inner, 0] - 0.5 * Z[inner, 1]) ** 2 + (0.5 * Z[inner, 0]) ** 2)
    np.testing.assert_allclose(chart_offsets(lifted, others, 2) * sizes, 0.05 / slopes, rtol=0.25)


def test_too_few_neighbors_or_dimensions_give_no_chart():
    Z = np.random.default_rng(0).standard_normal((30, 1))
    residuals, bases = chart_residuals(Z, nearest_neighbors(Z, 10)[1])
    assert residuals.shape == (30, 0)
    assert bases.shape == (30, 0, 1, 1)
    tangents = curved_tangents(residuals, bases, 0.1, np.zeros(0))
    assert (tangents.dimensions == 1).all()


def test_duplicates_have_no_chart():
    residuals, _ = chart_residuals(np.zeros((40, 3)), np.tile(np.arange(1, 31), (40, 1)))
    assert residuals == pytest.approx(1)
