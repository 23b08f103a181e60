"""The atlas as a finder: tolerances, noise, and the leaves it ends with."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from disentree.datasets import load_dataset
from disentree.metrics import purity_score
from disentree.mimosa.density.chart_mixture import Background, ChartCandidate
from disentree.mimosa.density.tiles import Leaf
from disentree.mimosa.finders.atlas import finder as atlas
from disentree.mimosa.finders.atlas.constants import ATLAS


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


@pytest.mark.parametrize("shape", [(59, 3), (500, 1)])
def test_few_rows_or_one_column_have_no_charts(shape):
    assert atlas.find(np.ones(shape), 1e-12, np.random.default_rng(0)) is None


def test_constant_columns_leave_no_leaves():
    labels, dims = atlas.leaves_at(np.ones((100, 3)), 0.1, np.random.default_rng(0))
    assert dims == []
    assert (labels == -1).all()


@pytest.mark.parametrize("noise", [0.01, 0.05])
def test_the_noise_across_a_sheet_is_measured(noise):
    rng = np.random.default_rng(0)
    Z = np.column_stack([rng.uniform(-5, 5, (4000, 2)), np.zeros((4000, 1))]) + noise * rng.standard_normal(
        (4000, 3)
    )
    assert atlas.noise_scale(Z, rng) == pytest.approx(noise, rel=0.3)


def stand_in(n_leaves):
    background = Background(np.zeros(2), np.ones(2))
    return ChartCandidate(
        "atlas", [Leaf(1, [])] * n_leaves, np.full(n_leaves, 1 / n_leaves), background=background
    )


@given(st.lists(st.tuples(st.floats(-10, 10), st.integers(1, 5)), min_size=1, max_size=4))
def test_the_chosen_tolerance_is_within_the_doubt_and_has_the_fewest_leaves(pairs):
    tried = {float(t): (bits, stand_in(k)) for t, (bits, k) in enumerate(pairs)}
    chosen = atlas.choose(tried)
    near = [found for bits, found in tried.values() if bits <= min(pairs)[0] + ATLAS.negligible]
    assert any(chosen is found for found in near)
    assert len(chosen.components) == min(len(found.components) for found in near)


def test_nothing_is_chosen_from_nothing():
    assert atlas.choose({}) is None
    assert atlas.choose({0.1: (np.inf, None), 0.2: (np.nan, stand_in(1))}) is None
