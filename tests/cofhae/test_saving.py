"""Saved models: they come back, later versions read them, and damage is told in one sentence."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from disentree import COFHAE
from disentree.datasets import load_dataset
from disentree.errors import DamagedFile
from disentree.utils.files import SEAL, sealed

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
    assert "- rows: 600" in (tmp_path / "a" / "b" / "MODEL_CARD.md").read_text(encoding="utf-8")
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
    del about[SEAL]
    (tmp_path / "model.json").write_text(json.dumps(sealed(about | {"format": 99, "version": "9.9"})))
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


# ------------------------------------------------------------------ files that someone has changed


def sealed_again(folder, change):
    """The folder with another model.json, which vouches for itself."""
    about = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    about.pop(SEAL)
    change(about)
    (folder / "model.json").write_text(json.dumps(sealed(about)), encoding="utf-8")


def test_a_flipped_bit_is_noticed(model, tmp_path):
    model.save(tmp_path)
    whole = (tmp_path / "model.json").read_bytes()
    rng = np.random.default_rng(0)
    for place in rng.integers(len(whole), size=60):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << int(rng.integers(8))
        (tmp_path / "model.json").write_bytes(flipped)
        try:
            COFHAE.load(tmp_path, device="cpu")
        except DamagedFile:
            continue
        except ValueError as error:
            assert f"{tmp_path} " in str(error)  # noqa: PT017
        else:
            assert json.loads(flipped) == json.loads(whole)


def test_a_folder_of_the_format_before_the_checksum_still_loads(model, tmp_path):
    model.save(tmp_path)
    about = json.loads((tmp_path / "model.json").read_text(encoding="utf-8"))
    del about[SEAL]
    (tmp_path / "model.json").write_text(json.dumps(about | {"format": 3}), encoding="utf-8")
    assert COFHAE.load(tmp_path, device="cpu").hierarchy_.to_dict() == model.hierarchy_.to_dict()


def test_a_file_does_not_choose_where_files_are_written(model, sticks, tmp_path):
    model.save(tmp_path / "model")
    places = {name: str(tmp_path / name) for name in ("checkpoint", "events", "tensorboard")}
    sealed_again(tmp_path / "model", lambda about: about["parameters"].update(places, callbacks=[1], verbose=True))
    loaded = COFHAE.load(tmp_path / "model", device="cpu")
    assert {loaded.get_params()[name] for name in places} == {None}
    assert not loaded.callbacks
    loaded.fit(sticks.X[:50], hierarchy=sticks.hierarchy, paths=sticks.paths[:50])
    assert os.listdir(tmp_path) == ["model"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda about: about["parameters"].update(hidden=[30_000, 30_000]), "less than or equal to 16384"),
        (lambda about: about["parameters"].update(hidden=[16_000, 16_000]), "other weights"),
        (lambda about: about["parameters"].update(hidden=[8] * 200_000), "at most 64 items"),
        (lambda about: about["parameters"].update(hidden=[8] * 60), "other weights than its parameters say"),
        (lambda about: about["parameters"].update(hidden=[16_000]), "must be of shape"),
        (lambda about: about["parameters"].update(learning_rate=-1.0), "learning_rate must be"),
        (lambda about: about["parameters"].update(activation="x"), "activation must be"),
        (lambda about: about["input"].update(shape=[10**6, 10**6]), "no mean of rows of shape"),
        (lambda about: about["input"].pop("kind"), "kind"),
        (lambda about: about.update(seed="x"), "seed: Input should be a valid integer"),
        (lambda about: about.pop("hierarchy"), "hierarchy: Field required"),
        (lambda about: about["code_statistics"]["ranges"].pop(), "code_statistics are of another tree"),
        (lambda about: about["preprocessor"].update(names=["x"]), "table with columns|codec"),
    ],
)
def test_what_cannot_be_used_is_refused_when_it_is_loaded(model, tmp_path, change, reason):
    model.save(tmp_path)
    sealed_again(tmp_path, change)
    with pytest.raises(ValueError, match=rf"model\.json is cut short or damaged \(.*({reason})"):
        COFHAE.load(tmp_path, device="cpu")


@pytest.mark.parametrize("text", ["[" * 100_000, '{"format": 4, "seed": ' + "9" * 6000 + "}", "[]", "\xff"])
def test_text_that_is_no_model(model, tmp_path, text):
    model.save(tmp_path)
    (tmp_path / "model.json").write_text(text, encoding="latin-1")
    with pytest.raises(ValueError, match=r"model\.json is cut short or damaged"):
        COFHAE.load(tmp_path)


@pytest.mark.parametrize("name", ["model.json", "model.safetensors"])
def test_pipes_and_devices_are_no_files(model, tmp_path, name):
    model.save(tmp_path)
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    with pytest.raises(ValueError, match=f"{name} is not a file"):
        COFHAE.load(tmp_path)
    (tmp_path / name).unlink()
    (tmp_path / name).symlink_to("/dev/zero")
    with pytest.raises(ValueError, match=f"{name} is not a file"):
        COFHAE.load(tmp_path)
