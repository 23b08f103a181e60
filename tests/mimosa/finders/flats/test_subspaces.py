"""Exact subspaces, and whether rows on one hang together."""

import numpy as np

from disentree.mimosa.finders.flats.subspaces import find, n_connected


def test_two_clouds_are_two_and_strays_do_not_count():
    rng = np.random.default_rng(0)
    cloud = rng.standard_normal((200, 2))
    assert n_connected(cloud) == 1
    assert n_connected(np.concatenate([cloud, cloud + 50])) == 2
    assert n_connected(np.concatenate([cloud, 1000 + cloud[:12]])) == 1


def test_one_row_or_none_is_connected():
    assert n_connected(np.zeros((1, 3))) == 1
    assert n_connected(np.zeros((0, 3))) == 1


def test_subspaces_that_hold_a_part_of_the_rows_are_found():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((2000, 3))
    Z[:400, 2] = 0.5
    found = find(Z, np.full(3, 1e-12), rng)
    assert found is not None
    assert sorted(found.dimensions) == [2, 3]
    assert find(rng.standard_normal((500, 3)), np.full(3, 1e-12), rng) is None
