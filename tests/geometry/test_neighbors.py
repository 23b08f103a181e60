"""Nearest neighbors, the dimension they fill, and samples of rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from disentree.geometry.neighbors import intrinsic_dimension, nearest_neighbors, thinned


def test_neighbors_on_a_line_without_the_point_itself():
    distances, indices = nearest_neighbors(np.array([[0.0], [1.0], [3.0], [7.0]]), 2)
    assert indices.tolist() == [[1, 2], [0, 2], [1, 0], [2, 1]]
    assert distances.tolist() == [[1, 3], [1, 2], [2, 3], [4, 6]]


def test_more_duplicates_than_neighbors():
    distances, indices = nearest_neighbors(np.zeros((10, 2)), 3)
    assert indices.shape == (10, 3)
    assert (distances == 0).all()
    assert (indices != np.arange(10)[:, None]).all()


@given(st.integers(0, 1000), st.integers(3, 40), st.integers(1, 5))
def test_neighbors_are_those_of_all_distances(seed, n, k):
    Z = np.random.default_rng(seed).standard_normal((n, 2))
    k = min(k, n - 1)
    distances, indices = nearest_neighbors(Z, k)
    full = np.linalg.norm(Z[:, None] - Z, axis=2)
    np.testing.assert_allclose(distances, np.sort(full, axis=1)[:, 1 : k + 1])
    np.testing.assert_allclose(np.take_along_axis(full, indices, axis=1), distances)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_dimension_that_rows_fill(d):
    rng = np.random.default_rng(0)
    Z = rng.uniform(-1, 1, (4000, d)) @ np.linalg.qr(rng.standard_normal((5, d)))[0].T
    assert intrinsic_dimension(Z) == pytest.approx(d, rel=0.1)
    assert intrinsic_dimension(np.concatenate([Z, Z])) == pytest.approx(d, rel=0.1)  # places, not rows


def test_too_few_places_fill_no_dimension():
    assert intrinsic_dimension(np.array([[0.0], [1.0], [1.0]])) == float("inf")
    assert intrinsic_dimension(np.zeros((10, 0))) == float("inf")


@given(st.integers(0, 50), st.integers(1, 20))
def test_thinned_rows_are_some_of_them_from_first_to_last(m, n):
    rows = 7 + np.arange(m)
    some = thinned(rows, n)
    assert len(some) == min(m, n)
    assert np.isin(some, rows).all()
    assert (np.diff(some) > 0).all()
    if min(m, n) > 1:
        assert (some[0], some[-1]) == (rows[0], rows[-1])
