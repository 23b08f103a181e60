"""Quadratic charts as densities."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from disentree.geometry.charts import quadratic_terms
from disentree.mimosa.density.chart import fit_chart, pooled, shrunk_coefficients, trim_factor


def test_deviations_of_equal_noise_are_pooled_and_a_thin_one_is_not():
    found = pooled(np.array([1.2, 1.0, 0.8, 1e-6]), 50, 1.1)
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


def test_a_bend_is_kept_and_noise_gets_no_coefficients():
    rng = np.random.default_rng(0)
    u = rng.uniform(-1, 1, (200, 2))
    V = 0.01 * rng.standard_normal((200, 30))
    V[:, 0] += u[:, 0] ** 2
    C = shrunk_coefficients(quadratic_terms(u), V)
    assert C[3, 0] == pytest.approx(1, abs=0.02)  # 1, u, v, then the squares
    assert np.abs(C[:, 1:]).max() < 0.01
    assert (shrunk_coefficients(quadratic_terms(u), V[:, 1:]) == 0).all()


def test_exact_data_is_fitted_exactly():
    u = np.random.default_rng(0).uniform(-1, 1, (50, 1))
    V = np.column_stack([u[:, 0] ** 2, 3 * u[:, 0], np.zeros(50)])
    A = quadratic_terms(u)
    np.testing.assert_allclose(A @ shrunk_coefficients(A, V), V, atol=1e-12)


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=8), st.integers(20, 500))
def test_pooling_keeps_the_total_variance_and_the_order(values, n):
    deviations = np.sort(values)[::-1]
    found = pooled(deviations, n, 1.1)
    assert (found**2).sum() == pytest.approx((deviations**2).sum())
    assert (np.diff(found) <= 1e-9 * found[0]).all()


def test_a_trimmed_fit_measures_the_noise_of_all_rows():
    rng = np.random.default_rng(0)
    Z = np.column_stack([rng.uniform(-1, 1, 4000), 0.1 * rng.standard_normal((4000, 2))])
    for trim in (0.0, 0.1, 0.3):
        assert fit_chart(Z, 1, 0.0, trim=trim).sigma == pytest.approx([0.1, 0.1], rel=0.05)
    assert trim_factor(1.0, 2) == 1.0


def test_stray_rows_do_not_hide_that_the_others_are_exact():
    rng = np.random.default_rng(0)
    Z = np.column_stack([rng.uniform(-1, 1, 100), np.zeros(100)])
    Z[:3, 1] = 5
    assert fit_chart(Z, 1, 1e-9, trim=0.05).sigma[0] < 1e-8
    assert fit_chart(Z, 1, 1e-9, trim=0.0).sigma[0] > 0.1


def test_few_rows_make_a_flat_chart_and_no_dimension_a_point():
    Z = np.random.default_rng(0).standard_normal((11, 3))
    assert fit_chart(Z, 1, 0.0).degree == 1  # three coefficients need twelve rows
    assert not fit_chart(Z, 1, 0.0).is_bent
    point = fit_chart(Z, 0, 0.0, trim=0.0)
    assert point.dimension == 0
    assert np.sort(point.sigma) == pytest.approx(np.sqrt(np.linalg.eigvalsh(np.cov(Z.T))))
    assert fit_chart(Z, 3, 0.0).sigma.shape == (0,)


def test_rows_at_one_place_have_a_chart_of_the_precision():
    chart = fit_chart(np.ones((20, 2)), 1, 0.01, trim=0.0)
    assert chart.sigma == pytest.approx([0.01])
    assert np.isfinite(chart.split(np.ones((1, 2)))[1]).all()
