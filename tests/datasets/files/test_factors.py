"""Files of the field, made small, and the interface of disentanglement_lib."""

import itertools

import numpy as np
import pytest

from disentree.datasets import from_ground_truth, load_factors, load_file, save_dataset
from disentree.datasets.files import factors as module
from disentree.errors import UserError
from disentree.metrics import mig_score

CLASSES = np.array([(0, *c) for c in itertools.product(range(3), range(6), range(4), range(2), range(2))])
IMAGES = np.random.default_rng(0).integers(0, 2, (len(CLASSES), 8, 8), dtype=np.uint8)


@pytest.fixture
def sprites(tmp_path):
    file = tmp_path / "dsprites.npz"
    values = CLASSES * np.array([1, 1, 0.1, 0.5, 1, 1]) + 0.25
    np.savez_compressed(
        file, imgs=IMAGES, latents_classes=CLASSES, latents_values=values, latents_bases=np.ones(6)
    )
    return file


def test_sprites(sprites, monkeypatch):
    monkeypatch.setattr(module, "CHUNK_BYTES", 1000)  # blocks of 15 images
    ds = load_factors(sprites)
    assert np.array_equal(ds.X, IMAGES)
    assert [(v.name, v.kind) for v in ds.hierarchy.variables][:2] == [
        ("shape", "categorical"),
        ("scale", "continuous"),
    ]
    assert np.allclose(ds.codes[:, 1], CLASSES[:, 2] * 0.1 + 0.25)
    assert np.array_equal(ds.codes[:, 0], CLASSES[:, 1])
    assert (ds.paths == CLASSES[:, 1]).all()
    some = load_factors(sprites, n_samples=20, seed=3)
    at = [int(np.flatnonzero((image == IMAGES).all(axis=(1, 2)))[0]) for image in some.X]
    assert np.array_equal(some.codes, ds.codes[at])
    assert np.array_equal(some.X, load_factors(sprites, n_samples=20, seed=3).X)


def test_they_are_a_file_for_the_command_line(sprites, tmp_path):
    save_dataset(load_factors(sprites, 50), tmp_path / "mine.npz")
    data = load_file(tmp_path / "mine.npz")
    assert data.has_truth
    assert data.X.shape == (50, 8, 8)


def test_other_files(tmp_path):
    with pytest.raises(UserError, match="there is no file"):
        load_factors(tmp_path / "none.npz")
    np.savez(tmp_path / "other.npz", X=np.ones((3, 3)))
    with pytest.raises(UserError, match="is not the file of dSprites: it has no latents_classes"):
        load_factors(tmp_path / "other.npz")


def test_shapes(tmp_path):
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    with h5py.File(tmp_path / "3dshapes.h5", "w") as file:
        file["images"] = np.arange(24, dtype=np.uint8).reshape(8, 1, 1, 3) * np.ones((8, 4, 4, 3), np.uint8)
        file["labels"] = np.array(
            [(0.1 * a, 0, 0, 1.25, b, -30 * c) for a, b, c in itertools.product((0, 1), (0, 3), (0, 1))]
        )
    ds = load_factors(tmp_path / "3dshapes.h5")
    assert [v.name for v in ds.hierarchy.variables] == [
        "floor_hue",
        "shape",
        "orientation",
    ]  # the others are constant
    assert ds.hierarchy.variables[1].options == ("0", "3")
    assert len(load_factors(tmp_path / "3dshapes.h5", 3).X) == 3


class Ground:
    """As disentanglement_lib's classes are."""

    num_factors, factors_num_values = 3, [2, 1, 5]

    def sample_factors(self, num, random_state):
        return np.stack([random_state.randint(k, size=num) for k in self.factors_num_values], axis=1)

    def sample_observations_from_factors(self, factors, random_state):
        return np.ones((4, 4, 1)) * (10 * factors[:, 0] + factors[:, 2])[:, None, None, None]


def test_ground_truth_of_another_library():
    ds = from_ground_truth(Ground(), 200, seed=1, categorical=[0], names=["kind", "same", "size"])
    assert (ds.name, ds.X.shape) == ("Ground", (200, 4, 4, 1))
    assert [v.name for v in ds.hierarchy.variables] == ["kind", "size"]
    assert np.array_equal(ds.X[:, 0, 0, 0], 10 * ds.codes[:, 0] + ds.codes[:, 1])
    assert np.array_equal(ds.generate(ds.codes), ds.X)
    assert np.array_equal(from_ground_truth(Ground(), 200, seed=1).X, ds.X)
    assert mig_score(ds.codes, ds.codes, ds.hierarchy, ds.hierarchy) > 0.8
