"""The fixed first and last layer."""

import numpy as np
import pytest
import torch

from disentree.cofhae.inputs import fit_input_layer
from disentree.training.data import ArraySource, BlockSource, sample_rows


def fit(X, kind="auto", likelihood="auto"):
    return fit_input_layer(ArraySource(X), kind, likelihood, np.random.default_rng(0))


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    return rng.uniform(-1, 1, (500, 3)) @ rng.standard_normal((3, 8)) * np.logspace(-4, 4, 8) + 1e3


@pytest.mark.parametrize("kind", ["whiten", "standardize"])
def test_features_go_back_to_where_they_came_from(table, kind):
    layer = fit(table, kind)
    features = layer.to_input(layer.prepare(table))
    assert features.shape[1] == layer.n_features == (3 if kind == "whiten" else 8)
    np.testing.assert_allclose((layer.restore(features) - table) / table.std(0), 0, atol=1e-4)


def test_raw_is_raw(table):
    X = np.c_[table, np.full(500, 42.0)]
    layer = fit(X, "raw")
    features = layer.to_input(layer.prepare(X))
    assert np.array_equal(features.numpy(), X.astype(np.float32))
    assert np.array_equal(layer.restore(features), X.astype(np.float32))


def test_whitened_features_are_white_and_do_not_know_the_units(table):
    layer = fit(table)
    features = layer.prepare(table).numpy()
    np.testing.assert_allclose(np.cov(features.T, bias=True), np.eye(3), atol=1e-3)
    again = fit(table * 7 - 3).prepare(table * 7 - 3).numpy()
    np.testing.assert_allclose(np.abs(again), np.abs(features), atol=1e-3)  # signs of axes are free


def test_noise_is_not_blown_up():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (2000, 3)) @ rng.standard_normal((3, 30)) + 0.01 * rng.standard_normal((2000, 30))
    assert fit(X).n_features == 3
    assert fit(rng.standard_normal((2000, 30))).n_features == 30  # all of it may be signal


def test_constant_columns_are_put_back(table):
    X = np.c_[table, np.full(500, 42.0)]
    layer = fit(X)
    np.testing.assert_allclose(layer.restore(layer.prepare(X))[:, -1], 42)
    assert fit(X, "standardize").n_features == 8


def test_losses_are_in_the_units_they_promise(table):
    layer = fit(table, "whiten")
    x = layer.prepare(table)
    mean = torch.zeros_like(x)
    assert layer.loss(None)(mean, x).item() == pytest.approx(1, abs=1e-3)  # the mean explains nothing
    sse = ((table - table.mean(0)) ** 2).sum(1).mean()
    assert layer.loss(0.5**0.5 / 10)(mean, x).item() == pytest.approx(100 * sse, rel=1e-3)
    assert layer.loss(0.1)(mean, x).item() == pytest.approx(50 * sse, rel=1e-3)


def test_likelihoods_are_chosen_from_the_data(table):
    binary = (table > 1e3).astype(np.float32)
    assert fit(table).likelihood == "gaussian"
    assert fit(binary).likelihood == "bernoulli"
    assert fit(binary, likelihood="gaussian").likelihood == "gaussian"
    with pytest.raises(ValueError, match=r"likelihood='bernoulli' takes values in \[0, 1\], and X reaches from"):
        fit(table, likelihood="bernoulli")
    layer = fit(binary)
    x = layer.prepare(binary)
    rate = binary.mean(0).clip(0.002, 0.998)
    entropy = -(rate * np.log(rate) + (1 - rate) * np.log(1 - rate)).sum()
    assert layer.loss(0.1)(torch.zeros_like(x), x).item() == pytest.approx(entropy, rel=0.02)


