"""What changed between the rows that a tree was found in and later ones."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from disentree.mimosa import MIMOSA
from disentree.mimosa.watching.drift import Told, drift_of

CENTERS = np.array([[0, 0, 0], [8, 0, 0], [0, 8, 8]])


def three_groups(n, shares=(0.5, 0.3, 0.2), seed=0, shift=0.0):
    rng = np.random.default_rng(seed)
    kind = rng.choice(3, p=shares, size=n)
    return CENTERS[kind] + rng.normal(size=(n, 3)) + shift * (kind == 2)[:, None]


STRAY = [[99.0, 0, 0], [0, -99.0, 0]]


@pytest.fixture(scope="module")
def model():
    return MIMOSA(n_jobs=1).fit(np.concatenate([three_groups(600), STRAY]))


def changed(drift, column):
    return drift.table.set_index("leaf")[column]


def test_nothing_changed(model):
    drift = model.drift(three_groups(500, seed=1))
    assert not drift.changed
    assert str(drift) == "Nothing changed beyond chance in 500 new rows."


def test_a_leaf_with_another_share_is_told(model):
    leaf = model.place(CENTERS)["leaf"]
    drift = model.drift(three_groups(500, shares=(0.5, 0.1, 0.4), seed=1))
    assert changed(drift, "share_changed")[leaf[1:]].all()
    assert not changed(drift, "share_changed")[leaf[0]]
    assert not changed(drift, "bits_changed").any()
    assert f"“{leaf[2]}” has" in str(drift)


def test_a_leaf_that_moved_is_stranger(model):
    leaf = model.place(CENTERS)["leaf"]
    drift = model.drift(three_groups(500, seed=1, shift=1.2))
    assert changed(drift, "bits_changed")[leaf].tolist() == [False, False, True]
    assert f"Rows on “{leaf[2]}” are stranger" in str(drift)


def test_rows_that_fit_nowhere_are_told(model):
    new = np.concatenate([three_groups(500, seed=1), np.full((20, 3), -40.0)])
    drift = model.drift(new)
    assert changed(drift, "share_changed")["nowhere"]
    assert "fit nowhere" in str(drift)
    assert model.place(new)["fits"].tolist() == [True] * 500 + [False] * 20


def test_the_order_of_rows_does_not_matter(model):
    new = three_groups(300, seed=1, shift=0.5)
    pd.testing.assert_frame_equal(model.drift(new).table, model.drift(new[::-1]).table)


def test_a_loaded_model_says_the_same(model, tmp_path):
    model.save(tmp_path)
    new = three_groups(300, seed=1, shift=0.5)
    pd.testing.assert_frame_equal(model.drift(new).table, MIMOSA.load(tmp_path).drift(new).table)


def test_a_table_with_categories_that_changed():
    def frame(n, seed, noise):
        rng = np.random.default_rng(seed)
        X = three_groups(n, seed=seed)
        right = np.where(X[:, 0] > 4, "east", "west")
        return pd.DataFrame(X, columns=list("abc")).assign(
            area=np.where(rng.random(n) < noise, "north", right), size=rng.normal(size=n)
        )

    m = MIMOSA(n_jobs=1).fit(frame(300, 0, 0.02))
    assert not m.drift(frame(300, 1, 0.02)).changed
    assert changed(m.drift(frame(300, 1, 0.5)), "bits_changed").any()


def test_false_alarms_are_no_more_than_stated():
    alarms = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        told = [
            Told(rng.choice(3, n, p=[0.6, 0.3, 0.1]), rng.normal(size=n), rng.random(n) < 0.01) for n in (300, 200)
        ]
        alarms += drift_of(*told, names=["a", "b", "c"], held_out=0.0, level=0.2).changed
    assert 5 < alarms < 200 * 0.2 + 2 * np.sqrt(200 * 0.2 * 0.8)


def test_rows_are_not_strange_for_being_new():
    few = MIMOSA(n_jobs=1).fit(np.random.default_rng(0).normal(size=(100, 8)))
    assert not few.drift(np.random.default_rng(1).normal(size=(3000, 8))).changed


@pytest.mark.parametrize("level", [0, 1, True, -0.1])
def test_the_level_is_a_chance(model, level):
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        model.drift(three_groups(10), level=level)


def test_what_fits_nowhere_is_in_the_summary(model):
    fits = model.place(model._rows)["fits"].to_numpy()
    assert not fits[-2:].any()
    assert model.nowhere_ == (~fits).sum() < 5
    assert f"{model.nowhere_} rows fit nowhere." in " ".join(model.summary().split())
    assert model.summary_.to_dict()["nowhere"] == model.nowhere_
