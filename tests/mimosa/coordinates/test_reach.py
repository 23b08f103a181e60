"""Units of any size give the same tree, and rows at any distance are described."""

import numpy as np
import pandas as pd
import pytest

from disentree import MIMOSA
from disentree.datasets import load_dataset
from disentree.mimosa.coordinates.reach import square, unit_of

POWERS = (-300, -200, -160, -40, 40, 160, 200, 300)


def test_units_are_powers_of_two_where_they_are_needed():
    X = np.random.default_rng(0).normal(size=(50, 3))
    assert (unit_of(X) == 1).all()
    assert (unit_of(X * 1e25) == 1).all()
    assert (unit_of(np.zeros((4, 2))) == 1).all()
    assert (unit_of(np.full((4, 2), np.nan)) == 1).all()
    assert (unit_of((X * 9).astype(int)) == 1).all()
    for power in POWERS:
        unit = unit_of(X * 10.0**power)
        assert len(set(unit)) == 1
        assert np.frexp(unit[0])[0] == 0.5
        assert 0.1 < np.abs(X * 10.0**power * unit).max() <= 1
    unit = unit_of(X * [1e-200, 1, 1e200])
    assert np.abs(np.log2(np.abs(X * [1e-200, 1, 1e200] * unit).max(axis=0))).max() < 3


@pytest.mark.parametrize("power", POWERS)
def test_squares_rise_and_are_numbers(power):
    u = np.array([1.0, 2.0, 1e3]) * 10.0**power
    assert np.isfinite(square(u)).all()
    assert (np.diff(square(u)) > 0).all() or power < -150
    assert np.isfinite(square(np.array([np.inf, 1.7e308]))).all()


@pytest.fixture(scope="module")
def iris():
    X = np.asarray(load_dataset("iris", numeric=True).X, float)
    return X, MIMOSA(n_jobs=1).fit(X)


@pytest.mark.parametrize("power", POWERS)
def test_an_array_in_any_unit_has_the_same_tree(iris, power):
    X, m = iris
    other = MIMOSA(n_jobs=1).fit(X * 10.0**power)
    assert other.hierarchy_.to_dict() == m.hierarchy_.to_dict()
    assert (other.labels_ == m.labels_).all()
    np.testing.assert_allclose(other.outlier_score(X * 10.0**power), m.outlier_score(X), atol=0.2)
    codes, before = other.transform(X * 10.0**power), m.transform(X)  # which clouds may be turned
    np.testing.assert_array_equal(np.isnan(codes), np.isnan(before))
    in_bits = 4 * power * np.log2(10)  # of a density in another unit
    assert other.score(X * 10.0**power) == pytest.approx(m.score(X) - in_bits, abs=0.1)


def table(power=0):
    """A table with gaps, categories, and a thing that exists in some rows."""
    rng = np.random.default_rng(3)
    n = 400
    kind = rng.random(n) < 0.5
    frame = pd.DataFrame(
        {
            "kind": np.where(kind, "round", "long"),
            "width": np.where(kind, rng.normal(4, 0.3, n), rng.normal(9, 0.4, n)),
            "height": np.where(rng.random(n) < 0.05, np.nan, rng.normal(3, 0.5, n)),
            "handle": np.where(kind, rng.lognormal(1, 0.4, n), np.nan),
        }
    )
    numbers = ["width", "height", "handle"]
    frame[numbers] *= 10.0**power
    return frame


@pytest.mark.parametrize("power", [-300, -160, 160, 300])
def test_a_table_in_any_unit_has_the_same_tree(power):
    m, other = MIMOSA(n_jobs=1).fit(table()), MIMOSA(n_jobs=1).fit(table(power))
    assert other.plain_hierarchy_.to_dict() == m.plain_hierarchy_.to_dict()
    assert (other.labels_ == m.labels_).all()
    np.testing.assert_allclose(other.outlier_score(table(power)), m.outlier_score(table()), atol=0.5)
    assert len(other.explain().splits) == len(m.explain().splits)


def test_columns_in_units_that_have_nothing_to_do_with_each_other(iris):
    X, m = iris
    other = MIMOSA(n_jobs=1).fit(X * [1e-200, 1e200, 1.0, 1e-90])
    assert len(other.hierarchy_.paths) == len(m.hierarchy_.paths)


@pytest.mark.parametrize("far", [1e30, 1e100, 1e160, 1e300, 1.7e308])
def test_rows_at_any_distance_have_a_score(iris, far):
    X, m = iris
    rows = np.tile(X[:1], (4, 1))
    rows[np.arange(4), np.arange(4)] = [far, -far, far, far]
    for column in range(4):
        near, row = X[:1].copy(), rows[[column]]
        near[0, column] = rows[column, column] / 1e20
        assert np.isfinite(m.outlier_score(row)).all()
        assert m.outlier_score(row)[0] > m.outlier_score(near)[0]
    np.testing.assert_allclose(m.predict_proba(rows).sum(axis=1), 1)
