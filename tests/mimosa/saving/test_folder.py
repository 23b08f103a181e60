"""A saved MIMOSA: it comes back whole, later versions read it, and mistakes are told in one sentence."""

import dataclasses
import json
import os
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.exceptions import NotFittedError

from disentree import MIMOSA
from disentree.datasets import load_dataset
from disentree.mimosa import PaperMIMOSA
from disentree.mimosa.coordinates import autoencoder
from disentree.utils.files import SEAL, sealed

OBJECTS = ("hierarchy_", "representation_", "sheets_", "components_", "candidate_")  # compared by their parts
FILES = ["mimosa.json", "mimosa.safetensors", "representation.safetensors"]


def sticks(n_samples=600, noise=0.0, seed=1):
    return load_dataset("chopsticks-depth2-slope", n_samples, seed=seed, noise=noise).X


def rolls(n, seed=0):
    """Two rolled-up sheets, one beside the other."""
    rng = np.random.default_rng(seed)
    t, h, which = rng.uniform(2, 6, n), rng.uniform(0, 2, n), rng.integers(2, size=n)
    return np.column_stack([t * np.cos(t) + 15 * which, t * np.sin(t), h])


@pytest.fixture(scope="module")
def linear():
    return MIMOSA().fit(sticks())


def same(one, other):
    """Bit for bit, whatever it is made of."""
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and (one == other).all()
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if dataclasses.is_dataclass(one):
        names = [field.name for field in dataclasses.fields(one)]
        return type(one) is type(other) and all(same(getattr(one, name), getattr(other, name)) for name in names)
    return type(one) is type(other) and one == other


def check_round_trip(m, folder, *rows):
    m.save(folder)
    before = torch.random.get_rng_state()
    loaded = MIMOSA.load(folder)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert type(loaded) is type(m)
    for X in rows:
        assert same(loaded.predict(X), m.predict(X))
        assert same(loaded.predict(X[:1]), m.predict(X[:1]))
        assert same(loaded.representation_.transform(np.asarray(X)), m.representation_.transform(np.asarray(X)))
    assert loaded.get_params() == m.get_params()
    assert loaded.summary() == m.summary()
    graph, other = m.to_networkx(), loaded.to_networkx()
    assert list(other.nodes(data=True)) == list(graph.nodes(data=True))
    assert other.edges == graph.edges
    assert loaded.hierarchy_.to_dict() == m.hierarchy_.to_dict()
    for name in vars(m):
        if name.endswith("_") and name not in (
            "hierarchy_",
            "representation_",
            "sheets_",
            "components_",
            "candidate_",
            "reach_",
        ):
            assert same(getattr(loaded, name), getattr(m, name)), name
    if hasattr(m, "candidate_"):
        assert all(same(value, getattr(loaded.reach_, name)) for name, value in vars(m.reach_).items())
        for X in rows:
            assert same(loaded.predict_proba(X), m.predict_proba(X))
            assert same(loaded.outlier_score(X), m.outlier_score(X))
    parts = list(zip(m.components_, loaded.components_, strict=True))
    if hasattr(m, "sheets_"):
        parts += zip(m.sheets_, loaded.sheets_, strict=True)
    for part, again in [*parts, (m.representation_, loaded.representation_)]:
        for name, value in vars(part).items():
            assert name == "network" or same(value, getattr(again, name)), name
    loaded.save(folder / "again")
    for name in FILES:
        assert (folder / "again" / name).read_bytes() == (folder / name).read_bytes()
    return loaded


# ------------------------------------------------------------------ what is saved comes back


def test_linear_data(linear, tmp_path):
    loaded = check_round_trip(linear, tmp_path / "a" / "b", sticks(), sticks(seed=2))
    assert sorted(os.listdir(tmp_path / "a" / "b")) == ["MODEL_CARD.md", "again", *FILES]
    loaded.labels_[0] = 0  # arrays are the user's own
    assert loaded.fit(sticks()).summary() == linear.summary()


def test_noise(tmp_path):
    X = sticks(2000, noise=0.01)
    m = MIMOSA().fit(X).set_params(max_landmarks=np.int64(3000))
    loaded = check_round_trip(m, tmp_path, X, sticks(500, noise=0.01, seed=2))
    assert loaded.candidates_[0]["finder"] == "noisy subspaces"


