"""Linking points into components."""

import numpy as np

from disentree.geometry.neighbors import nearest_neighbors
from disentree.mimosa.finders.flats.components import link_components
from disentree.mimosa.finders.flats.tangents import anchored_flats


def test_crossing_lines_are_linked_apart():
    rng = np.random.default_rng(0)
    t = rng.uniform(-1, 1, (800, 1))
    Z = np.concatenate([t[:400] * [1.0, 0, 0], t[400:] * [0.0, 1, 0], rng.uniform(-1, 1, (50, 3))])
    _, near = nearest_neighbors(Z, 30)
    labels = link_components(Z, anchored_flats(Z, near, 1e-4, np.random.default_rng(0)), 2e-4)
    first, second = labels[:400], labels[400:800]
    assert (first >= 0).mean() > 0.95
    assert (second >= 0).mean() > 0.95
    assert not set(first[first >= 0]) & set(second[second >= 0])
