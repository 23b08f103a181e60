"""Levels, cut, merge, split and names of a fitted tree; covers `tree/levels.py`, `tree/steering.py` and
`hierarchy/merging.py`."""

from dataclasses import fields
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from disentree import MIMOSA
from disentree.datasets import load_dataset
from disentree.mimosa.fit import Fit

TABLES = {
    "penguins": {},  # a table with empty cells
    "iris": {"numeric": True},
    "blobs": {"n_samples": 600, "seed": 0},
    "chopsticks-depth2-either": {"n_samples": 1500, "seed": 0},
}
_fitted = {}


@pytest.fixture(params=TABLES)
def fitted(request):
    name = request.param
    if name not in _fitted:
        X = load_dataset(name, **TABLES[name]).X
        _fitted[name] = X, MIMOSA(random_state=0).fit(X)
    return _fitted[name]


def parts_of(fine, coarse):
    """For each leaf of a fine partition the leaves of a coarse one that its rows are on."""
    return [np.unique(coarse[fine == leaf]) for leaf in np.unique(fine)]


def test_cuts_are_nested_and_agree_with_predict(fitted, tmp_path):
    X, m = fitted
    n = len(m.hierarchy_.paths)
    cuts = [m.cut(k) for k in range(1, n + 1)]
    assert n > 1
    assert_array_equal(cuts[-1].labels_, m.labels_)
    for k, (coarse, fine) in enumerate(zip([None, *cuts], cuts, strict=False), start=1):
        assert len(fine.hierarchy_.paths) <= k
        assert_array_equal(fine.predict(X), fine.labels_)
        np.testing.assert_allclose(fine.predict_proba(X).sum(axis=1), 1.0)
        assert fine.transform(X).shape == (len(X), fine.hierarchy_.n_variables)
        assert len(fine.place(X[:3]).columns) >= 4
        if coarse is not None:
            assert all(len(leaves) == 1 for leaves in parts_of(fine.labels_, coarse.labels_))
    two = m.cut(2)
    two.save(tmp_path)
    again = MIMOSA.load(tmp_path)
    assert again.hierarchy_ == two.hierarchy_
    assert_array_equal(again.predict(X), two.labels_)
    assert [level["n_leaves"] for level in m.levels_][-1] == n
    assert m.linkage_.shape[1] == 4


def test_split_undoes_merge(fitted):
    X, m = fitted
    some = np.unique(m.labels_)[:2].tolist()
    merged = m.merge(some)
    assert len(merged.hierarchy_.paths) < len(m.hierarchy_.paths)
    assert_array_equal(merged.predict(X), merged.labels_)
    assert len(np.unique(merged.labels_[np.isin(m.labels_, some)])) == 1
    back = merged.split(int(merged.labels_[m.labels_ == some[0]][0]))
    assert back.hierarchy_ == m.hierarchy_
    assert_array_equal(back.labels_, m.labels_)
    assert_array_equal(back.transform(X), m.transform(X))


@pytest.fixture(scope="module")
def divided():
    """One group, whose only leaf is divided by labels of some rows."""
    X = np.random.default_rng(0).normal(size=(300, 2))
    low, labels = np.argsort(X[:, 0]), np.full(300, -1)
    labels[low[:30]], labels[low[-30:]] = 0, 1
    m = MIMOSA(random_state=0).fit(X)
    return X, m, m._split_by(0, labels)


def test_merge_undoes_a_split_that_looked_inside(divided, tmp_path):
    X, m, finer = divided
    assert not m.labels_.any()
    assert len(finer.hierarchy_.paths) == 2
    assert_array_equal(finer.predict(X), finer.labels_)
    assert "kind" in {v.name for v in finer.hierarchy_.variables}
    finer.save(tmp_path)
    again = MIMOSA.load(tmp_path)
    assert_array_equal(again.predict(X), finer.labels_)
    for model in (finer, again):
        back = model.merge([0, 1])
        assert back.hierarchy_ == m.hierarchy_
        assert back.steering_ is None
        assert_array_equal(back.labels_, m.labels_)
        assert_array_equal(back.transform(X), m.transform(X))
    one = finer.cut(1)
    assert not one.labels_.any()
    assert_array_equal(one.predict(X), one.labels_)


def test_what_cannot_be_merged_or_split(divided):
    _, m, finer = divided
    for paths in ([0], [0, 0], [0, 9]):
        with pytest.raises(ValueError, match="paths must be two or more different paths of 0 to"):
            finer.merge(paths)
    for path in (-1, 9, True):
        with pytest.raises(ValueError, match="path must be a path of 0 to"):
            m.split(path)
    with pytest.raises(ValueError, match="nothing was found inside"):
        m.split(0)
    with pytest.raises(ValueError, match="n_leaves must be a whole number, 1 or more, got 0"):
        m.cut(0)


