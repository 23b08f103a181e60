"""Leaves that form of later rows."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import pytest

from disentree.mimosa import MIMOSA

CENTERS = np.array([[0, 0, 0], [8, 0, 0], [0, 8, 8]])
NEW = np.array([-9.0, -9.0, 9.0])


def three_groups(n, seed=0):
    rng = np.random.default_rng(seed)
    return CENTERS[rng.integers(3, size=n)] + rng.normal(size=(n, 3))


def with_new_kind(n, seed, rare=20):
    return np.concatenate([three_groups(n, seed), NEW + 0.5 * np.random.default_rng(seed).normal(size=(rare, 3))])


@pytest.fixture(scope="module")
def fitted():
    return MIMOSA(n_jobs=1).fit(three_groups(500))


@pytest.fixture
def model(fitted):
    return copy.copy(fitted)


def test_a_leaf_forms_once_there_are_enough_of_a_kind(model):
    before = model.predict(three_groups(100, seed=9))
    first = model.update(with_new_kind(80, 1))
    assert (first.nowhere.tolist(), first.leaves, first.kept) == (list(range(80, 100)), [], 20)
    assert str(first) == "100 rows, of which 20 fit nowhere.\n20 rows are kept."
    model.rename({0: "first", 2: "third"})
    second = model.update(with_new_kind(80, 2))
    assert (model.leaf_names_[0], model.leaf_names_[2]) == ("first", "third")
    assert (second.sizes, second.kept, len(second.leaves)) == ([40], 0, 1)
    assert f"A new leaf has formed: “{second.leaves[0]}” (40 rows)." in str(second)
    assert len(model.hierarchy_.paths) == 4
    assert len(model.labels_) == 540
    assert len(set(model.labels_[500:])) == 1
    third = model.update(with_new_kind(80, 3))
    assert third.placed["fits"].all()
    assert set(third.placed["leaf"][80:]) == {second.leaves[0]}
    after = model.predict(three_groups(100, seed=9))
    assert len(set(zip(before, after, strict=True))) == 3  # the other leaves are what they were
    assert model.transform(with_new_kind(0, 4)).shape == (20, model.hierarchy_.n_variables)


def test_the_order_of_rows_does_not_matter(model, fitted):
    new = with_new_kind(60, 1, rare=50)
    other = copy.copy(fitted)
    assert model.update(new).leaves
    assert other.update(new[::-1]).leaves
    np.testing.assert_array_equal(model.predict(new), other.predict(new))


def test_scattered_rows_form_no_leaf(model):
    for seed in range(3):
        stray = np.random.default_rng(seed).uniform(-60, 60, (60, 3))
        stray = stray[(np.abs(stray) > 20).any(axis=1)]
        assert model.update(stray).sizes == []
    assert model.kept_.seen == model.kept_.rows.shape[0] > 100


def test_what_is_kept_is_saved(model, tmp_path):
    model.update(with_new_kind(80, 1))
    model.save(tmp_path)
    loaded = MIMOSA.load(tmp_path)
    assert loaded.update(with_new_kind(80, 2)).sizes == [40]
    assert (loaded.predict(NEW[None]) == loaded.labels_[-1]).all()
    loaded.save(tmp_path)
    assert len(MIMOSA.load(tmp_path).hierarchy_.paths) == 4


def test_names_of_columns_stay():
    frame = pd.DataFrame(three_groups(300), columns=list("abc"))
    m = MIMOSA(n_jobs=1).fit(frame)
    found = m.update(pd.DataFrame(with_new_kind(50, 1, rare=40), columns=list("abc")))
    assert len(found.leaves) == 1
    assert m.feature_names_in_.tolist() == list("abc")
    assert any(name in found.leaves[0] for name in "abc")


def test_a_tree_that_was_cut_tells_new_kinds_only(fitted):
    cut = fitted.cut(n_leaves=2)
    found = cut.update(with_new_kind(50, 1, rare=40))
    assert (found.sizes, found.leaves) == ([40], [])
    assert "40 kept rows are of a new kind, but no leaf: the tree was cut, merged or split." in str(found)
    assert len(cut.hierarchy_.paths) == 2


def test_a_table_with_categories_tells_new_kinds_only():
    def frame(X):
        return pd.DataFrame(X, columns=list("abc")).assign(area=np.where(X[:, 0] > 4, "east", "west"))

    m = MIMOSA(n_jobs=1).fit(frame(three_groups(300)))
    found = m.update(frame(with_new_kind(50, 1, rare=40)))
    assert (found.sizes, found.leaves, found.kept) == ([40], [], 40)
