"""Leaves that are parts of a density, and leaves that are several as one."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from disentree.mimosa.density.parts import JoinedLeaf, PartLeaf, Parts, joined
from disentree.mimosa.density.structureless import Gaussian

ONE = Gaussian(np.zeros(2), np.eye(2), 2)
ROWS = np.random.default_rng(0).normal(size=(400, 2))
PARTS = Parts(ROWS, (ROWS[:, 0] > 0).astype(int), np.eye(2))


def test_parts_add_up_to_the_density():
    shares = np.bincount(PARTS.labels) / len(ROWS)
    leaves = [PartLeaf(ONE, PARTS, g, float(shares[g]), 2) for g in range(2)]
    total = np.logaddexp(
        *(leaf.log_density(ROWS) + np.log(share) for leaf, share in zip(leaves, shares, strict=True))
    )
    np.testing.assert_allclose(total, ONE.log_density(ROWS))


def test_a_row_is_where_the_rows_nearest_to_it_are():
    Z = np.array([[3.0, 0.0], [-3.0, 0.0]])
    assert PARTS.share(Z, 1) == pytest.approx([(5 + 1 / 800) / (5 + 1 / 400), (1 / 800) / (5 + 1 / 400)])


def test_near_in_the_coordinates_of_the_parts():
    # the first column alone tells which part it is, in units in which the other counts more
    far = Parts(ROWS[:, :1], PARTS.labels, np.array([[1.0], [0.0]]))
    assert far.share(np.array([[1.0, 1e6]]), 1)[0] > 0.9


def test_joined_leaves_by_hand():
    other = Gaussian(np.array([9.0, 0.0]), np.eye(2), 1)
    leaf = joined([ONE, other], np.array([0.3, 0.1]))
    assert isinstance(leaf, JoinedLeaf)
    assert leaf.dimension == 2
    expected = np.log(0.75 * np.exp(ONE.log_density(ROWS)) + 0.25 * np.exp(other.log_density(ROWS)))
    np.testing.assert_allclose(leaf.log_density(ROWS), expected)
    assert joined([ONE], np.ones(1)) is ONE


def test_the_last_answer_is_remembered_by_no_copy():
    leaf = joined([ONE, Gaussian(np.ones(2), np.eye(2), 2)], np.array([0.5, 0.5]))
    first = leaf.log_density(ROWS)
    assert leaf.log_density(ROWS.copy()) is first
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 0
    other = copy.deepcopy(leaf)
    assert not [name for name in vars(other) if name.startswith("_last")]
    np.testing.assert_array_equal(other.log_density(ROWS), first)
    assert not np.array_equal(leaf.log_density(ROWS + 1), first)
