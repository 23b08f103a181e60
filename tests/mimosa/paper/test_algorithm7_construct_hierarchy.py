"""The tree of components, from all of their points."""

import numpy as np

from disentree.mimosa.paper.algorithm7_construct_hierarchy import construct_hierarchy


def line_and_plane(heights):
    """A line of points at some heights over a grid of spacing 1; rows of the line, rows of the grid."""
    x, y = np.meshgrid(np.arange(20.0), np.arange(20.0))
    grid = np.column_stack([x.ravel(), y.ravel(), np.zeros(400)])
    line = np.column_stack([np.linspace(2, 17, len(heights)), np.full(len(heights), 5.0), heights])
    Z = np.concatenate([line, grid])
    return Z, [np.arange(len(line)), np.arange(len(line), len(Z))]


def test_what_encloses_another_hangs_below_it():
    Z, components = line_and_plane(np.zeros(40))
    hierarchy, order, parents, direct = construct_hierarchy(Z, components, [1, 2], 10)
    assert parents == [None, 0]
    assert order == [0, 1]
    assert direct == [(), (0,)]
    assert [path.dimension for path in hierarchy.paths] == [1, 2]


def test_distances_are_averaged_over_all_points_of_the_lower_component():
    # every other point is far away: a sample of every other one would see only those near, or only those far
    heights = np.where(np.arange(1000) % 2, 24.0, 0.0)
    Z, components = line_and_plane(heights)
    assert construct_hierarchy(Z, components, [1, 2], 11)[2] == [None, None]
    assert construct_hierarchy(Z, components, [1, 2], 13)[2] == [None, 0]
