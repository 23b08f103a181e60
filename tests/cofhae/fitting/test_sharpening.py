"""Sharp decoders: from codes to pixels, and what the encoder learns from them; covers `cofhae/pixels.py` too."""

from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

from disentree import COFHAE
from disentree.cofhae.algorithm8 import HierarchicalAutoencoder
from disentree.cofhae.fitting.sharpening import (
    Images,
    can_be_sharp,
    drawn_rows,
    fit_pixels,
    make_decoder,
    sharper,
)
from disentree.cofhae.inputs import fit_input_layer
from disentree.cofhae.pixels import PixelDecoder
from disentree.hierarchy import Hierarchy
from disentree.mimosa.coordinates.autoencoder import autoencoder_representation
from disentree.training.data import ArraySource

NONE = np.zeros(0, dtype=np.int64)


def squares(n=240, *, channels=3, side=16, dtype=np.uint8, seed=0):
    """A bright square at every place along a line, and where it is, from -1 to 1."""
    at = np.random.default_rng(seed).uniform(1, side - 7, n)
    x = np.arange(side)
    row = np.clip(np.minimum(x - at[:, None], at[:, None] + 6 - x), 0, 1)  # edges between pixels are gray
    image = np.zeros((n, side, side, channels))
    image[:, 4:10] = row[:, None, :, None] * np.linspace(1, 0.5, channels)
    image = image[..., 0] if channels == 1 else image
    high = 255 if dtype == np.uint8 else 3
    return (high * image).astype(dtype), (at / (side - 8) * 2 - 1).astype(np.float32)


def fitted(X, at, rows=4000, held=NONE, **more):
    source = ArraySource(X)
    layer = fit_input_layer(source, "pca", "gaussian", np.random.default_rng(0))
    hae = HierarchicalAutoencoder(Hierarchy.flat(1), places(layer.to_input(layer.prepare(X)), at), nn.Identity())
    return fit_pixels(layer, source, hae, held, rows, seed=0, **more)


def places(x, at):
    """A network that has learned where the square is."""
    A = torch.cat([x, torch.ones(len(x), 1)], dim=1)
    weights = torch.linalg.lstsq(A, torch.from_numpy(at)[:, None]).solution[:, 0]
    network = nn.Linear(x.shape[1], 1)
    with torch.no_grad():
        network.weight.copy_(weights[:-1])
        network.bias.copy_(weights[-1:])
    return network


@pytest.mark.parametrize(("channels", "dtype"), [(1, np.uint8), (3, np.uint8), (3, np.float64)])
def test_images_from_one_number_have_sharp_edges(channels, dtype):
    X, at = squares(channels=channels, dtype=dtype)
    model, images, outcome = fitted(X, at, held=np.arange(0, 240, 10))
    assert len(images) == 24
    assert not outcome.problem
    decoded = model.restore(images.inputs)
    truth = X[::10].astype(float)
    assert decoded.shape == truth.shape
    assert decoded.dtype == (np.float64 if dtype == np.float64 else np.float32)
    assert ((decoded - truth) ** 2).sum() < 0.05 * ((truth - truth.mean(0)) ** 2).sum()
    unit = 255 if dtype == np.uint8 else 3
    expected = ((decoded / unit - truth / unit) ** 2).sum() / 24
    assert images.error(model.restore) == pytest.approx(expected, rel=1e-4)


def test_drawings_are_bernoulli_and_photographs_gaussian():
    drawing, at = squares(channels=1)
    photograph = np.random.default_rng(0).normal(128, 30, drawing.shape).clip(0, 255).astype(np.uint8)
    found = {}
    for name, X in (("drawing", drawing), ("photograph", photograph), ("negative", drawing - 1.0)):
        source = ArraySource(X)
        layer = fit_input_layer(source, "pca", "gaussian", np.random.default_rng(0))
        items = torch.from_numpy(at)[:, None]
        found[name] = make_decoder(layer, Images.of(X, items, 255.0), items, "uint8", 0).likelihood
    assert found == {"drawing": "bernoulli", "photograph": "gaussian", "negative": "gaussian"}