def test_curved_data(tmp_path):
    m = MIMOSA().fit(rolls(1200))
    assert {c.dimension for c in m.components_} == {2}
    check_round_trip(m, tmp_path, rolls(1200), rolls(200, seed=1))


def test_an_autoencoder(tmp_path, monkeypatch):
    monkeypatch.setattr(autoencoder, "AUTOENCODER", replace(autoencoder.AUTOENCODER, max_steps=30))
    m = MIMOSA(representation="autoencoder", n_neighbors=20).fit(rolls(300))
    check_round_trip(m, tmp_path, rolls(300), rolls(50, seed=1))


def test_rows_beyond_the_landmarks(tmp_path):
    check_round_trip(MIMOSA(max_landmarks=400).fit(sticks()), tmp_path, sticks(), sticks(seed=2))


def test_constant_data(tmp_path):
    loaded = check_round_trip(MIMOSA().fit(np.full((50, 3), 7.0)), tmp_path, np.full((5, 3), 7.0))
    assert loaded.embedding_.shape == (50, 0)


def test_clusters(tmp_path):
    rng = np.random.default_rng(0)
    places, blob = 5 * rng.normal(size=(3, 6)), rng.integers(3, size=240)
    X = places[blob] + 0.3 * rng.normal(size=(240, 6))
    loaded = check_round_trip(MIMOSA().fit(X), tmp_path / "clusters", X, X + 0.1)
    assert [c.dimension for c in loaded.components_] == [6, 6, 6]
    skewed = np.exp(rng.normal(size=(240, 3)))
    loaded = check_round_trip(MIMOSA().fit(skewed), tmp_path / "skewed", skewed)
    assert loaded.candidates_[0]["finder"] == "margins"


def test_data_frames_and_images(tmp_path):
    frame = pd.DataFrame(sticks()[:, 1::8]).rename(columns="t{}".format)
    loaded = check_round_trip(MIMOSA().fit(frame), tmp_path / "frame", frame)
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame.rename(columns={"t0": "other"}))
    images = sticks()[:, :64].reshape(-1, 8, 8)
    loaded = check_round_trip(MIMOSA().fit(images), tmp_path / "images", images)
    with pytest.raises(ValueError, match="rows of shape"):
        loaded.predict(images[:, 1:])


def test_the_paper_on_a_given_representation(linear, tmp_path):
    Z = linear.embedding_
    m = MIMOSA.paper(representation="given", min_common_edge_frac=0.5, neighbor_lengthscale_mult=np.inf).fit(Z)
    loaded = check_round_trip(m, tmp_path, Z, Z + 0.01)
    assert isinstance(loaded, PaperMIMOSA)


@pytest.mark.parametrize("kind", ["vectors", "images", "color"])
def test_the_paper_with_its_autoencoder(tmp_path, kind):
    X = sticks() if kind == "vectors" else load_dataset("spaceshapes", n_samples=64, seed=0).X
    X = np.repeat(X[..., None], 3, axis=3) if kind == "color" else X
    activation = "softplus" if kind == "vectors" else "relu"
    some = {"min_size_merged": 2, "cos_simil_thresh": 0.5, "activation": activation}
    m = MIMOSA.paper(initial_dim=3, epochs=1, batch_size=32, **some).fit(X)
    check_round_trip(m, tmp_path, X, X[::-1][:20])


# ------------------------------------------------------------------ writing


def test_saving_again_replaces(linear, tmp_path):
    (tmp_path / "notes.txt").write_text("kept")
    MIMOSA.paper(representation="given").fit(linear.embedding_).save(tmp_path)
    check_round_trip(linear, tmp_path, sticks())
    assert sorted(os.listdir(tmp_path)) == sorted(["MODEL_CARD.md", "again", "notes.txt", *FILES])


def test_what_cannot_be_written_leaves_the_old_one(linear, tmp_path, monkeypatch):
    linear.save(tmp_path)
    before = {name: (tmp_path / name).read_bytes() for name in ["MODEL_CARD.md", *FILES]}
    broken = MIMOSA(n_neighbors=30).fit(sticks())

    def full(path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(broken.representation_), "save", lambda self, path: full(path))
    with pytest.raises(OSError, match="No space left"):
        broken.save(tmp_path)
    assert {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)} == before