@pytest.mark.parametrize("shape", [(10, 12), (10, 12, 3), (3, 10, 12)])
@pytest.mark.parametrize("kind", ["pca", "image"])
def test_images_of_any_layout_go_round(shape, kind):
    rng = np.random.default_rng(0)
    X = (rng.random((60, *shape)) * 255).astype(np.uint8)
    layer = fit(X, kind, "gaussian")
    prepared = layer.prepare(X)
    if kind == "image":
        assert prepared.shape[1:] == layer.image_shape == ((1 if len(shape) == 2 else 3), 10, 12)
        output = layer.to_input(prepared) - layer.as_image(layer.mean[None])
    else:
        output = prepared
    np.testing.assert_allclose(layer.restore(output), X, atol=1.5)


def test_principal_components_of_a_sample_are_those_of_the_whole(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 5)) @ rng.standard_normal((5, 50))
    exact = fit(X, "pca")
    monkeypatch.setattr("disentree.cofhae.inputs.EXACT_COLUMNS", 10)
    sampled = fit(X, "pca")
    assert sampled.n_features == exact.n_features == 5
    np.testing.assert_allclose(sampled.prepare(X).abs(), exact.prepare(X).abs(), atol=2e-2)


def test_blocks_add_up_to_the_whole(table):
    whole, blocks = (
        fit(table),
        fit_input_layer(BlockSource([table[:7], table[7:]]), "auto", "auto", np.random.default_rng(0)),
    )
    np.testing.assert_allclose(blocks.prepare(table).abs(), whole.prepare(table).abs(), atol=1e-3)
    sample = sample_rows(BlockSource([table[:7], table[7:]]), 100, np.random.default_rng(0))
    assert sample.shape == (100, 8)
    assert len(np.unique(sample[:, 0])) == 100


def test_nearness_tells_on_a_subspace_from_next_to_it(table):
    layer = fit(table)
    center, basis = np.zeros(3), np.eye(3)[:, :1]
    layer.add_subspaces([(center, basis)])
    x = torch.tensor([[2.0, 0, 0], [2.0, 1e-2, 0], [2.0, 1.0, 0]])
    near = layer.to_input(x)[:, 3]
    assert layer.n_inputs == 4
    assert near[0] > near[1] + 0.5 > near[2] + 1.0


def test_numbers_of_a_table_are_not_taken_for_pixels():
    """The same numbers as bytes and as integers give the same features."""
    table = np.random.default_rng(0).integers(0, 256, (300, 5))
    as_bytes, as_integers = fit(table.astype(np.uint8)), fit(table)
    first, second = as_bytes.prepare(table.astype(np.uint8)), as_integers.prepare(table)
    torch.testing.assert_close(first, second)
    np.testing.assert_allclose(as_bytes.restore(first), as_integers.restore(second), rtol=1e-5)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((10, 12), (1, 10, 12)),
        ((10, 12, 1), (1, 10, 12)),
        ((10, 12, 2), (2, 10, 12)),
        ((10, 12, 4), (4, 10, 12)),
        ((10, 12, 8), (8, 10, 12)),
        ((2, 10, 12), (2, 10, 12)),
        ((3, 3, 3), (3, 3, 3)),
    ],
)
def test_channels_are_last_unless_only_the_first_axis_can_be_channels(shape, expected):
    X = np.random.default_rng(0).random((20, *shape)).astype(np.float32)
    layer = fit(X, "image", "gaussian")
    assert layer.image_shape == expected
    prepared = layer.prepare(X)
    assert prepared.shape[1:] == expected
    np.testing.assert_allclose(layer.restore(prepared - layer.as_image(layer.mean[None])), X, atol=1e-5)
    if len(shape) == 3 and shape[0] == 10:
        torch.testing.assert_close(prepared[:, 1 % shape[2]], torch.from_numpy(X[:, :, :, 1 % shape[2]]))


def test_images_in_units_of_their_own_are_not_cut():
    X = np.random.default_rng(0).uniform(-2, 16, (60, 8, 8))
    for layer in (fit(X, "image", "gaussian"), fit(X, "pca", "gaussian")):
        again = layer.restore(1e3 * layer.prepare(X[:20]))  # far beyond all images
        assert (again.min(), again.max()) == pytest.approx((X.min(), X.max()), rel=1e-4)
