"""Observations and their reconstructions: `reconstructions.py` and `cells.py`."""

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PatchCollection

from disentree.plots import draw_reconstructions
from disentree.plots.cells import CellStyle


def test_images_stand_above_their_reconstructions(ships):
    again = 255 - ships.X.astype(np.float32) + 0.4
    ax = draw_reconstructions(ships.X, again, ships.paths, path_names=["m", "s", "n", "j"], n_examples=2)
    assert [t.get_text() for t in ax.texts] == ["m", "s", "n", "j"]
    shown = [np.flatnonzero(ships.paths == path)[k] for path in range(4) for k in range(2)]
    # An image and the one below it: the left, right and upper edge of the second are edges of the first.
    places = {
        (round(left, 6), round(bottom, 6)): image
        for image in ax.images
        for left, _, bottom, _ in [image.get_extent()]
    }
    assert len(places) == len(ax.images) == 4 * 2 * 2
    rows = sorted({bottom for _, bottom in places}, reverse=True)
    pairs = [
        (places[left, above], places[left, below])
        for above, below in zip(rows[::2], rows[1::2], strict=True)
        for left in sorted({x for x, y in places if y == above})
    ]
    for row, (image, below) in zip(shown, pairs, strict=True):
        np.testing.assert_array_equal(image.get_array(), ships.X[row])
        np.testing.assert_array_equal(below.get_array(), 255 - ships.X[row])


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
    """By hand: a mark is as far from the middle of its cell as a bar of the reconstructed value would be long."""
    X = np.array([[1.0, -1.0], [0.5, 0.2]])
    again = np.array([[0.5, -1.0], [-0.25, 0.1]])
    ax = draw_reconstructions(X, again, feature_names=["a", "b"])
    assert [t.get_text() for t in ax.texts] == ["a", "b"]
    bars = [path.get_extents() for c in ax.collections if isinstance(c, PatchCollection) for path in c.get_paths()]
    marks = [
        s
        for c in ax.collections
        if isinstance(c, LineCollection)
        for s in c.get_segments()
        if len(c.get_segments()) == 2
    ]
    assert len(bars) == len(marks) == X.size
    for value, wanted, bar, mark in zip(X.ravel(), again.ravel(), bars, marks, strict=True):
        middle = bar.x0 if value > 0 else bar.x1
        per_unit = bar.width / abs(value)
        assert mark[:, 0] == pytest.approx(middle + wanted * per_unit)
        assert mark[:, 1].mean() == pytest.approx((bar.y0 + bar.y1) / 2)  # at the height of its bar
        assert np.ptp(mark[:, 1]) > bar.height


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
