"""Leaves side by side, by column and in a figure; also `drawing.py`."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from disentree import MIMOSA
from disentree.datasets import load_dataset
from disentree.mimosa.explain.compared.comparing import _told_bits


@pytest.fixture(autouse=True)
def closed_figures():
    mpl.use("agg")
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def penguins():
    X = load_dataset("penguins").X
    return X, MIMOSA(random_state=0).fit(X)


def test_bits_are_what_a_column_tells():
    first, second = np.arange(100), np.arange(100, 200)
    assert _told_bits(np.repeat([0, 1], 100), first, second) > 0.99
    assert _told_bits(np.tile([0, 1], 100), first, second) == 0.0
    three = np.repeat([0, 1, 2], [50, 100, 50])  # half of each leaf has a value that the other has not
    assert abs(_told_bits(three, first, second) - 0.5) < 0.02
    shares = np.array([0.9, 0.1]), np.array([0.2, 0.8])
    cells = np.repeat([0, 1, 0, 1], [90, 10, 20, 80])
    mean = (shares[0] + shares[1]) / 2
    by_hand = -(mean * np.log2(mean)).sum() + sum((s * np.log2(s)).sum() for s in shares) / 2
    assert abs(_told_bits(cells, first, second) - by_hand) < 0.02
    noise = np.random.default_rng(0).integers(10, size=200)
    assert _told_bits(noise, first, second) < 0.05


def test_what_differs_between_leaves(penguins):
    X, m = penguins
    found = m.compare(0, 1)
    assert set(found.index) == set(X.columns)
    assert found["bits"].is_monotonic_decreasing
    assert found["bits"].between(0, 1).all()
    for column in ("bill_depth_mm", "flipper_length_mm"):
        middle = [X.loc[m.labels_ == leaf, column].median() for leaf in (0, 1)]
        word = "higher" if middle[0] > middle[1] else "lower"
        assert found.loc[column, "words"].startswith(f"{word} in the first: {middle[0]:g}, and {middle[1]:g} in")
    names = m.leaf_names_
    pd.testing.assert_frame_equal(m.compare(names[0], names[1]), found)
    swapped = m.compare(1, 0)
    assert swapped.loc["island", "first"] == found.loc["island", "second"]
    assert found.loc["island", "words"].count("%") or "all" in found.loc["island", "words"]
    pd.testing.assert_frame_equal(m.compare(0, 1, X), found)


def test_leaves_that_cannot_be_compared(penguins, tmp_path):
    X, m = penguins
    for wrong, sentence in ((0, "must be two leaves"), (9, "a path of 0 to 2"), ("x", "there is no leaf 'x'")):
        with pytest.raises(ValueError, match=sentence):
            m.compare(0, wrong)
    with pytest.raises(ValueError, match="there is no row on 1"):
        m.compare(0, 1, X[m.labels_ == 0])
    m.save(tmp_path)
    with pytest.raises(ValueError, match="a model that was loaded has no rows: give X"):
        MIMOSA.load(tmp_path).compare(0, 1)


def test_rows_by_leaf_are_drawn(penguins):
    X, m = penguins
    ax = m.plot(["bill_length_mm", "bill_depth_mm"])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("bill_length_mm", "bill_depth_mm")
    known = X[["bill_length_mm", "bill_depth_mm"]].notna().all(axis=1).sum()
    assert sum(len(part.get_offsets()) for part in ax.collections) == known
    assert len(ax.get_legend().get_texts()) == len(m.hierarchy_.paths)
    own = plt.figure().add_subplot()
    assert m.plot(ax=own) is own
    assert sum(len(part.get_offsets()) for part in own.collections) == len(X)
    assert sum(len(part.get_offsets()) for part in m.plot(X=X.head(7)).collections) == 7
    with pytest.raises(ValueError, match="there is no column of numbers 'island'"):
        m.plot(["island", "year"])
    with pytest.raises(ValueError, match="columns must be two names"):
        m.plot(["year"])


def test_arrays_have_columns_by_number():
    m = MIMOSA(random_state=0).fit(load_dataset("blobs", n_samples=300, seed=0).X)
    assert sorted(m.compare(0, 1).index) == ["x1", "x2", "x3", "x4", "x5"]
    assert m.plot(["x1", "x2"]).get_ylabel() == "x2"
