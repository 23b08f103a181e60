"""White noise in the spectrum of a table, and what is not noise: `noise.py`, with decompositions that
`choosing.py` passes on."""

import numpy as np
import pytest

from disentree.mimosa.coordinates import noise as module
from disentree.mimosa.coordinates.choosing import table_coordinates
from disentree.mimosa.coordinates.noise import white_noise


def rng_of(seed):
    return np.random.default_rng(seed)


def noise_of(X):
    coordinates = table_coordinates(X, rng_of(0))
    return white_noise(X, coordinates.columns, coordinates.decomposed)


def in_planes(noise, n=6000, columns=30):
    axes = np.linalg.qr(rng_of(1).normal(size=(columns, 3)))[0]
    return rng_of(2).uniform(-1, 1, (n, 3)) @ axes.T + noise * rng_of(3).normal(size=(n, columns))


def test_noise_is_read_off_the_spectrum():
    X = in_planes(noise=0.02)
    found = noise_of(X)
    # along each coordinate the noise has the deviation that it has in the data, in the coordinate's units
    deviations = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)[:3] / np.sqrt(len(X))
    assert found.deviation == pytest.approx(0.02 / deviations, rel=0.02)
    assert noise_of(in_planes(noise=0.0)) is None
    coordinates = table_coordinates(X, rng_of(0))
    Z = (coordinates.representation.transform(X) - found.center) @ found.weights
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(np.cov(Z.T, bias=True), np.eye(3), atol=1e-9)


def test_images_of_bytes_have_the_noise_of_their_numbers():
    X = np.rint(100 + 20 * in_planes(noise=0.2)).astype(np.uint8)
    table, images = noise_of(X.astype(float)), None
    coordinates = table_coordinates(X.astype(float), rng_of(0))
    images = white_noise(X.reshape(len(X), 5, 6), coordinates.columns)
    np.testing.assert_allclose(images.deviation, table.deviation)
    np.testing.assert_allclose(images.weights, table.weights)


@pytest.mark.parametrize("columns", [8, 20, 50])
def test_noise_of_each_column_is_measured(columns):
    rng = rng_of(columns)
    X = rng.uniform(-1, 1, (5000, 2)) @ rng.normal(size=(2, columns)) + 0.05 * rng.normal(size=(5000, columns))
    as_it_came = noise_of(X)
    assert noise_of((X - X.mean(axis=0)) / X.std(axis=0)).deviation == pytest.approx(
        as_it_came.deviation, rel=0.05
    )
    signal = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)[:2]
    assert as_it_came.deviation == pytest.approx(0.05 * np.sqrt(5000) / signal, rel=0.05)


@pytest.mark.parametrize("shape", ["box", "normal", "strong and weak"])
def test_few_columns_of_equal_size_are_not_noise(shape):
    rng = rng_of(0)
    X = rng.normal(size=(4000, 8)) if shape == "normal" else rng.uniform(-1, 1, (4000, 8))
    if shape == "strong and weak":
        X = X * [5, 5, 1, 1, 1, 1, 1, 1] @ np.linalg.qr(rng.normal(size=(8, 8)))[0]
    assert noise_of(X) is None


def test_the_smaller_direction_of_two_is_not_noise():
    assert noise_of(rng_of(1).normal(size=(2000, 2)) * [3, 1]) is None


def test_constant_columns_are_left_out():
    X = in_planes(noise=0.02)
    wider = np.column_stack([X, np.full((len(X), 2), 7.0)])
    assert noise_of(wider).deviation == pytest.approx(noise_of(X).deviation)


@pytest.mark.parametrize("units", [1.0, 1000.0])
def test_the_decomposition_of_the_same_rows_is_not_computed_again(units, monkeypatch):
    """In one unit it is the second of those that noise is looked for in; standardized, the first."""
    X = in_planes(noise=0.02)
    X[:, :10] *= units
    coordinates = table_coordinates(X, rng_of(0))
    real, computed = module.principal_axes, []
    monkeypatch.setattr(module, "principal_axes", lambda *a, **k: computed.append(a) or real(*a, **k))
    alone = white_noise(X, coordinates.columns)
    n_alone = len(computed)
    computed.clear()
    passed_on = white_noise(X, coordinates.columns, coordinates.decomposed)
    assert len(computed) == n_alone - 1
    for name in ("center", "weights", "deviation"):
        np.testing.assert_array_equal(getattr(passed_on, name), getattr(alone, name))
    computed.clear()
    assert white_noise(X[:-1], coordinates.columns, coordinates.decomposed) is not None
    assert len(computed) == n_alone
