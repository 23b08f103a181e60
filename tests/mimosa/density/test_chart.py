"""Charts and the atlas made of them. `chart.py`, `atlas.py`, `atlas_charts.py`, `chart_mixture.py`."""

import numpy as np
import pytest

from disentree.datasets import load_dataset
from disentree.metrics import purity_score
from disentree.mimosa.density.chart import curvature, fit_chart, pooled, terms
from disentree.mimosa.finders.atlas import finder as atlas


def test_deviations_of_equal_noise_are_pooled_and_a_thin_one_is_not():
    found = pooled(np.array([1.2, 1.0, 0.8, 1e-6]), 50)
    np.testing.assert_allclose(found, [np.sqrt((1.44 + 1 + 0.64) / 3)] * 3 + [1e-6])


def test_a_parabola_is_fitted_exactly():
    u = np.linspace(-1, 1, 60)
    chart = fit_chart(np.column_stack([u, 0.5 * u**2]), 1, 0.0, trim=0.0)
    _, residuals = chart.split(np.column_stack([u, 0.5 * u**2]))
    assert np.abs(residuals).max() < 1e-12


def test_a_coarse_column_is_coarse_in_its_own_direction_only():
    rng = np.random.default_rng(0)
    rotation = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    line = np.column_stack([rng.uniform(-1, 1, 200), np.zeros((200, 2))])
    errors = np.diag([1e-9, 0.5, 1e-9]) @ rotation  # of the second column of what was rotated
    chart = fit_chart(line @ rotation, 1, errors)
    assert chart.sigma[0] == pytest.approx(0.5, rel=0.1)
    assert chart.sigma[1] < 1e-8


def test_a_sphere_and_its_equator_whatever_the_rotation():
    ds = load_dataset("equator", 4000, seed=1, noise=0.005)
    rotation = np.linalg.qr(np.random.default_rng(7).standard_normal((3, 3)))[0]
    for Z in (ds.X, ds.X @ rotation):
        found = atlas.find(Z, 1e-12, np.random.default_rng(0))
        assert found is not None
        assert sorted(found.dimensions) == [1, 2]
        assert purity_score(ds.paths, found.labels(Z)) > 0.95


def test_a_cloud_has_no_charts():
    Z = np.random.default_rng(0).standard_normal((2000, 6))
    assert atlas.find(Z, 1e-12, np.random.default_rng(0)) is None


def test_a_bend_is_kept_and_noise_gets_no_coefficients():
    rng = np.random.default_rng(0)
    u = rng.uniform(-1, 1, (200, 2))
    V = 0.01 * rng.standard_normal((200, 30))
    V[:, 0] += u[:, 0] ** 2
    C = curvature(terms(u, 2), V)
    assert C[3, 0] == pytest.approx(1, abs=0.02)  # 1, u, v, then the squares
    assert np.abs(C[:, 1:]).max() < 0.01
    assert (curvature(terms(u, 2), V[:, 1:]) == 0).all()


def test_exact_data_is_fitted_exactly():
    u = np.random.default_rng(0).uniform(-1, 1, (50, 1))
    V = np.column_stack([u[:, 0] ** 2, 3 * u[:, 0], np.zeros(50)])
    A = terms(u, 2)
    np.testing.assert_allclose(A @ curvature(A, V), V, atol=1e-12)
