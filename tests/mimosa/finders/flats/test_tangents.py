"""Local dimension and tangent directions, against known answers and simulations."""

import numpy as np
import pytest

from disentree.geometry.neighbors import nearest_neighbors
from disentree.mimosa.finders.flats.tangents import anchored_flats, chance_on_flat, support_needed


@pytest.mark.parametrize(("d", "tolerance"), [(1, 0.1), (2, 0.1), (3, 0.3)])
def test_chance_on_a_flat_is_what_a_simulation_says(d, tolerance):
    rng = np.random.default_rng(0)
    u = rng.standard_normal((200_000, d + 1))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    assert chance_on_flat(d, tolerance) == pytest.approx(np.mean(np.abs(u[:, -1]) <= tolerance), rel=0.05)


def test_needed_support_is_rarely_reached_by_chance():
    """A cloud of one dimension more seldom puts as many neighbors on any of the flats that are tried."""
    k, d, tolerance = 40, 1, 0.1
    needed = support_needed(k, 3, tolerance)[d]
    rng = np.random.default_rng(0)
    reached = 0
    for _ in range(400):
        u = rng.standard_normal((k, d + 1))
        u /= np.linalg.norm(u, axis=1, keepdims=True)
        off = 1 - (u @ u[:12].T) ** 2  # flats through the first twelve neighbors
        reached += ((off <= tolerance**2).sum(axis=0) >= needed).any()
    assert reached <= 4
    assert needed < k // 2  # and yet half of the neighbors on a line are enough


def test_anchored_flats_on_crossing_lines_and_a_plane():
    rng = np.random.default_rng(1)
    e = np.eye(4)
    first = rng.uniform(-1, 1, (300, 1)) * e[0]
    second = rng.uniform(-1, 1, (300, 1)) * (e[0] + e[1]) / np.sqrt(2)
    plane = rng.uniform(-1, 1, (600, 2)) @ e[2:] + [5, 0, 0, 0]
    Z = np.concatenate([first, second, plane])
    _, near = nearest_neighbors(Z, 30)
    found = anchored_flats(Z, near, 1e-4, np.random.default_rng(0))
    assert (found.dimensions[:600] == 1).mean() > 0.98
    assert (found.dimensions[600:] == 2).all()
    ones = np.flatnonzero(found.dimensions[:300] == 1)
    np.testing.assert_allclose(np.abs(found.bases[ones, 0] @ e[0]), 1, atol=1e-6)
    planes = np.abs(found.bases[600:, :2] @ np.array([[1, 0], [0, 1], [0, 0], [0, 0]]))
    np.testing.assert_allclose(planes, 0, atol=1e-6)


def test_anchored_flats_see_atoms_and_leave_clouds_alone():
    rng = np.random.default_rng(0)
    Z = np.concatenate([np.zeros((50, 3)), rng.uniform(1, 2, (300, 3))])
    _, near = nearest_neighbors(Z, 30)
    found = anchored_flats(Z, near, 0.01, np.random.default_rng(0))
    assert (found.dimensions[:50] == 0).all()
    assert (found.dimensions[50:] == 3).mean() > 0.98