def test_files_of_something_else_are_not_overwritten(linear, tmp_path):
    (tmp_path / "representation.safetensors").write_bytes(b"mine")
    with pytest.raises(FileExistsError, match=r"has a representation\.safetensors of something else"):
        linear.save(tmp_path)
    assert os.listdir(tmp_path) == ["representation.safetensors"]
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OSError, match="file"):
        linear.save(tmp_path / "file")


def test_what_cannot_be_saved(linear, tmp_path):
    with pytest.raises(NotFittedError, match="not fitted"):
        MIMOSA().save(tmp_path / "new")
    half = MIMOSA.paper(representation="given", min_size_merged=10_000)
    with pytest.raises(ValueError, match="no component was found"):
        half.fit(linear.embedding_)
    with pytest.raises(NotFittedError):
        half.save(tmp_path / "new")
    own = MIMOSA.paper(representation="given", min_common_edge_frac=lambda d: 0.1).fit(linear.embedding_)
    with pytest.raises(ValueError, match=r"min_common_edge_frac cannot be saved, being <function .* helps$"):
        own.save(tmp_path / "new")

    class Mine(MIMOSA):
        pass

    with pytest.raises(ValueError, match="only MIMOSA and PaperMIMOSA can be saved, got Mine"):
        Mine().fit(sticks()).save(tmp_path / "new")
    assert not (tmp_path / "new").exists()
    check_round_trip(own.set_params(min_common_edge_frac=None), tmp_path / "new", linear.embedding_)


# ------------------------------------------------------------------ reading


