"""Nearest neighbors."""

import numpy as np

from disentree.geometry.neighbors import nearest_neighbors


def test_neighbors_on_a_line_without_the_point_itself():
    distances, indices = nearest_neighbors(np.array([[0.0], [1.0], [3.0], [7.0]]), 2)
    assert indices.tolist() == [[1, 2], [0, 2], [1, 0], [2, 1]]
    assert distances.tolist() == [[1, 3], [1, 2], [2, 3], [4, 6]]


def test_more_duplicates_than_neighbors():
    distances, indices = nearest_neighbors(np.zeros((10, 2)), 3)
    assert indices.shape == (10, 3)
    assert (distances == 0).all()
    assert (indices != np.arange(10)[:, None]).all()
