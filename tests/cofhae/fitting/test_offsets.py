"""A curved leaf that is described by one that it encloses: what both have, and how far it is off."""

import numpy as np
import pytest

from disentree import Hierarchy
from disentree.cofhae.fitting import unrolling
from disentree.cofhae.fitting.offsets import not_told_by, shared_and_offset
from disentree.cofhae.fitting.targets import Targets
from disentree.cofhae.fitting.unrolling import guides


def rolled(n, seed, low, high):
    """A rolled strip of 3 by 2 that is thickened across, and its three coordinates."""
    rng = np.random.default_rng(seed)
    u, v, w = 3 * rng.random(n), 2 * rng.random(n), rng.uniform(low, high, n)
    return np.stack([np.sin(u), np.cos(u), v, w], axis=1), np.stack([u, v, w], axis=1)


@pytest.fixture(scope="module")
def nested():
    strip, own = rolled(3000, 0, 0, 0)
    thick, coordinates = rolled(3000, 1, 0, 0.4)
    return strip, own[:, :2], thick, coordinates


def test_the_distance_off_the_enclosed_leaf_is_the_last_variable(nested):
    strip, own, thick, coordinates = nested
    found = shared_and_offset(thick, strip, own, np.random.default_rng(0))
    assert found is not None
    shared, offset = found
    assert np.corrcoef(offset, coordinates[:, 2])[0, 1] > 0.99
    # in the units of the enclosed leaf
    assert np.abs(shared - coordinates[:, :2]).mean(axis=0).max() < 0.1
    assert np.abs(np.corrcoef(np.column_stack([shared, offset]).T)[2, :2]).max() < 0.03
    assert offset.mean() == pytest.approx(0, abs=1e-9)
    assert offset.std() == pytest.approx(1)


def test_it_is_a_rank_however_leaves_are_turned_scaled_and_stretched(nested):
    strip, own, thick, coordinates = nested
    turn = np.linalg.qr(np.random.default_rng(2).standard_normal((6, 4)))[0]
    before = shared_and_offset(thick, strip, own, np.random.default_rng(0))
    after = shared_and_offset(5 * thick @ turn.T + 2, 5 * strip @ turn.T + 2, own, np.random.default_rng(0))
    for one, other in zip(before, after, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    wider = thick.copy()
    wider[:, 3] *= 1 + coordinates[:, 1] / 2  # the strip is twice as thick at one side as at the other
    _, offset = shared_and_offset(wider, strip, own, np.random.default_rng(0))
    assert np.corrcoef(offset, coordinates[:, 2])[0, 1] > 0.98
    assert abs(np.corrcoef(wider[:, 3], coordinates[:, 1])[0, 1]) > 0.3
    assert abs(np.corrcoef(offset, coordinates[:, 1])[0, 1]) < 0.05


def test_too_few_rows_and_a_leaf_that_is_a_point_describe_nothing(nested):
    strip, own, thick, _ = nested
    rng = np.random.default_rng(0)
    assert shared_and_offset(thick, strip[:20], own[:20], rng) is None
    assert shared_and_offset(thick[:200], strip, own, rng) is None
    assert shared_and_offset(thick, np.zeros_like(strip), np.zeros_like(own), rng) is None


def test_what_factors_do_not_tell():
    rng = np.random.default_rng(0)
    rows = rng.random((4000, 2))
    assert not_told_by(rows, rows) < 0.002
    assert not_told_by(rng.random((4000, 2)), rows) == pytest.approx(1.2, abs=0.05)  # a mean of five other rows
    assert not_told_by(rows[:, :1], rows) == pytest.approx(0.6, abs=0.05)


def targets_of(strip, thick):
    inner = {"kind": "categorical", "options": [{"variables": []}, {"variables": [{"kind": "continuous"}]}]}
    hierarchy = Hierarchy.from_dict({"variables": [{"kind": "continuous"}] * 2 + [inner]})
    Z, paths = np.concatenate([strip, thick]), np.repeat([0, 1], [len(strip), len(thick)])
    none = Targets(
        np.full((len(Z), hierarchy.n_variables), np.nan),
        np.zeros(2),
        np.zeros((2, hierarchy.n_variables)),
        np.zeros((2, hierarchy.n_variables)),
    )
    found = guides(Z, hierarchy, paths, np.arange(2), np.random.default_rng(0), none)
    return found, hierarchy.paths[1].continuous[-1]


def test_guides_follow_the_distance_to_the_end_of_training(nested):
    strip, _, thick, coordinates = nested
    found, last = targets_of(strip, thick)
    assert found.kept[1, last] == 1
    assert abs(np.corrcoef(found.values[3000:, last], coordinates[:, 2])[0, 1]) > 0.99


def test_a_leaf_on_both_sides_of_the_enclosed_one_is_laid_out_instead():
    strip, _ = rolled(3000, 0, 0, 0)
    thick, coordinates = rolled(3000, 1, -0.4, 0.4)
    found, last = targets_of(strip, thick)
    assert found.kept[1, last] == 0
    assert abs(np.corrcoef(found.values[3000:, last], np.abs(coordinates[:, 2]))[0, 1]) < 0.3


def test_more_rows_than_are_compared_are_interpolated(nested, monkeypatch):
    strip, _, thick, coordinates = nested
    monkeypatch.setattr(unrolling.constants, "COMPARED_ROWS", 2500)
    monkeypatch.setattr(unrolling.constants, "ENCLOSED_ROWS", 2000)
    found, last = targets_of(strip, thick)
    assert np.isfinite(found.values[3000:, last]).all()
    assert abs(np.corrcoef(found.values[3000:, last], coordinates[:, 2])[0, 1]) > 0.98