def test_where_there_is_nothing(linear, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere"):
        MIMOSA.load(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match=r"holds no saved MIMOSA: it has no mimosa\.json"):
        MIMOSA.load(tmp_path)
    linear.save(tmp_path)
    with pytest.raises(ValueError, match="holds a MIMOSA, not a PaperMIMOSA"):
        PaperMIMOSA.load(tmp_path)
    (tmp_path / "mimosa.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match=r"it has no mimosa\.safetensors"):
        MIMOSA.load(tmp_path)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", ["cut", "empty", "other"])
def test_a_damaged_file_is_named(linear, tmp_path, name, damage):
    linear.save(tmp_path)
    whole = (tmp_path / name).read_bytes()
    parts = {"cut": whole[: len(whole) // 2], "empty": b"", "other": b"\xff" + whole[1:]}
    (tmp_path / name).write_bytes(parts[damage])
    with pytest.raises(ValueError, match=f"{name} is cut short or damaged"):
        MIMOSA.load(tmp_path)


@pytest.mark.parametrize("text", ["[]", "{}", '{"format": "4"}', '{"format": 4, "sha256": []}'])
def test_json_of_something_else(linear, tmp_path, text):
    linear.save(tmp_path)
    (tmp_path / "mimosa.json").write_text(text)
    with pytest.raises(ValueError, match=r"mimosa\.json is cut short or damaged"):
        MIMOSA.load(tmp_path)


def test_a_dropped_format_is_refused(linear, tmp_path):
    linear.save(tmp_path)
    (tmp_path / "mimosa.json").write_text(json.dumps({"format": 2, "version": "0.1.0"}))
    with pytest.raises(
        ValueError, match=r"by disentree 0\.1\.0, in a format that was dropped .* fit the model again"
    ):
        MIMOSA.load(tmp_path)


def test_a_later_format_is_refused(linear, tmp_path):
    linear.save(tmp_path)
    (tmp_path / "mimosa.json").write_text(json.dumps({"format": 99, "version": "9.9"}))
    with pytest.raises(ValueError, match=r"was saved by disentree 9\.9, in a format that is new to this"):
        MIMOSA.load(tmp_path)


def test_what_a_later_version_may_add_does_no_harm(linear, tmp_path):
    linear.save(tmp_path)
    about = json.loads((tmp_path / "mimosa.json").read_text(encoding="utf-8"))
    about["parameters"]["new"] = 1
    about["more"] = []
    del about[SEAL]
    (tmp_path / "mimosa.json").write_text(json.dumps(sealed(about)), encoding="utf-8")
    assert MIMOSA.load(tmp_path).get_params() == linear.get_params()


# ------------------------------------------------------------------ files that someone has changed


def sealed_again(folder, change):
    """The folder with another mimosa.json, which vouches for itself."""
    about = json.loads((folder / "mimosa.json").read_text(encoding="utf-8"))
    about.pop(SEAL)
    change(about)
    (folder / "mimosa.json").write_text(json.dumps(sealed(about)), encoding="utf-8")


def test_every_flipped_bit_is_noticed(linear, tmp_path):
    linear.save(tmp_path)
    whole = (tmp_path / "mimosa.json").read_bytes()
    rng = np.random.default_rng(0)
    for place in rng.integers(len(whole), size=60):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << int(rng.integers(8))
        (tmp_path / "mimosa.json").write_bytes(flipped)
        try:
            loaded = MIMOSA.load(tmp_path)
        except ValueError as error:
            assert str(tmp_path) in str(error)  # noqa: PT017
        else:  # such as another kind of blank between two values
            assert json.loads(flipped) == json.loads(whole)
            assert loaded.summary() == linear.summary()


def test_a_folder_without_the_checksum_is_refused(linear, tmp_path):
    linear.save(tmp_path)
    about = json.loads((tmp_path / "mimosa.json").read_text(encoding="utf-8"))
    del about[SEAL]
    (tmp_path / "mimosa.json").write_text(json.dumps(about | {"format": 3}), encoding="utf-8")
    with pytest.raises(ValueError, match="in a format that was dropped"):
        MIMOSA.load(tmp_path)
    (tmp_path / "mimosa.json").write_text(json.dumps(about), encoding="utf-8")
    with pytest.raises(ValueError, match=r"mimosa\.json is cut short or damaged \(its checksum differs\)"):
        MIMOSA.load(tmp_path)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda about: about["parameters"].update(n_jobs=0), "n_jobs must be None"),
        (lambda about: about["components"].pop(), "2 paths for 1 components"),
        (lambda about: about["components"][0].update({"entries": {}}), "Field required"),
        (lambda about: about.update(shape=[3, -1]), r"shape\.1: Input should be greater than 0"),
        (
            lambda about: about["fitted"]["entries"].update(labels_={"array": "fitted.embedding_"}),
            "labels_ is",
        ),
        (lambda about: about["fitted"]["entries"].update(candidates_=[]), "candidates_ must name"),
        (lambda about: about["fitted"]["entries"].pop("labels_"), "labels_"),
        (lambda about: about["fitted"]["entries"].update(matches_=[[0, 10**6]]), "matches must be columns"),
        (
            lambda about: about.update(
                hierarchy={
                    "variables": [{"kind": "categorical", "options": [{"variables": []}, {"variables": []}]}] * 60
                }
            ),
            "1152921504606846976 paths",
        ),
    ],
)
def test_what_cannot_be_used_is_refused_when_it_is_loaded(linear, tmp_path, change, reason):
    linear.save(tmp_path)
    sealed_again(tmp_path, change)
    with pytest.raises(ValueError, match=rf"mimosa\.json is cut short or damaged \(.*{reason}"):
        MIMOSA.load(tmp_path)


def test_components_in_a_circle(linear, tmp_path):
    linear.save(tmp_path)

    def turn(about):
        for c, component in enumerate(about["components"]):
            component["entries"] |= {"parent": 1 - c, "parents": [1 - c]}

    sealed_again(tmp_path, turn)
    with pytest.raises(ValueError, match="enclose each other in a circle"):
        MIMOSA.load(tmp_path)


@pytest.mark.parametrize("name", FILES)
def test_pipes_and_devices_are_no_files(linear, tmp_path, name):
    linear.save(tmp_path)
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    with pytest.raises(ValueError, match=f"{name} is not a file"):
        MIMOSA.load(tmp_path)
    (tmp_path / name).unlink()
    (tmp_path / name).symlink_to("/dev/zero")
    with pytest.raises(ValueError, match=f"{name} is not a file"):
        MIMOSA.load(tmp_path)
