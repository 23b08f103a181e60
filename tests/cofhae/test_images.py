"""Images: one convolutional autoencoder, trained once from pixels (`stages.py`, `inputs.py`, `base.py`)."""

import json

import numpy as np
import pytest
import torch

from disentree import COFHAE
from disentree.cofhae.fitting.stages import image_geometry
from disentree.cofhae.inputs import fit_input_layer, takes_convolutions
from disentree.hierarchy import Hierarchy
from disentree.mimosa.coordinates.representation import Representation
from disentree.training.data import ArraySource
from disentree.utils.files import SEAL, sealed


def squares(n=400, *, channels=1, side=16, dtype=np.uint8, seed=0):
    """A bright square at every place along a line, and where it is, from -1 to 1."""
    at = np.random.default_rng(seed).uniform(1, side - 7, n)
    x = np.arange(side)
    row = np.clip(np.minimum(x - at[:, None], at[:, None] + 6 - x), 0, 1)  # edges between pixels are gray
    image = np.zeros((n, side, side, channels))
    image[:, 4:10] = row[:, None, :, None] * np.linspace(1, 0.5, channels)
    image = image[..., 0] if channels == 1 else image
    high = 255 if dtype == np.uint8 else 1
    return (high * image).astype(dtype), at / (side - 8) * 2 - 1


def fitted(X, **settings):
    return COFHAE(**{"steps": 200, "device": "cpu", **settings}).fit(X, hierarchy=Hierarchy.flat(1))


def test_images_from_one_number_have_sharp_edges_and_the_number_is_the_place(tmp_path):
    X, at = squares()
    model = fitted(X[100:])
    assert model.input_.kind == "image"
    Z = model.transform(X[:100])
    assert abs(np.corrcoef(np.argsort(np.argsort(Z[:, 0])), at[:100])[0, 1]) > 0.99
    again = model.inverse_transform(Z)
    assert np.square(again - X[:100].astype(float)).mean() < 0.02 * X.var()
    model.save(tmp_path)
    loaded = COFHAE.load(tmp_path)
    assert (loaded.transform(X[:100]) == Z).all()
    assert (loaded.inverse_transform(Z) == again).all()


@pytest.mark.parametrize(("channels", "likelihood"), [(1, "bernoulli"), (3, "gaussian")])
def test_bytes_and_floats_are_the_same_images(channels, likelihood):
    X, _ = squares(40, channels=channels)
    rng = np.random.default_rng(0)
    layers = [fit_input_layer(ArraySource(rows), "image", likelihood, rng) for rows in (X, X / 255.0)]
    prepared = [layer.prepare(rows) for layer, rows in zip(layers, (X, X / 255.0), strict=True)]
    assert [x.dtype for x in prepared] == [torch.uint8, torch.float32]
    inputs = [layer.to_input(x) for layer, x in zip(layers, prepared, strict=True)]
    torch.testing.assert_close(*inputs)
    output = torch.randn(inputs[0].shape)
    torch.testing.assert_close(*(layer.loss(None)(output, x) for layer, x in zip(layers, prepared, strict=True)))


@pytest.mark.parametrize(
    ("shape", "taken"),
    [((8, 8), True), ((7, 9), False), ((9, 9, 3), True), ((3, 9, 9), True), ((9, 9, 5), False), ((64,), False)],
)
def test_what_takes_convolutions(shape, taken):
    assert takes_convolutions(shape) == taken


def test_distances_between_images_are_those_of_their_pixels():
    X, _ = squares(80)
    source = ArraySource(X)
    own = image_geometry(source, np.random.default_rng(0))
    flat = X.reshape(80, -1) / 255
    away = np.linalg.norm(flat[1:] - flat[0], axis=1)
    np.testing.assert_allclose(np.linalg.norm(own[1:] - own[0], axis=1), away, rtol=1e-3)
    axes = np.eye(256)[:, :60]
    given = Representation("linear", flat.mean(axis=0), axes, np.ones(60), pixel_scale=255.0)
    np.testing.assert_allclose(
        image_geometry(source, np.random.default_rng(0), given), (flat - flat.mean(axis=0))[:, :60], atol=1e-5
    )


def test_a_training_on_images_that_was_stopped_goes_on(tmp_path):
    X, _ = squares(100)
    settings = {"steps": None, "epochs": 4, "batch_size": 50}

    def stop(record, model):
        if record["epoch"] == 2:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fitted(X, **settings, checkpoint=tmp_path, callbacks=[stop])
    again = fitted(X, **settings, checkpoint=tmp_path)
    assert [record["epoch"] for record in again.history_] == [1, 2, 3, 4]
    np.testing.assert_array_equal(again.transform(X), fitted(X, **settings).transform(X))


def test_images_of_an_earlier_version_are_told_in_a_sentence(tmp_path):
    X, _ = squares(60)
    fitted(X, steps=2).save(tmp_path)
    about = json.loads((tmp_path / "model.json").read_text())
    del about[SEAL]
    about |= {"format": 4, "version": "0.2.0", "input": {**about["input"], "kind": "embedding"}}
    (tmp_path / "model.json").write_text(json.dumps(sealed(about)))
    with pytest.raises(ValueError, match=r"by disentree 0\.2\.0, whose networks .*: fit the model again"):
        COFHAE.load(tmp_path)
