"""Charts grown from anchors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from disentree.mimosa.finders.atlas.growing import (
    best_flat,
    chart_at,
    find_charts,
    fit_local,
    has_charts,
)


def brute_force(Y, tuples, limit):
    """Every flat in full, by QR."""
    scores = []
    for rows in tuples:
        Q, R = np.linalg.qr(Y[rows].T)
        if (np.diag(R) ** 2).min() <= limit / 4:
            scores.append(-np.inf)
            continue
        off = (Y**2).sum(1) - ((Y @ Q) ** 2).sum(1)
        held, around = (off <= limit).sum(), ((off > limit) & (off <= 4 * limit)).sum()
        scores.append((held - len(rows) - 1 - 2 * around) / np.sqrt(held + 4 * around + 1))
    return max(scores)


@given(st.integers(0, 1000), st.integers(1, 3))
def test_the_best_flat_is_that_of_a_slow_search(seed, d):
    rng = np.random.default_rng(seed)
    Y = np.concatenate([10 * rng.standard_normal((30, d)), np.zeros((30, 4 - d))], axis=1)
    Y = np.concatenate([Y + rng.standard_normal(Y.shape), 10 * rng.standard_normal((20, 4))])[rng.permutation(50)]
    tuples = rng.integers(50, size=(10, d))
    score, basis = best_flat(Y, tuples, 4.0, len(Y) + 1)  # no flat is left early
    expected = brute_force(Y, tuples, 4.0)
    assert score == pytest.approx(expected) or score == expected == -np.inf
    if np.isfinite(score):
        np.testing.assert_allclose(basis @ basis.T, np.eye(d), atol=1e-10)


def circle(n, rng, radius=100.0):
    """In units of a tolerance of 1, which is its noise too."""
    angle = rng.uniform(0, 2 * np.pi, n)
    return radius * np.column_stack([np.cos(angle), np.sin(angle), np.zeros(n)]) + rng.standard_normal((n, 3))


def test_a_chart_follows_an_arc_and_holds_its_rows():
    rng = np.random.default_rng(0)
    Y = circle(2000, rng)
    excess, chart, held = chart_at(Y, np.arange(2000), 0, 1, rng)
    assert 100 < excess <= len(held) * 1.1
    assert chart.is_wide
    assert chart.inside(Y[held]).all()
    assert np.median(chart.off(Y[held])) == pytest.approx(1.18, rel=0.1)  # of the norm of two unit normals
    tangent = chart.frame[0] @ np.cross([0, 0, 1], chart.anchor / np.linalg.norm(chart.anchor))
    assert abs(tangent) > 0.98


def test_charts_cover_a_circle_by_its_dimension():
    rng = np.random.default_rng(1)
    charts, explained = find_charts(circle(1500, rng), rng)
    assert {chart.dimension for chart in charts} == {1}
    assert np.mean(explained == 1) > 0.9


def test_a_cloud_or_too_few_rows_have_no_chart():
    rng = np.random.default_rng(2)
    cloud = 50 * rng.standard_normal((1000, 3))
    assert find_charts(cloud, rng)[0] == []
    assert not has_charts(cloud, 1.0, rng)
    assert chart_at(circle(20, rng), np.arange(20), 0, 1, rng) is None


def test_a_local_chart_of_a_parabola_is_exact_and_of_few_rows_flat():
    u = np.linspace(-10, 10, 60)
    P = np.column_stack([u, 0.05 * u**2])
    chart = fit_local(P, 1, P[0], 20.0)
    assert chart.degree == 2
    assert chart.off(P).max() < 1e-6
    assert fit_local(P[:8], 1, P[0], 20.0).degree == 1
