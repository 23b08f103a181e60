"""Pieces of leaves: which are one. `consolidate.py`."""

import numpy as np
import pytest

from disentree.mimosa.finders.atlas.consolidate import consolidate


def joined(Z, labels, dims):
    labels, dims = consolidate(Z, np.asarray(labels).astype(int), dims, np.random.default_rng(0))
    return labels, dims


def circle(n, rng, axes, noise):
    angle = rng.uniform(0, 2 * np.pi, n)
    Z = np.zeros((n, 3))
    Z[:, axes[0]], Z[:, axes[1]] = np.cos(angle), np.sin(angle)
    return Z + noise * rng.standard_normal(Z.shape)


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_two_halves_of_a_bent_sheet_are_one_leaf(noise):
    rng = np.random.default_rng(1)
    u = rng.uniform(-1, 1, (2000, 2))
    Z = np.column_stack([u, np.sin(2 * u[:, 0])]) + noise * rng.standard_normal((2000, 3))
    labels, dims = joined(Z, u[:, 0] > 0, [2, 2])
    assert dims == [2]
    assert (labels == 0).all()


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_circles_that_cross_stay_two(noise):
    rng = np.random.default_rng(2)
    Z = np.concatenate([circle(1500, rng, (0, 1), noise), circle(1500, rng, (0, 2), noise)])
    labels, dims = joined(Z, np.repeat([0, 1], 1500), [1, 1])
    assert dims == [1, 1]
    np.testing.assert_array_equal(labels, np.repeat([0, 1], 1500))


@pytest.mark.parametrize("shift", [[0, 0, 0.3], [2.5, 0, 0]])
def test_sheets_side_by_side_or_apart_in_one_plane_stay_two(shift):
    rng = np.random.default_rng(3)
    Z = np.column_stack([rng.uniform(-1, 1, (3000, 2)), np.zeros(3000)]) + 0.01 * rng.standard_normal((3000, 3))
    Z[1500:] += shift
    assert joined(Z, np.repeat([0, 1], 1500), [2, 2])[1] == [2, 2]


def test_the_fringe_of_a_sheet_is_not_a_leaf_of_its_own():
    rng = np.random.default_rng(4)
    u = rng.uniform(-1, 1, (2000, 2))
    Z = np.column_stack([u, u[:, 0] * u[:, 1], u[:, 0] ** 2]) + 0.005 * rng.standard_normal((2000, 4))
    fringe = u[:, 1] > 0.9
    labels, dims = joined(Z, fringe, [2, 4])
    assert dims == [2]
    assert (labels == 0).mean() > 0.98


def test_a_volume_beside_a_sheet_is_not_a_part_of_it():
    rng = np.random.default_rng(5)
    sheet = np.column_stack([rng.uniform(-1, 1, (1500, 2)), np.zeros(1500)])
    Z = np.concatenate([sheet, rng.uniform(-1, 1, (1500, 3))])
    assert joined(Z, np.repeat([0, 1], 1500), [2, 3])[1] == [2, 3]


@pytest.mark.parametrize("dims", [[1, 2], [1, 3]])
def test_an_arc_on_which_no_chart_was_laid_is_a_part_of_its_circle(dims):
    rng = np.random.default_rng(6)
    Z = circle(3000, rng, (0, 1), 0.0)
    labels, dims = joined(Z, (Z[:, 0] > 0.8), dims)
    assert dims == [1]
    assert (labels == 0).all()


def test_a_strip_in_noise_is_no_curve():
    rng = np.random.default_rng(7)
    Z = np.zeros((1500, 6))
    Z[:, :2] = rng.uniform(-1, 1, (1500, 2)) * [1, 0.5]
    Z += 0.01 * rng.standard_normal(Z.shape)
    assert joined(Z, np.zeros(1500), [1])[1] == [2]


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_leaves_keep_their_dimension(noise):
    rng = np.random.default_rng(8)
    u = rng.uniform(-1, 1, (3000, 2))
    sheet = np.column_stack([u, np.sin(2 * u[:, 0]), u[:, 0] * u[:, 1]])
    curve = np.column_stack([np.cos(3 * u[:, 0]), np.sin(3 * u[:, 0]), u[:, :1] + 4, 0 * u[:, :1]])
    Z = np.concatenate([sheet, curve]) + noise * rng.standard_normal((6000, 4))
    assert joined(Z, np.repeat([0, 1], 3000), [2, 1])[1] == [2, 1]
