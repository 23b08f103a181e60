"""Values that pile up at an end of a column's range."""

from __future__ import annotations

import numpy as np

from disentree.mimosa.coordinates.columns import Columns
from disentree.mimosa.search.heaps import spread_heaps, within_steps

X = np.random.default_rng(0).normal(size=(1000, 3))


def spread(Y, basis=None):
    basis = np.eye(Y.shape[1]) if basis is None else basis
    columns = Columns(np.zeros(Y.shape[1]), basis, np.full(Y.shape[1], 1e-9))
    return spread_heaps(Y @ np.linalg.inv(basis), columns, np.random.default_rng(1)) @ basis


def test_values_above_a_limit_are_spread_beyond_it():
    Y = X.copy()
    Y[:, 1] = np.minimum(Y[:, 1], 1.0)
    own = Y[:, 1] == 1.0
    turned = np.linalg.qr(X[:3])[0]
    for basis in (None, turned, turned * [1.0, 50.0, 0.01]):  # in any coordinates, also of standardized columns
        Z = spread(Y, basis)
        np.testing.assert_allclose(Z[~own], Y[~own], atol=1e-9)
        np.testing.assert_allclose(Z[:, [0, 2]], Y[:, [0, 2]], atol=1e-9)
        assert (Z[own, 1] > 1).all()
        # as densely as rows lie before the limit
        before = ((Y[:, 1] > 0.8) & ~own).sum() / 0.2
        after = (Z[own, 1] < 1.2).sum() / 0.2
        assert 0.5 < after / before < 1.5


def test_the_lower_end_is_as_the_upper():
    Y = X.copy()
    Y[:, 0] = np.maximum(Y[:, 0], -1.2)
    assert (spread(Y)[Y[:, 0] == -1.2, 0] < -1.2).all()
    np.testing.assert_allclose(spread(-Y), -spread(Y), atol=1e-9)


def test_what_is_absent_stays():
    gap = X.copy()
    gap[:, 0] = np.where(X[:, 1] > 0, 0.0, 3 + np.abs(X[:, 0]))  # nothing, or far from nothing
    np.testing.assert_array_equal(spread(gap), gap)
    shared = np.maximum(X, 0.5)
    shared[X[:, 0] < 0.5] = 0.5  # all at once
    np.testing.assert_array_equal(spread(shared), shared)


def test_nothing_piles_up_in_plain_numbers():
    np.testing.assert_array_equal(spread(X), X)
    counts = np.random.default_rng(0).poisson(1.0, (1000, 3)).astype(float)
    columns = Columns(np.zeros(3), np.eye(3), np.ones(3))
    np.testing.assert_array_equal(spread_heaps(counts, columns, np.random.default_rng(1)), counts)


def test_values_that_are_rounded_in_some_rows_are_spread_between_their_neighbors():
    Y = X.copy()
    some = np.random.default_rng(1).random(len(Y)) < 0.7
    Y[some, 1] = np.round(Y[some, 1])
    Z = spread(Y)
    np.testing.assert_allclose(Z[~some], Y[~some], atol=1e-9)
    inner = some & (np.abs(Y[:, 1]) < 1.5)
    assert len(np.unique(Z[inner, 1])) == inner.sum()
    np.testing.assert_array_less(np.abs(Z[inner, 1] - Y[inner, 1]), 0.5 + 1e-9)


def test_a_value_is_kept_where_other_columns_change_with_it():
    Y, own = X.copy(), X[:, 2] > 0.5
    Y[own, 0] = 0.2
    thin = Y.copy()
    thin[own, 1] = 2 * X[own, 2]  # on a line there
    np.testing.assert_array_equal(spread(thin), thin)
    together = Y.copy()
    together[own, 1] = 0.3  # heaps of two columns in the same rows
    np.testing.assert_array_equal(spread(together), together)


def test_one_value_that_repeats_among_others_that_do_not_is_kept():
    rng = np.random.default_rng(1)
    for share in (0.3, 0.6):
        alone = X.copy()
        alone[rng.random(len(X)) < share, 0] = 0.2
        np.testing.assert_array_equal(spread(alone), alone)
    few = rng.normal(size=(3000, 3))
    few[:, 0] = np.round(100 * few[:, 0]) / 100  # all values repeat, and one is common
    few[rng.random(len(few)) < 0.3, 0] = 0.25
    own = few[:, 0] == 0.25
    assert (spread(few)[own, 0] != few[own, 0]).any()


def test_gaps_between_few_values_of_a_column_are_filled():
    rng = np.random.default_rng(2)
    sites = np.sort(rng.normal(size=150))
    assert np.diff(sites).min() > 1e-9
    x = sites[rng.integers(0, 150, 9000)]
    moved = within_steps(x, 1e-9, rng)
    at = np.searchsorted(sites, x)
    steps = np.diff(sites)
    assert (moved <= np.append(steps, steps[-1])[at] / 2).all()
    assert (moved >= -np.append(steps[0], steps)[at] / 2).all()
    order = np.argsort(x + moved)
    assert (np.diff(at[order]) >= 0).all()  # no row passes another value
    assert np.diff((x + moved)[order]).max() < 0.5 * steps.max()
    for plain in (X[:, 0], np.round(x), sites[rng.integers(0, 150, 1000)]):  # all differ; a grid; too few rows
        precision = 1.0 if plain.max() == round(plain.max()) else 1e-9
        assert not within_steps(plain, precision, rng).any()