def test_paths_whose_images_are_blurred_more_are_drawn_more_often():
    # of every path the usual images are off by its number
    path = np.repeat([1, 2, 12], [600, 300, 100])
    X = np.zeros((1000, 8, 8), np.float32)
    inputs = torch.from_numpy(path.astype(np.float32))[:, None]
    images = Images.of(X, inputs, 1.0)
    a = torch.nn.functional.one_hot(torch.from_numpy(np.repeat([0, 1, 2], [600, 300, 100]))).float()

    def usual(x):
        return np.sqrt(x.numpy().reshape(-1, 1, 1) / 64) * np.ones((1, 8, 8), np.float32)

    drawn = drawn_rows(images, a, usual, np.random.default_rng(0)).numpy()
    # the mean is 2.4: paths are to be drawn 1/2.4, 2/2.4 and, at most, three times as often as they are there
    shares = np.array([600 / 2.4, 300 * 2 / 2.4, 300])
    assert np.bincount(path[drawn])[[1, 2, 12]] == pytest.approx(1000 * shares / shares.sum(), abs=2)
    assert len(drawn) == 1000
    assert np.bincount(drawn)[:600].max() == 1
    rare = np.bincount(drawn, minlength=1000)[900:]
    assert rare.max() - rare.min() == 1
    even = drawn_rows(images, a, lambda x: np.ones((len(x), 8, 8), np.float32), np.random.default_rng(0))
    assert (even.numpy() == np.arange(1000)).all()


def test_the_same_weights_give_the_same_images():
    X, at = squares(60)
    model, images, _ = fitted(X, at, rows=160)
    items, expected = model.items(images.inputs), model.restore(images.inputs)
    again = PixelDecoder.from_weights(model.decoder.config, model.decoder.state_dict())
    assert np.array_equal(again.decode(items), expected)
    other, _, _ = fitted(X, at, rows=160)
    assert np.allclose(other.restore(images.inputs), expected, atol=1e-2)


def test_a_training_that_was_stopped_goes_on(tmp_path, monkeypatch):
    X, at = squares(60, channels=1)
    whole, images, _ = fitted(X, at, rows=480)
    calls = []

    def loss(self, *batch):
        calls.append(len(batch[0]))
        if len(calls) == 12:  # in the fourth of ten epochs
            raise KeyboardInterrupt
        return usual(self, *batch)

    usual = PixelDecoder.loss
    monkeypatch.setattr(PixelDecoder, "loss", loss)
    _, _, outcome = fitted(X, at, rows=480, checkpoint=tmp_path)
    assert outcome.interrupted
    assert outcome.epoch == 3
    model, _, outcome = fitted(X, at, rows=480, checkpoint=tmp_path)
    assert len(calls) == 12 + 30 - 9
    assert not outcome.interrupted
    assert np.allclose(model.restore(images.inputs), whole.restore(images.inputs), atol=1e-2)


@pytest.mark.parametrize(
    ("shape", "sharp"), [((16, 16), True), ((16, 16, 3), True), ((4, 16), False), ((9,), False)]
)
def test_what_can_be_sharp(shape, sharp):
    X = np.random.default_rng(0).uniform(0, 1, (30, *shape))
    layer = fit_input_layer(ArraySource(X), "pca", "gaussian", np.random.default_rng(0))
    assert can_be_sharp(layer) is sharp


def test_a_model_keeps_the_sharper_decoder_and_saves_it(tmp_path):
    X, _ = squares(300, channels=1)
    structure = {"hierarchy": Hierarchy.flat(1)}
    model = COFHAE(max_steps=50, input="pca", maps="network", device="cpu").fit(X, **structure)
    blurred = COFHAE(max_steps=50, input="pca", maps="network", sharp=False, device="cpu").fit(X, **structure)
    Z = model.transform(X)
    before = blurred.transform(X)
    assert np.corrcoef(Z[:, 0], before[:, 0])[0, 1] > 0.9  # codes are held where they were
    assert model.code_statistics_ != blurred.code_statistics_
    assert model.pixels_ is not None
    assert blurred.pixels_ is None
    errors = [((m.inverse_transform(Z) - X.astype(float)) ** 2).mean() for m in (model, blurred)]
    assert errors[0] < 0.7 * errors[1]
    assert model.evaluate(X)["reconstruction"] == pytest.approx(errors[0] * X[0].size, rel=1e-3)
    model.save(tmp_path)
    assert np.array_equal(COFHAE.load(tmp_path, device="cpu").inverse_transform(Z), model.inverse_transform(Z))
    model.fit(X[:, 5, :], **structure)
    assert model.pixels_ is None


