"""Numbering components."""

import numpy as np

from disentree.mimosa.finders.labels import drop_small, renumber, rows_of


def test_rows_of_small_and_renumbered_components():
    labels = np.array([2, 0, 0, -1, 2, 2, 1])
    assert [rows.tolist() for rows in rows_of(labels)] == [[1, 2], [6], [0, 4, 5]]
    assert drop_small(labels, 2).tolist() == [1, 0, 0, -1, 1, 1, -1]
    dims = np.array([1, 2, 2, 3, 1, 1, 1])
    assert renumber(labels, dims).tolist() == [0, 2, 2, -1, 0, 0, 1]  # by dimension, then larger first
    assert drop_small(np.full(3, -1), 1).tolist() == [-1, -1, -1]
