"""Where single rows are, and why: `place` and `why`."""

import re

import numpy as np
import pandas as pd
import pytest

from disentree import MIMOSA
from disentree.datasets import load_dataset


@pytest.fixture(scope="module")
def frame():
    """Two groups that two columns tell apart, one better than the other; a third says nothing."""
    rng = np.random.default_rng(0)
    kind = np.arange(400) % 2
    columns = {
        "clear": rng.normal(12.0 * kind, 1),
        "vague": rng.normal(5.0 * kind, 1),
        "noise": rng.normal(size=400),
    }
    return pd.DataFrame(columns, index=[f"row {i}" for i in range(400)])


@pytest.fixture(scope="module")
def model(frame):
    return MIMOSA(random_state=0).fit(frame)


def test_rows_are_placed_beside_their_index(frame, model):
    found = model.place(frame)
    assert list(found.columns) == ["path", "leaf", "probability", "strange", "fits"]
    assert found.index.equals(frame.index)
    np.testing.assert_array_equal(found["path"], model.labels_)
    np.testing.assert_array_equal(found["probability"], model.predict_proba(frame).max(axis=1))
    np.testing.assert_array_equal(found["strange"], model.outlier_score(frame))
    options = next(v for v in model.hierarchy_.variables if v.kind == "categorical").options
    assert found["leaf"].tolist() == [options[k] for k in model.labels_]


def test_a_strange_row_is_called_so(frame, model):
    odd = frame.head(2).copy()
    odd.loc["row 0", "noise"] = 30.0
    assert model.place(odd).loc["row 0", "strange"] > 50 > model.place(frame)["strange"].quantile(0.99)


def test_arrays_are_placed_and_explained_too(frame, model):
    X = frame.to_numpy()
    plain = MIMOSA(random_state=0).fit(X)
    found = plain.place(X[:3])
    assert found.index.tolist() == [0, 1, 2]
    assert found["leaf"].isin(["branch1", "branch2"]).all()
    assert "x1 = " in plain.why(X[:1]).iloc[0]


def test_why_names_the_columns_that_decide(frame, model):
    told = model.why(frame.head(20))
    assert told.index.equals(frame.head(20).index)
    options = next(v for v in model.hierarchy_.variables if v.kind == "categorical").options
    for text, path in zip(told, model.labels_[:20], strict=True):
        assert text.startswith(options[path])
        assert f"ahead of {options[1 - path]}: clear = " in text
        assert "noise" not in text or _bits(text, "noise") < 0.2 * _bits(text, "clear")


def _bits(text, column):
    return abs(float(re.search(rf"{column} = \S+ \((\S+) bits", text)[1]))


def test_bits_add_up_where_columns_are_independent(frame):
    """By hand: with equal spread the log odds are a sum over columns, so each says its own part of what the leaf
    is ahead of the other more than rows of both are on average."""
    frame = frame.assign(clear=frame["clear"] - 7.0 * (np.arange(400) % 2))
    model = MIMOSA(random_state=0).fit(frame)
    text = model.why(frame.head(1)).iloc[0]
    ahead = float(re.search(r", (\S+) bits ahead", text)[1])
    logs = np.log2(np.maximum(model.predict_proba(frame), 1e-300))
    path, some = model.labels_[0], np.linspace(0, 399, 16).astype(int)
    usual = (logs[some, path] - logs[some, 1 - path]).clip(-100, 100).mean()
    told = sum(float(bits) for bits in re.findall(r"\((-?\d\S*) bits", text.partition("ahead")[2]))
    assert told == pytest.approx(ahead - usual, abs=0.2 * abs(ahead - usual) + 1)


def test_a_copy_of_a_column_does_not_hide_it(frame):
    """Without one of two columns that say the same the other still says it."""
    twice = frame.assign(copy=frame["clear"] + np.random.default_rng(1).normal(0, 0.5, 400))
    text = MIMOSA(random_state=0).fit(twice).why(twice.head(1)).iloc[0]
    assert "clear = " in text
    assert "copy = " in text


def test_what_exists_decides():
    rng = np.random.default_rng(0)
    garage = rng.random(300) < 0.6
    cars, door = (np.where(garage, rng.normal(3, 0.4, 300), np.nan) for _ in range(2))
    frame = pd.DataFrame({"area": rng.normal(100, 20, 300), "cars": cars, "door": door})
    model = MIMOSA(random_state=0).fit(frame)
    texts = model.why(frame.head(10))
    for text, there in zip(texts, garage, strict=False):
        assert ("cars = " if there else "cars is empty") in text
        assert "area" not in text.partition("against")[0].partition("ahead of")[2]
        ahead = re.search(r"([\d.]+) bits ahead of", text)
        assert ahead is not None
        assert float(ahead[1]) > 10


def test_one_leaf_and_images():
    X = load_dataset("gaussian", n_samples=200, seed=0).X
    assert MIMOSA(random_state=0).fit(X).why(X[:2]).tolist() == ["all rows are one leaf"] * 2
    images = np.random.default_rng(0).random((60, 6, 6))
    with pytest.raises(ValueError, match="images have none"):
        MIMOSA(random_state=0).fit(images).why(images)


def test_a_loaded_model_places_and_explains(frame, model, tmp_path):
    model.save(tmp_path)
    loaded = MIMOSA.load(tmp_path)
    pd.testing.assert_frame_equal(loaded.place(frame), model.place(frame))
    told = model.why(frame.head(3))
    assert "clear = " in told.iloc[0]
    pd.testing.assert_series_equal(loaded.why(frame.head(3)), told)
    assert loaded.why(frame.head(1)).iloc[0] == model.why(frame.head(1)).iloc[0] == told.iloc[0]
    assert loaded.why(frame.head(1).assign(note="new")).iloc[0] == told.iloc[0]
    loaded.others_ = None  # as in the first files
    with pytest.raises(ValueError, match="fit it again to ask why"):
        loaded.why(frame.head(1))
