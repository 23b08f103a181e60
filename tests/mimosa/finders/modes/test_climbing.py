"""Modes of the density, known by construction."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from disentree.mimosa.finders.modes.climbing import Neighborhoods, climb
from disentree.mimosa.finders.modes.climbing import find_modes as find


def clouds(centers, n: int, seed: int = 0, width: float = 1.0):
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(len(centers)), n)
    return np.asarray(centers, float)[labels] + width * rng.normal(size=(len(labels), len(centers[0]))), labels


def find_modes(Z, k, weights=None):
    return find(Neighborhoods(Z), k, weights)


def test_hills_by_hand():
    # heights along a line: a hill of 3, a saddle of 1, a hill of 2
    height = np.array([2.0, 3.0, 1.0, 2.0])
    order = np.argsort(-height, kind="stable")
    starts, links = np.array([0, 1, 3, 5, 6]), np.array([1, 0, 2, 1, 3, 2])
    variance = np.full(4, 0.5)  # so that the error of a difference is 1
    # the lower hill is 1 above the saddle
    assert climb(height, variance, order, starts, links, 0.9).tolist() == [1, 1, 1, 3]
    assert climb(height, variance, order, starts, links, 1.1).tolist() == [1, 1, 1, 1]
    variance[2] = 1.5  # a saddle that few rows tell
    assert climb(height, variance, order, starts, links, 0.9).tolist() == [1, 1, 1, 1]


def test_rows_that_stand_for_others_are_as_high_as_these():
    rng = np.random.default_rng(0)
    # one cloud, of whose right half a tenth was drawn: without weights the left half ends in a cliff
    Z = rng.normal(size=(20_000, 2))
    drawn = (Z[:, 0] < 0) | (rng.random(len(Z)) < 0.1)
    weights = np.where(Z[:, 0] < 0, 1.0, 10.0)[drawn]
    assert find_modes(Z[drawn], 60, weights=weights).max() == 0
    assert (find_modes(Z[drawn], 60, weights=np.full(drawn.sum(), 3.0)) == find_modes(Z[drawn], 60)).all()
    # few of a dense cloud, all of a thin one: the modes are found, and the dense one is the higher
    two, labels = clouds([(0, 0), (8, 0)], 300)
    found = find_modes(two, 25, weights=np.repeat([10.0, 1.0], 300))
    assert adjusted_rand_score(labels, found) > 0.95


def test_neighborhoods_are_the_same_in_any_order():
    Z, _ = clouds([(0, 0), (5, 0)], 200)
    around = Neighborhoods(Z)
    wide = [around.nearest(k)[1].tolist() for k in (30, 10)]
    narrow = [Neighborhoods(Z).nearest(k)[1].tolist() for k in (30, 10)]
    assert wide == narrow


@pytest.mark.parametrize("k", [12, 25, 50])
def test_overlapping_clouds_are_their_modes(k):
    Z, labels = clouds([(0, 0), (5, 0), (0, 5)], 250)
    assert adjusted_rand_score(labels, find_modes(Z, k)) > 0.95


def test_no_modes_in_one_cloud_nor_on_a_curve():
    rng = np.random.default_rng(0)
    assert find_modes(rng.normal(size=(600, 3)), 25).max() == 0
    angle = rng.uniform(0, 2 * np.pi, 600)
    assert find_modes(np.column_stack([np.cos(angle), np.sin(angle)]), 25).max() == 0


def test_curves_around_each_other_are_two():
    rng = np.random.default_rng(0)
    angle, labels = rng.uniform(0, 2 * np.pi, 800), np.repeat([0, 1], 400)
    Z = (1 + 2 * labels)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(0, 0.03, (800, 2))
    assert adjusted_rand_score(labels, find_modes(Z, 14)) == 1


def test_turns_and_units_do_not_matter():
    Z, _ = clouds([(0, 0), (6, 0)], 200)
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(2, 2)))[0]
    assert adjusted_rand_score(find_modes(Z, 20), find_modes(1000 * Z @ turn + 7, 20)) == 1


def test_few_rows_have_one_mode():
    assert find_modes(np.random.default_rng(0).normal(size=(20, 2)), 12).tolist() == [0] * 20
