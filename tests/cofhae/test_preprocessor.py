"""Rows to features and back, and models that take rows as they are before they were prepared."""

import json

import numpy as np
import pandas as pd
import pytest

from disentree import AE, COFHAE, Hierarchy
from disentree.cofhae.preprocessor import Preprocessor
from disentree.datasets import load_dataset
from disentree.tables import Codec

ONE = Hierarchy.flat(1), np.zeros((200, 1))  # a tree and codes of the rows


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    return pd.DataFrame({"b": rng.normal(50, 9, 200), "a": rng.integers(0, 900, 200), "c": rng.normal(size=200)})


@pytest.fixture(scope="module")
def standardized(table):
    numbers = table[["a", "b", "c"]].to_numpy(float)
    center, scale = numbers.mean(axis=0), numbers.std(axis=0)
    return Preprocessor(
        codec=Codec.fit(table), names=("a", "b", "c"), center=tuple(center.tolist()), scale=tuple(scale.tolist())
    )


def as_json(preprocessor):
    return Preprocessor.from_dict(json.loads(json.dumps(preprocessor.to_dict())))


def test_nothing_to_do():
    X = np.arange(6.0).reshape(2, 3)
    assert Preprocessor().to_features(X) is X
    assert Preprocessor().to_dict() == {}
    assert Preprocessor.of(X) == Preprocessor()


def test_columns_are_picked_centered_and_scaled(table, standardized):
    other = table.assign(text="x")[["text", "c", "b", "a"]]
    Y = standardized.to_features(other)
    np.testing.assert_allclose(Y.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(Y[:, 0] * table["a"].std(ddof=0) + table["a"].mean(), table["a"])
    pd.testing.assert_frame_equal(standardized.from_features(Y, *ONE), table)
    assert as_json(standardized) == standardized
    with pytest.raises(ValueError, match="no column 'b'"):
        standardized.to_features(table[["a", "c"]])
    with pytest.raises(ValueError, match="give a data frame"):
        standardized.to_features(Y)


def test_some_columns_of_an_array():
    some = as_json(Preprocessor(columns=(2, 0), n_columns=3))
    X = np.arange(6).reshape(2, 3)
    assert some.to_features(X).tolist() == [[2, 0], [5, 3]]
    with pytest.raises(ValueError, match="X must have 3 columns"):
        some.to_features(X[:, :2])


def test_columns_of_any_kind(table):
    mixed = table.assign(kind=np.where(table["c"] > 0, "x", "y"))
    found = as_json(Preprocessor.of(mixed))
    assert found.table is not None
    Y = found.to_features(mixed)
    assert Y.shape == (200, 5)
    with pytest.raises(ValueError, match="no column that can be used"):
        Preprocessor.of(pd.DataFrame({"same": ["x"] * 20}))
    only = Preprocessor(codec=Codec.fit(mixed))
    np.testing.assert_array_equal(only.to_features(mixed), Y)
    assert list(only.from_features(Y, *ONE)["kind"]) == list(mixed["kind"])


@pytest.mark.parametrize("make", [COFHAE, AE])
def test_a_model_takes_rows_as_they_were(table, standardized, make, tmp_path):
    tree = load_dataset("chopsticks-depth2-slope", n_samples=2, seed=0).hierarchy
    Y = standardized.to_features(table)
    paths = (Y[:, 2] > 0).astype(int)
    model = make(epochs=1, hidden=(8,), device="cpu")
    model.fit(Y, hierarchy=tree, paths=paths, preprocessor=standardized)
    Z = model.transform(table)
    np.testing.assert_array_equal(model.in_features().transform(Y), Z)
    np.testing.assert_array_equal(model.transform(table), Z)  # the model itself has not changed
    back = model.inverse_transform(Z)
    assert list(back.columns) == list(table.columns)
    model.save(tmp_path)
    pd.testing.assert_frame_equal(make.load(tmp_path, device="cpu").inverse_transform(Z), back)


def test_models_of_format_2_have_their_units(table, standardized, tmp_path):
    """They were saved with the keys "units", "table" and "codec"."""
    model = AE(n_continuous=2, epochs=1, hidden=(8,), device="cpu")
    model.fit(standardized.to_features(table), preprocessor=standardized).save(tmp_path)
    about = json.loads((tmp_path / "model.json").read_text())
    own = about.pop("preprocessor")
    units = {"names": own["names"], "columns": None, "n_columns": None, "center": own["center"]}
    about |= {"format": 2, "units": {**units, "scale": own["scale"], "codec": own["codec"]}}
    (tmp_path / "model.json").write_text(json.dumps(about))
    assert AE.load(tmp_path, device="cpu").preprocessor_ == standardized
