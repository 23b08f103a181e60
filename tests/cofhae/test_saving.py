"""Saved models: they come back, later versions read them, and damage is told in one sentence."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from disentree import COFHAE
from disentree.datasets import load_dataset

FIXTURE = Path(__file__).parent.parent / "fixtures" / "cofhae-0.1"


@pytest.fixture(scope="module")
def sticks():
    return load_dataset("chopsticks-depth2-either", n_samples=600, seed=0)


@pytest.fixture(scope="module")
def model(sticks):
    return COFHAE(epochs=2, hidden=(8,), device="cpu").fit(
        sticks.X, hierarchy=sticks.hierarchy, paths=sticks.paths
    )


def test_what_is_saved_comes_back(model, sticks, tmp_path):
    model.save(tmp_path / "a" / "b")
    assert sorted(os.listdir(tmp_path / "a" / "b")) == ["MODEL_CARD.md", "model.json", "model.safetensors"]
    loaded = COFHAE.load(tmp_path / "a" / "b", device="cpu")
    Z = model.transform(sticks.X)
    assert np.array_equal(loaded.transform(sticks.X), Z, equal_nan=True)
    assert np.array_equal(loaded.inverse_transform(Z), model.inverse_transform(Z))
    assert loaded.hierarchy_.to_dict() == model.hierarchy_.to_dict()
    assert loaded.history_ == model.history_
    assert np.array_equal(loaded.paths_, model.paths_)
    assert loaded.get_params()["epochs"] == 2
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again" / "model.json").read_bytes() == (tmp_path / "a" / "b" / "model.json").read_bytes()


def test_a_model_of_version_0_1_still_loads_and_decodes_the_same():
    """Made by `make_fixture` below. If this fails, readers of old models were forgotten."""
    expected = json.loads((FIXTURE / "expected.json").read_text())
    model = COFHAE.load(FIXTURE, device="cpu")
    codes = np.array(expected["codes"], dtype=float)
    np.testing.assert_allclose(model.inverse_transform(codes), expected["decoded"], atol=1e-5)
    np.testing.assert_allclose(model.transform(np.array(expected["X"])), expected["encoded"], atol=1e-4)
    assert model.hierarchy_.to_dict() == expected["hierarchy"]


def make_fixture() -> None:
    ds = load_dataset("chopsticks-depth2-either", n_samples=2000, seed=0)
    X = ds.X[:, ::8]
    model = COFHAE(epochs=5, hidden=(8, 8), device="cpu").fit(X, hierarchy=ds.hierarchy, paths=ds.paths)
    model.paths_ = model.paths_[:0]  # keep the fixture small
    model.save(FIXTURE)
    codes = ds.hierarchy.sample(8, 0)
    expected = {
        "hierarchy": model.hierarchy_.to_dict(),
        "codes": codes.tolist(),
        "decoded": model.inverse_transform(codes).tolist(),
        "X": X[:8].tolist(),
        "encoded": model.transform(X[:8]).tolist(),
    }
    (FIXTURE / "expected.json").write_text(json.dumps(expected))


@pytest.mark.parametrize("name", ["model.json", "model.safetensors"])
@pytest.mark.parametrize("damage", ["cut", "empty"])
def test_a_file_cut_short_is_named(model, tmp_path, name, damage):
    model.save(tmp_path)
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(whole[: len(whole) // 2] if damage == "cut" else b"")
    with pytest.raises(ValueError, match=f"{name} is cut short or damaged"):
        COFHAE.load(tmp_path)


def test_a_model_of_a_later_format_is_refused(model, tmp_path):
    model.save(tmp_path)
    about = json.loads((tmp_path / "model.json").read_text())
    (tmp_path / "model.json").write_text(json.dumps(about | {"format": 99, "version": "9.9"}))
    with pytest.raises(ValueError, match=r"saved by disentree 9\.9"):
        COFHAE.load(tmp_path)


def test_folders_that_are_not_there_or_cannot_be_written(model, sticks, tmp_path):
    with pytest.raises(FileNotFoundError):
        COFHAE.load(tmp_path / "nowhere")
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OSError, match="file"):
        model.save(tmp_path / "file" / "model")
    stubborn = COFHAE(epochs=1, hidden=(8,), checkpoint=tmp_path / "file" / "run")
    with pytest.raises(OSError, match="file"):  # before training, not after the first epoch
        stubborn.fit(sticks.X, hierarchy=sticks.hierarchy, paths=sticks.paths)
    assert not hasattr(stubborn, "history_")


def test_a_damaged_checkpoint_is_named(sticks, tmp_path):
    (tmp_path / "checkpoint.safetensors").write_bytes(b"\x10\x00")
    with pytest.raises(ValueError, match=r"checkpoint\.safetensors is cut short or damaged"):
        COFHAE(checkpoint=tmp_path).fit(sticks.X, hierarchy=sticks.hierarchy, paths=sticks.paths)
