"""Mixtures of leaves that charts tile, and the rounds that settle rows on them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from disentree.mimosa.density.chart_mixture import Background, ChartCandidate, settle
from disentree.mimosa.density.constants import DENSITY
from disentree.mimosa.density.tiles import fit_flat_leaf


def cross(rng, n=600):
    """Two lines that cross."""
    u = rng.uniform(-1, 1, n)
    zero = np.zeros(n)
    Z = np.concatenate([np.column_stack([u, zero]), np.column_stack([zero, u])])
    return Z + 0.01 * rng.standard_normal(Z.shape), np.repeat([0, 1], n)


def candidate_of(Z, labels, dims, rng):
    leaves = [fit_flat_leaf(Z[labels == c], d, 1e-6, rng) for c, d in enumerate(dims)]
    return ChartCandidate("atlas", leaves, np.bincount(labels) / len(labels), background=Background.fit(Z))


def test_rows_on_the_wrong_leaf_are_settled():
    rng = np.random.default_rng(0)
    Z, truth = cross(rng)
    start = np.where(rng.random(len(Z)) < 0.04, 1 - truth, truth)
    found = settle(Z, candidate_of(Z, start, [1, 1], rng), 1e-6, rng, 20, 4)
    assert found.dimensions == [1, 1]
    assert np.mean(found.labels(Z) == truth) > 0.98
    assert found.shares == pytest.approx([0.5, 0.5], abs=0.03)
    assert found.bits(Z).mean() < candidate_of(Z, start, [1, 1], rng).bits(Z).mean()


def test_leaves_without_rows_go_and_nothing_is_left_as_it_was():
    rng = np.random.default_rng(0)
    Z, truth = cross(rng)
    both = candidate_of(Z, truth, [1, 1], rng)
    assert settle(Z[truth == 0], both, 1e-6, rng, 20, 1).dimensions == [1]
    assert settle(Z[:30], both, 1e-6, rng, 1000, 4) is both


@given(st.integers(0, 1000), st.floats(0.01, 0.99))
def test_densities_are_sums_over_leaves_and_the_background(seed, share):
    rng = np.random.default_rng(seed)
    Z, truth = cross(rng, 60)
    found = replace(candidate_of(Z, truth, [1, 1], rng), shares=np.array([share, 1 - share]))
    leaves = share * np.exp(found.components[0].log_density(Z))
    leaves += (1 - share) * np.exp(found.components[1].log_density(Z))
    faint = DENSITY.background * np.exp(found.background.log_density(Z))
    np.testing.assert_allclose(2.0 ** -found.bits(Z), (1 - DENSITY.background) * leaves + faint)


def test_a_row_far_from_all_leaves_costs_finitely_many_bits():
    rng = np.random.default_rng(0)
    Z, truth = cross(rng)
    found = candidate_of(Z, truth, [1, 1], rng)
    far = np.full((1, 2), 1e8)
    assert found.bits(far)[0] < 200
