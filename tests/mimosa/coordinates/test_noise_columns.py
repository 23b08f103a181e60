"""Columns of pure noise: which they are, and that they are no dimension of a leaf (`search/structure.py`)."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from disentree import MIMOSA
from disentree.datasets import load_dataset
from disentree.mimosa.coordinates.noise_columns import noise_columns


def line_and_cloud(seed, n, n_noise=18, noise=0.02):
    """Half of the rows on a line in two columns, half in a cloud around it, beside noise; standardized."""
    rng = np.random.default_rng(seed)
    on = rng.random(n) < 0.5
    t = rng.uniform(-1, 1, n)
    P = np.where(on[:, None], np.column_stack([t, 0.7 * t]) + noise * rng.standard_normal((n, 2)), 0)
    P[~on] = rng.normal(0, 0.6, (int((~on).sum()), 2))
    X = np.column_stack([P, rng.standard_normal((n, n_noise))])
    return (X - X.mean(axis=0)) / X.std(axis=0), on


def dependences(n=4000):
    """A column that depends on none, and others that do: by a correlation, by their spread, and by the sign of two
    others, which no pair of columns shows."""
    rng = np.random.default_rng(0)
    a, b, c, e, f, noise = rng.standard_normal((6, n))
    correlated = 0.2 * a + np.sqrt(0.96) * b
    signed = np.abs(c) * np.sign(e * f)
    return np.column_stack([a, correlated, e, f, signed, noise])


def test_noise_depends_on_no_pair_of_other_columns():
    assert noise_columns(dependences()).tolist() == [False] * 5 + [True]


def test_a_column_that_is_not_normal_is_a_variable():
    X = dependences()
    X[:, -1] = np.random.default_rng(1).uniform(-1, 1, len(X))
    assert not noise_columns(X).any()


def test_columns_that_are_all_independent_are_no_noise():
    assert not noise_columns(np.random.default_rng(0).standard_normal((2000, 8))).any()
    assert not noise_columns(load_dataset("integers", n_samples=2000, seed=0).X).any()


@pytest.mark.parametrize("seed", range(3))
def test_neither_order_nor_units_nor_a_strange_value_matter(seed):
    rng = np.random.default_rng(seed)
    X, _ = line_and_cloud(seed, 2000, 5)
    expected = np.arange(7) >= 2
    np.testing.assert_array_equal(noise_columns(X), expected)
    columns, rows = rng.permutation(7), rng.permutation(len(X))
    other = (X * rng.uniform(0.1, 1e4, 7) + rng.normal(0, 10, 7))[rows][:, columns]
    np.testing.assert_array_equal(noise_columns(other), expected[columns])
    X[7, 4] = 100.0
    np.testing.assert_array_equal(noise_columns(X), expected)


def test_an_arc_among_columns_of_noise_has_one_dimension():
    rng = np.random.default_rng(0)
    angle = rng.uniform(-2, 2, 5000)
    P = np.column_stack([np.sin(angle), np.cos(angle)]) + 0.02 * rng.standard_normal((5000, 2))
    X = np.column_stack([P, rng.standard_normal((5000, 18))])
    X = ((X - X.mean(axis=0)) / X.std(axis=0))[:3000]
    m = MIMOSA(random_state=0, n_jobs=1).fit(X)
    assert [c.dimension for c in m.components_] == [1]
    # codes do not show the noise
    np.testing.assert_array_equal(m.transform(X + 5 * (np.arange(20) > 1)), m.transform(X))


def test_clouds_vary_by_all_columns():
    ds = load_dataset("blobs", n_samples=800, seed=0)
    assert noise_columns(ds.X).sum() == 3
    m = MIMOSA(random_state=0, n_jobs=1).fit(ds.X)
    assert [c.dimension for c in m.components_] == [5, 5]


@pytest.mark.parametrize("seed", range(2, 4))
def test_groups_have_the_dimensions_that_their_own_rows_fill(seed):
    """Three round clusters in four columns: rows of all of them spread most along one direction."""
    rng = np.random.default_rng(seed)
    kind, centers = rng.integers(0, 3, 600), rng.normal(0, 4, (3, 4))
    X = centers[kind] + rng.standard_normal((600, 4))
    m = MIMOSA(random_state=0, n_jobs=1).fit(X)
    assert [c.dimension for c in m.components_] == [4, 4, 4]
    # a lone strange value is a mistake, and decides nothing
    X[5, 1] += 50 * np.ptp(X[:, 1])
    other = MIMOSA(random_state=0, n_jobs=1).fit(X)
    assert [c.dimension for c in other.components_] == [4, 4, 4]
    assert adjusted_rand_score(m.labels_, other.labels_) > 0.95
