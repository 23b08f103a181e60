"""Whether rows on a subspace hang together."""

import numpy as np

from disentree.mimosa.finders.subspaces import n_connected


def test_two_clouds_are_two_and_strays_do_not_count():
    rng = np.random.default_rng(0)
    cloud = rng.standard_normal((200, 2))
    assert n_connected(cloud) == 1
    assert n_connected(np.concatenate([cloud, cloud + 50])) == 2
    assert n_connected(np.concatenate([cloud, 1000 + cloud[:12]])) == 1


def test_one_row_or_none_is_connected():
    assert n_connected(np.zeros((1, 3))) == 1
    assert n_connected(np.zeros((0, 3))) == 1