def test_a_decoder_that_is_no_better_is_not_kept():
    X, at = squares(60, channels=1)
    _, images, _ = fitted(X, at, rows=160)
    truth = dict(zip(images.inputs[:, 0].tolist(), images.stored[:, 0].numpy(), strict=True))
    fit = partial(fitted, X, at, rows=160)
    assert sharper(fit, lambda x: np.stack([truth[row] for row in x[:, 0].tolist()])) == (None, False)
    assert sharper(fit, lambda x: np.full((len(x), 16, 16), 255.0))[0] is not None


def test_the_encoder_learns_from_pixels_what_it_did_not_know():
    X, at = squares(240, channels=1)
    noise = np.random.default_rng(1).normal(0, 0.05, 240).astype(np.float32)
    model, images, _ = fitted(X, at + noise, rows=16)
    before = model.items(images.inputs)[:, 0].numpy()
    model, _, _ = fitted(X, at + noise, rows=16_000)
    after = model.items(images.inputs)[:, 0].numpy()

    def unexplained(codes):  # by a smooth function of where the square is
        return np.var(codes - np.polyval(np.polyfit(at, codes, 5), at)) / np.var(codes)

    assert unexplained(after) < 0.9 * unexplained(before)  # the same if it does not learn
    assert np.corrcoef(after, before)[0, 1] > 0.98


@pytest.mark.parametrize("free", [False, True])
def test_codes_are_left_alone_until_they_are_free(free):
    X, at = squares(60, channels=1)
    model, images, _ = fitted(X, at, rows=16)
    model.requires_grad_(True)
    x, options, target = images.inputs, torch.zeros(60, 0), torch.from_numpy(at)[:, None]
    terms = model.loss(x, images.pixels(slice(None)), options, target, torch.ones(1), free=free)
    terms["loss"].backward()
    assert (model.encoder.weight.grad is not None) is free
    assert model.decoder.network.head[0].weight.grad.abs().max() > 0


def test_the_embedding_learns_from_pixels_too(tmp_path):
    X, _ = squares(400, channels=1)
    model = COFHAE(max_steps=60, input="embedding", maps="network", random_state=0, device="cpu")
    representation = autoencoder_representation(X, np.random.SeedSequence(0), steps=60)
    model.fit(X, hierarchy=Hierarchy.flat(1), representation=representation)
    assert model.pixels_ is not None
    before = {name: value.numpy() for name, value in representation.network.state_dict().items()}
    after = {name: value.numpy() for name, value in model.input_.network.state_dict().items()}
    changed = {name.split(".")[0] for name in before if not np.array_equal(before[name], after[name])}
    assert changed == {"encoder"}  # what blurred images are decoded by stays, and so does MIMOSA's own copy
    assert not any(weights.requires_grad for weights in model.input_.parameters())
    Z = model.transform(X)
    assert ((model.inverse_transform(Z) - X) ** 2).sum() < 0.5 * ((X - X.mean(0)) ** 2).sum()
    model.save(tmp_path)
    again = COFHAE.load(tmp_path, device="cpu")
    assert np.allclose(again.transform(X), Z, atol=1e-6)
    assert np.array_equal(again.inverse_transform(Z), model.inverse_transform(Z))


def test_kinds_of_images_in_which_nothing_varies():
    rng = np.random.default_rng(0)
    paths = rng.integers(0, 2, 200)
    X = np.where(paths[:, None, None] == 1, np.eye(16), np.eye(16)[::-1]) * 200 + rng.uniform(0, 20, (200, 16, 16))
    kinds = [{"name": name, "variables": []} for name in "ab"]
    hierarchy = Hierarchy.from_dict({"variables": [{"kind": "categorical", "name": "kind", "options": kinds}]})
    model = COFHAE(max_steps=30, device="cpu").fit(X.astype(np.uint8), hierarchy=hierarchy, paths=paths)
    codes = model.transform(X.astype(np.uint8))
    assert (codes[:, 0] == paths).mean() > 0.9
    assert np.abs(model.inverse_transform(codes) - X).mean() < 30