def test_names_stay_where_the_tree_is_steered(tmp_path):
    m = MIMOSA(random_state=0).fit(load_dataset("penguins").X)
    other = m.leaf_names_[1]
    m.rename({0: "large", other: "long"})
    assert m.leaf_names_[:2].tolist() == ["large", "long"]
    merged = m.merge([0, 2])
    assert "long" in merged.leaf_names_
    assert "large" not in merged.leaf_names_
    merged.save(tmp_path)
    back = MIMOSA.load(tmp_path).split(int(merged.labels_[m.labels_ == 0][0]))
    assert back.leaf_names_.tolist() == m.leaf_names_.tolist()
    for wrong in (-1, 7, True):
        with pytest.raises(ValueError, match="a path must be a whole number of 0 to 2"):
            m.rename({wrong: "x"})
    with pytest.raises(ValueError, match="all rows are one leaf"):
        m.cut(1).rename({0: "x"})


def test_a_merged_tree_is_named_by_its_rows_now():
    rng = np.random.default_rng(0)
    firm, some = rng.random(600) < 0.5, rng.random(600) < 0.4
    numbers = {
        "age": np.where(firm, np.nan, rng.normal(40, 9, 600)),
        "staff": np.where(firm, rng.normal(90, 9, 600), np.nan),
        "rebate": np.where(firm & some, rng.normal(5, 1, 600), np.nan),
    }
    m = MIMOSA(random_state=0).fit(pd.DataFrame({**numbers, "size": rng.normal(size=600)}))
    private, rebate = (int(np.bincount(m.labels_[rows]).argmax()) for rows in (~firm, firm & some))
    plain = next(path for path in range(3) if path not in (private, rebate))
    m.rename({private: "persons"})
    merged = m.merge([private, plain])
    assert len(merged.leaf_names_) == len(m.leaf_names_) - 1 == 2
    assert not {*merged.leaf_names_} & {*m.leaf_names_}
    assert not any(" or " in name or name in ("staff", "persons") for name in merged.leaf_names_)
    assert not any("rest of" in name for name in merged.leaf_names_)


def test_a_split_looks_as_the_fit_did():
    X = np.random.default_rng(0).normal(size=(300, 2))
    X[200:, 1] += 30
    for known in ({"sample_weight": np.arange(300) < 200}, {"column_weights": [1, 0]}):
        m = MIMOSA(random_state=0, n_jobs=1).fit(X, **known)
        assert not m.labels_.any()
        with pytest.raises(ValueError, match="nothing was found inside"):
            m.split(0)
        assert m.stability(2).n_components == {1: 2}


def test_a_loaded_model_takes_its_rows(divided, tmp_path):
    X, m, _ = divided
    m.save(tmp_path / "one")
    loaded = MIMOSA.load(tmp_path / "one")
    with pytest.raises(ValueError, match="that was loaded has no rows: give X"):
        loaded.split(0)
    with pytest.raises(ValueError, match="nothing was found inside all rows"):
        loaded.split(0, X=X)
    with pytest.raises(ValueError, match="X must be the 300 rows that it was fitted to, got 200"):
        loaded.split(0, X=X[:200])
    frame = load_dataset("penguins").X
    named = MIMOSA(random_state=0).fit(frame)
    named.save(tmp_path / "penguins")
    loaded = MIMOSA.load(tmp_path / "penguins")
    assert loaded.cut(2, X=frame).hierarchy_.to_dict() == named.cut(2).hierarchy_.to_dict()
    assert loaded.merge([0, 1], X=frame).leaf_names_.tolist() == named.merge([0, 1]).leaf_names_.tolist()
    assert [len(names) for names in named.level_names_] == [1, 2, 3]
    assert named.level_names_[1] == named.cut(2).leaf_names_.tolist()
    told = named.cut(2).summary()
    assert "The search found 3 leaves, of which some were merged: now 2." in told
    assert "bits fewer" in named.summary()
    assert "bits fewer" not in told  # those are of the tree that was found
    two = MIMOSA(n_leaves=2, random_state=0).fit(frame)
    assert two.level_names_ == named.level_names_[:2]
    named.told_ = ["label 1 stays on 2 leaves"]
    assert "label 1 stays on 2 leaves" in named.summary()


def test_resamples_of_a_steered_tree_are_cut_to_as_many_leaves(monkeypatch):
    X = load_dataset("blobs", n_samples=600, seed=0).X
    m = MIMOSA(random_state=0, n_jobs=1).fit(X)
    fitted = {field.name: getattr(m, f"{field.name}_") for field in fields(Fit)}

    def again(rows, settings, random_state, codec):  # what was found, in some of the rows
        own = np.sort(np.random.default_rng([600, random_state]).choice(600, len(rows), replace=False))
        parts = ("labels", "core_labels", "embedding")
        return SimpleNamespace(**{**fitted, **{name: fitted[name][own] for name in parts}})

    monkeypatch.setattr("disentree.mimosa.stability.resampling.fit", again)
    n = len(m.hierarchy_.paths)
    assert m.stability(2).n_components == {n: 2}
    found = m.cut(2).stability(2)
    assert found.n_components == {2: 2}
    assert found.support.tolist() == [1.0, 1.0]
    assert found.tree == 1.0
