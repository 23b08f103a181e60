"""Observations and their reconstructions."""

import numpy as np
import pytest

from disentree.plots import draw_reconstructions
from disentree.plots.cells import CellStyle


def test_images_stand_above_their_reconstructions(ships):
    again = ships.X.astype(np.float32) + 0.4
    ax = draw_reconstructions(ships.X, again, ships.paths, path_names=["m", "s", "n", "j"], n_examples=2)
    assert [t.get_text() for t in ax.texts] == ["m", "s", "n", "j"]
    images = [image.get_array() for image in ax.images]
    assert len(images) == 4 * 2 * 2
    for k in range(0, len(images), 2):
        np.testing.assert_array_equal(images[k], images[k + 1])
    np.testing.assert_array_equal(images[0], ships.X[np.flatnonzero(ships.paths == 0)[0]])


def test_color_images():
    X = np.random.default_rng(0).integers(0, 256, (6, 8, 8, 3), dtype=np.uint8)
    ax = draw_reconstructions(X, X.astype(np.float32))
    assert ax.images[0].get_array().shape == (8, 8, 3)
    assert draw_reconstructions(X / 255, X / 255).images[0].get_array().max() <= 1


def test_rows_without_a_path_say_so(sticks):
    labels = np.where(np.arange(600) < 300, -1, 1)
    ax = draw_reconstructions(sticks.X, sticks.X, labels)
    assert [t.get_text() for t in ax.texts] == ["not assigned", "path 1"]


def test_reconstructed_tables_have_marks_at_their_bars():
    X = np.array([[1.0, -1.0], [0.5, 0.2]])
    ax = draw_reconstructions(X, X * 0.5, feature_names=["a", "b"])
    assert [t.get_text() for t in ax.texts] == ["a", "b"]


def test_reconstructions_refuse_what_does_not_fit(sticks):
    with pytest.raises(ValueError, match="same shape"):
        draw_reconstructions(sticks.X, sticks.X[:, :3])
    with pytest.raises(ValueError, match="at least one row"):
        draw_reconstructions(sticks.X[:0], sticks.X[:0])
    with pytest.raises(ValueError, match="feature_names must name every column of X: got 1"):
        draw_reconstructions(sticks.X, sticks.X, feature_names=["a"])
    with pytest.raises(ValueError, match="n_examples must be 1 or more"):
        draw_reconstructions(sticks.X, sticks.X, n_examples=0)
    with pytest.raises(ValueError, match="only vectors and images"):
        CellStyle.of(np.zeros(3))
