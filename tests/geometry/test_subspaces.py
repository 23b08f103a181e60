"""Affine subspaces, distances from them and angles between them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from disentree.geometry.subspaces import (
    AffineSubspace,
    clearness,
    gram_schmidt,
    plane_cosine,
    reach,
    relative_distances,
    small_determinant,
    subspace_cosines,
)


def test_clearness_by_hand():
    assert clearness(100, 0, 4) == pytest.approx(96 / np.sqrt(101))
    assert clearness(100, 50, 4) < 0  # a set of one dimension more
    np.testing.assert_allclose(clearness(np.array([100, 50]), np.array([0, 0]), 4), [96 / 101**0.5, 46 / 51**0.5])


def test_a_fitted_plane_by_hand():
    corners = np.array([[12.0, 1, 3], [8, 1, 3], [12, -1, 3], [8, -1, 3]])
    plane = AffineSubspace.fit(corners, 2)
    assert plane.dimension == 2
    np.testing.assert_allclose(plane.center, [10, 0, 3])
    np.testing.assert_allclose(np.abs(plane.basis), [[1, 0, 0], [0, 1, 0]], atol=1e-12)
    np.testing.assert_allclose(plane.spread, [2, 1])
    assert plane.explained == pytest.approx(1)
    new = np.array([[11.0, 2, 7], [10, 0, 3]])
    np.testing.assert_allclose(plane.distances(new), [4, 0], atol=1e-12)
    np.testing.assert_allclose(plane.project(new), [[11, 2, 3], [10, 0, 3]], atol=1e-12)
    np.testing.assert_allclose(np.abs(plane.coordinates(new)), [[1, 2], [0, 0]], atol=1e-12)
    line = AffineSubspace.fit(corners, 1)
    assert line.explained == pytest.approx(4 / 5)
    np.testing.assert_allclose(line.distances(corners), 1)


def test_distances_of_points_on_a_subspace_are_rounding():
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((200, 2)) @ rng.standard_normal((2, 6)) + 100
    assert AffineSubspace.fit(Y, 2).distances(Y).max() < 1e-11


def test_a_point_and_the_whole_space():
    Y = np.random.default_rng(0).standard_normal((20, 3))
    np.testing.assert_allclose(AffineSubspace.fit(Y, 0).distances(Y), np.linalg.norm(Y - Y.mean(axis=0), axis=1))
    np.testing.assert_allclose(AffineSubspace.fit(Y, 3).distances(Y), 0, atol=1e-12)


def test_relative_distances_by_hand():
    Z = np.array([[3.0, 4.0], [5.0, 0.0], [1.0, 1.0]])
    anchors = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]])
    bases = np.tile([[[1.0, 0.0]]], (3, 1, 1))
    np.testing.assert_allclose(relative_distances(Z, anchors, bases), [0.8, 0, 0], atol=1e-12)


def test_cosines_are_products_over_principal_angles():
    a = np.deg2rad(30)
    e = np.eye(4)
    both = np.array([np.cos(a) * e[0] + np.sin(a) * e[2], np.cos(a) * e[1] + np.sin(a) * e[3]])
    pairs = np.stack([e[:2], both]), np.stack([both, both])
    np.testing.assert_allclose(subspace_cosines(*pairs), [np.cos(a) ** 2, 1])


@given(st.integers(0, 10_000), st.integers(1, 6))
def test_determinants(seed, n):
    A = np.random.default_rng(seed).standard_normal((n, n))
    assert small_determinant(A.copy()) == pytest.approx(np.linalg.det(A), abs=1e-10)


@given(st.integers(0, 10_000), st.integers(1, 4))
def test_compiled_cosines_are_those_of_the_formula(seed, d):
    rng = np.random.default_rng(seed)
    U, V = (np.linalg.qr(rng.standard_normal((5, d)))[0].T.copy() for _ in range(2))
    assert plane_cosine(U, V) == pytest.approx(subspace_cosines(U[None], V[None])[0], abs=1e-12)


@given(st.integers(0, 10_000), st.integers(1, 4))
def test_gram_schmidt_spans_its_rows(seed, d):
    Y = np.random.default_rng(seed).standard_normal((8, 5))
    rows, B = np.arange(d)[::-1].copy(), np.empty((5, 5))
    assert gram_schmidt(Y, rows, d, 0.0, B)
    np.testing.assert_allclose(B[:d] @ B[:d].T, np.eye(d), atol=1e-10)
    np.testing.assert_allclose(Y[rows] @ B[:d].T @ B[:d], Y[rows], atol=1e-8)


def test_gram_schmidt_refuses_rows_that_depend_on_each_other():
    Y = np.array([[1.0, 0, 0], [2, 0, 0], [1, 0.1, 0]])
    B = np.empty((3, 3))
    assert not gram_schmidt(Y, np.array([0, 1]), 2, 0.0, B)
    assert not gram_schmidt(Y, np.array([0, 2]), 2, 0.02, B)
    assert gram_schmidt(Y, np.array([0, 2]), 2, 0.009, B)


def test_reach_by_hand():
    assert reach(1) == pytest.approx(1.96, abs=0.001)
    assert reach(2) == pytest.approx(np.sqrt(-2 * np.log(0.05)))
