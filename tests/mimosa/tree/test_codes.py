"""`MIMOSA.transform` and `MIMOSA.score`."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from disentree import MIMOSA, metrics
from disentree.datasets import load_dataset


@pytest.fixture(scope="module")
def sticks():
    ds = load_dataset("chopsticks-depth2-both", n_samples=3000, seed=0)
    return ds, MIMOSA(n_jobs=1).fit(ds.X[:2000])


def test_codes_are_those_of_the_truth(sticks):
    ds, model = sticks
    codes = model.transform(ds.X[2000:])
    assert (model.hierarchy_.path_of(codes) == model.predict(ds.X[2000:])).all()
    assert metrics.r4c_score(ds.codes[2000:], codes, ds.hierarchy, model.hierarchy_, n_jobs=1) > 0.99
    assert model.get_feature_names_out().tolist() == [v.name for v in model.hierarchy_.variables]


def test_codes_of_a_saved_model_are_the_same(sticks, tmp_path):
    ds, model = sticks
    model.save(tmp_path)
    again = MIMOSA.load(tmp_path)
    np.testing.assert_allclose(again.transform(ds.X[2000:]), model.transform(ds.X[2000:]))


def test_codes_follow_a_new_fit():
    rng = np.random.default_rng(0)
    model = MIMOSA(n_jobs=1)
    one, other = rng.normal(size=(200, 3)), rng.normal(size=(200, 3)) * [1, 5, 9] + 40
    model.fit(one).transform(one)
    expected = MIMOSA(n_jobs=1).fit(other).transform(other)
    np.testing.assert_array_equal(model.fit(other).transform(other), expected)


def test_codes_of_a_data_frame_with_a_column_that_only_some_rows_have(tmp_path):
    rng = np.random.default_rng(0)
    size, has = rng.normal(size=300), rng.random(300) < 0.6
    frame = pd.DataFrame({"size": size, "weight": 2 * size + 0.1 * rng.normal(size=300)})
    frame["garage"] = np.where(has, rng.normal(size=300), np.nan)
    frame["kind"] = np.where(has, "house", "flat")
    model = MIMOSA(n_jobs=1).fit(frame)
    codes = model.transform(frame)
    model.hierarchy_.validate(codes)
    assert (model.hierarchy_.path_of(codes) == model.predict(frame)).all()
    model.save(tmp_path)
    np.testing.assert_allclose(MIMOSA.load(tmp_path).transform(frame), codes)
    assert np.isfinite(model.score(frame))


def test_the_score_of_a_gaussian_by_hand():
    """Entropy of a unit Gaussian in two dimensions: log2(2 pi e) = 4.09 bits; twice as wide is two more."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 2))
    model = MIMOSA(n_jobs=1).fit(X[:2000])
    assert model.score(X[2000:]) == pytest.approx(-np.log2(2 * np.pi * np.e), abs=0.15)
    wide = MIMOSA(n_jobs=1).fit(2 * X[:2000])
    assert wide.score(2 * X[2000:]) == pytest.approx(model.score(X[2000:]) - 2, abs=0.05)
    assert model.score(X[2000:] + 3) < model.score(X[2000:]) - 3


def test_one_strange_row_does_not_make_it_infinite(sticks):
    ds, model = sticks
    strange = ds.X[2000:].copy()
    strange[0] += 1e9
    assert model.score(ds.X[2000:]) > model.score(strange) > -np.inf


def test_a_grid_search_chooses_by_it():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(80, 2)), rng.normal(size=(80, 2)) + 9])
    search = GridSearchCV(MIMOSA(n_jobs=1), {"n_neighbors": [10, 20]}, cv=2).fit(X)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert (
        make_pipeline(search.best_estimator_).transform(X).shape[1]
        == search.best_estimator_.hierarchy_.n_variables
    )
