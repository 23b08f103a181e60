"""Fits that are told what is known: weights, labels of some rows, where to look. Also `search/given.py`."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from disentree import MIMOSA
from disentree.datasets import load_dataset
from disentree.mimosa.steering.asked import rows_drawn


@pytest.mark.parametrize("name", ["blobs", "penguins"])
def test_whole_weights_are_repeated_rows(name, tmp_path):
    X = load_dataset(name, **({"n_samples": 300, "seed": 0} if name == "blobs" else {})).X
    times = np.random.default_rng(0).integers(0, 3, len(X))
    rows = np.repeat(np.arange(len(X)), times)
    repeated = X.iloc[rows].reset_index(drop=True) if name == "penguins" else X[rows]
    m = MIMOSA(random_state=0).fit(X, sample_weight=times)
    again = MIMOSA(random_state=0).fit(repeated)
    assert m.hierarchy_ == again.hierarchy_
    assert len(m.labels_) == len(X)
    assert_array_equal(np.repeat(m.labels_, times), again.labels_)
    assert_array_equal(m.predict(X), m.labels_)
    assert_allclose(m.transform(X), again.transform(X))
    assert str(m.explain()) == str(again.explain())
    assert m.codes_.shape == (len(X), m.hierarchy_.n_variables)
    m.save(tmp_path)
    assert_allclose(MIMOSA.load(tmp_path).transform(X), m.transform(X))


def test_other_weights_are_shares_of_as_many_rows():
    weights = np.array([0.5, 0.25, 0.0, 2.25, 1.5, 1.5])
    drawn = [np.bincount(rows_drawn(6, weights, random_state=seed), minlength=6) for seed in range(300)]
    for times in drawn:
        assert times.sum() == 6
        assert (np.abs(times - weights) < 1).all()
    assert_allclose(np.mean(drawn, axis=0), weights, atol=0.1)
    assert_array_equal(rows_drawn(6, weights), rows_drawn(6, 1000 * weights))


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"sample_weight": [-1.0] + [1.0] * 39}, "sample_weight must be numbers, 0 or more"),
        ({"sample_weight": [1.0] + [0.0] * 39}, "above 0 for two rows or more"),
        ({"within": np.arange(3) == 1}, "within must be truth values for all 40 rows"),
        ({"within": np.arange(40) == 1}, "within must have two rows or more, got 1"),
        ({"within": [0, 40]}, "within must be truth values"),
        ({"partial_labels": [0, 1]}, "a whole number for each of 40 rows"),
        ({"partial_labels": np.full(40, -2)}, "a whole number for each of 40 rows"),
        ({"column_weights": [1.0]}, "column_weights must be 2 numbers"),
        ({"column_weights": [0, 0]}, "not all 0"),
        ({"column_weights": {"x9": 1}}, "there is no column 'x9'"),
    ],
)
def test_mistakes_are_told(asked, sentence):
    X = np.random.default_rng(0).normal(size=(40, 2))
    with pytest.raises(ValueError, match=sentence):
        MIMOSA().fit(X, **asked)


def groups(*centers, n=100):
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(size=(n, 2)) + np.array(center) for center in centers])


def test_looking_in_one_leaf_only(tmp_path):
    X = groups((40, 0), (0, -2.5), (0, 2.5))
    inside = np.arange(300) >= 100
    m = MIMOSA(random_state=0).fit(X, within=inside)
    assert (m.labels_[~inside] == -1).all()
    assert_array_equal(m.labels_[inside], MIMOSA(random_state=0).fit(X[inside]).labels_)
    assert np.isnan(m.codes_[~inside]).all()
    assert_array_equal(m.predict(X[inside]), m.labels_[inside])
    m.save(tmp_path)
    assert_array_equal(MIMOSA.load(tmp_path).labels_, m.labels_)
    assert (m.cut(1).labels_ == np.where(inside, 0, -1)).all()
    coarse = MIMOSA(random_state=0, n_leaves=2).fit(X)
    leaf = int(coarse.labels_[-1])
    own = coarse.labels_ == leaf
    assert_array_equal(coarse.fit(X, within=leaf).labels_ >= 0, own)


def test_rows_of_two_labels_are_not_one_leaf(tmp_path):
    X = groups((0, 0), n=300)
    low = np.argsort(X[:, 0])
    labels = np.full(300, -1)
    labels[low[:20]], labels[low[-20:]] = 0, 1
    assert len(MIMOSA(random_state=0).fit(X).hierarchy_.paths) == 1
    m = MIMOSA(random_state=0).fit(X, partial_labels=labels)
    assert len(m.hierarchy_.paths) == 2
    assert m.told_ == []
    assert len(set(m.labels_[labels == 0])) == len(set(m.labels_[labels == 1])) == 1
    assert m.labels_[low[0]] != m.labels_[low[-1]]
    assert_array_equal(m.predict(X), m.labels_)
    m.save(tmp_path)
    assert_array_equal(MIMOSA.load(tmp_path).predict(X), m.labels_)


def test_rows_of_one_label_are_one_leaf_unless_the_data_insists():
    X = groups((40, 0), (0, -2.5), (0, 2.5))
    labels = np.full(300, -1)
    labels[100:110] = labels[200:210] = 0
    m = MIMOSA(random_state=0).fit(X, partial_labels=labels)
    assert len(set(m.labels_[100:])) == 1
    assert m.told_ == []
    labels[:10] = 0
    m = MIMOSA(random_state=0).fit(X, partial_labels=labels)
    assert len(set(m.labels_[100:])) == 1
    assert m.labels_[0] != m.labels_[100]
    assert len(m.told_) == 1
    assert m.told_[0].startswith("label 0 stays on 2 leaves")


def test_weights_of_columns():
    rng = np.random.default_rng(0)
    first, second = np.repeat([0, 1], 100), np.tile([0, 1], 100)
    X = rng.normal(size=(200, 4)) + 9 * np.stack([first, first, second, second], axis=1)
    for weights, kept, left in (([1, 1, 0, 0], first, second), ([0, 0, 2, 1], second, first)):
        m = MIMOSA(random_state=0).fit(X, column_weights=weights)
        assert len(m.hierarchy_.paths) == 2
        assert abs(np.corrcoef(m.labels_, kept)[0, 1]) > 0.99
        assert abs(np.corrcoef(m.labels_, left)[0, 1]) < 0.2
        assert_array_equal(m.predict(X), m.labels_)
    table = load_dataset("penguins").X
    m = MIMOSA(random_state=0).fit(table, column_weights={"island": 0, "sex": 0, "bill_length_mm": 2})
    assert "island" not in m.table_.codec.feature_names
    assert not any(name.startswith(("island", "sex")) for name in m.table_.codec.feature_names)
    assert_array_equal(m.predict(table), m.labels_)
