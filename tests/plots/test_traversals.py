"""Hierarchical latent traversals."""

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.collections import LineCollection, PatchCollection

from disentree import Hierarchy
from disentree.plots import draw_pairwise, draw_reconstructions, draw_training, draw_traversals, traversal_codes
from disentree.plots.traversals import _columns


def words(figure):
    return [text.get_text() for ax in figure.axes for text in ax.texts]


def test_sweeps_go_from_the_1st_to_the_99th_percentile_through_the_same_center(ships):
    h = ships.hierarchy
    for path in h.paths:
        sweep = traversal_codes(ships.codes, h, path.index, n_steps=5)
        assert sweep.shape == (path.dimension, 5, h.n_variables)
        h.validate(sweep.reshape(-1, h.n_variables))
        assert (h.path_of(sweep.reshape(-1, h.n_variables)) == path.index).all()
        here = ships.codes[ships.paths == path.index]
        for i, column in enumerate(path.continuous):
            low, high = np.percentile(here[:, column], [1, 99])
            np.testing.assert_allclose(sweep[i, :, column], np.linspace(low, high, 5))
            np.testing.assert_array_equal(sweep[i, 2], sweep[0, 2])
            others = [c for c in path.continuous if c != column]
            assert (sweep[i][:, others] == sweep[i][:1, others]).all()


def test_every_active_variable_of_every_path_has_a_row(ships):
    figure = draw_traversals(ships.codes, ships.hierarchy, ships.generate, n_steps=5)
    shown = words(figure)
    assert [w for w in shown if w in ("x", "y", "phase", "shine", "angle", "jetlen")] == [
        *("x", "y", "phase"), *("x", "y", "shine"), *("x", "y", "angle"), *("x", "y", "angle", "jetlen"),
    ]  # fmt: skip
    assert any(w.startswith("shape=ship, jet=jet  (") and w.endswith(", 4-D)") for w in shown)
    images = [image for ax in figure.axes for image in ax.images]
    assert len(images) == 13 * 5
    centers = [images[5 * row + 2].get_array() for row in range(3)]
    np.testing.assert_array_equal(centers[0], centers[1])
    np.testing.assert_array_equal(centers[0], centers[2])


def test_series_are_lines_and_only_the_paths_asked_for(sticks):
    figure = draw_traversals(sticks.codes, sticks.hierarchy, sticks.generate, paths=[1], n_steps=3)
    lines = [c for ax in figure.axes for c in ax.collections if isinstance(c, LineCollection)]
    assert sum(len(line.get_segments()[0]) == 64 for line in lines) == 2 * 3
    assert len([w for w in words(figure) if "-D)" in w]) == 1


def test_paths_that_no_row_is_on_are_left_out(sticks):
    some = sticks.codes[sticks.paths == 2]
    figure = draw_traversals(some, sticks.hierarchy, sticks.generate)
    assert [w for w in words(figure) if "-D)" in w] == ["stick1=inter, stick2[i]=slope  (100.0% of rows, 2-D)"]


def test_tables_are_bars_with_names(monkeypatch):
    h = Hierarchy.flat(2)
    codes = h.sample(100)
    names = ["height", "$cost$", "a very long name that goes on and on"]
    figure = draw_traversals(codes, h, lambda c: c @ np.ones((2, 3)), feature_names=names)
    assert "height" in words(figure)
    assert r"\$cost\$" in words(figure)
    assert "a very long name …" in words(figure)
    figure.canvas.draw()  # dollars are no mathematics
    bars = [c for ax in figure.axes for c in ax.collections if isinstance(c, PatchCollection)]
    assert len(bars) == 2 * 7


def test_a_path_with_no_continuous_variable_is_a_point():
    h = Hierarchy.flat(0, categories=(2,))
    figure = draw_traversals(h.sample(20), h, lambda c: np.eye(2)[c[:, 0].astype(int)])
    assert words(figure).count("(a point)") == 2


def test_of_many_variables_those_that_change_most_are_shown():
    """Of five that move one pixel each, the third and the last move it furthest."""
    tree, furthest = Hierarchy.flat(5), np.array([1.0, 2, 5, 3, 9])
    codes = np.random.default_rng(0).uniform(-1, 1, (200, 5))
    figure = draw_traversals(codes, tree, lambda z: (z * furthest)[:, None, :], most=2)
    (ax,) = figure.axes
    texts = [text.get_text() for text in ax.texts]
    assert texts == ["100.0% of rows, 5-D; the 2 that change most", "z3", "z5"]


def test_many_rows_are_laid_out_side_by_side():
    assert _columns([3, 3]) == [[0, 1]]
    assert _columns([8, 8, 8, 8]) == [[0], [1, 2], [3]] or len(_columns([8, 8, 8, 8])) == 3
    for rows in ([1] * 40, [5, 1, 9, 9, 2, 30], [40]):
        layout = _columns(rows)
        assert [b for column in layout for b in column] == list(range(len(rows)))
        assert all(layout)


def test_traversals_refuse_what_makes_no_sense(ships):
    with pytest.raises(ValueError, match="n_steps must be an odd number of 3 or more, got 4"):
        traversal_codes(ships.codes, ships.hierarchy, 0, n_steps=4)
    with pytest.raises(ValueError, match=r"no row of codes is on path 1 \(shape=star\)"):
        traversal_codes(ships.codes[ships.paths == 0], ships.hierarchy, 1)
    with pytest.raises(ValueError, match="at least one row"):
        draw_traversals(ships.codes[:0], ships.hierarchy, ships.generate)


def test_draws_on_the_figure_it_is_given(sticks):
    figure = plt.figure()
    assert draw_traversals(sticks.codes, sticks.hierarchy, sticks.generate, figure=figure) is figure
    assert draw_training([{"epoch": 1, "loss": 2.0}], figure=figure) is figure
    ax = plt.subplots()[1]
    assert draw_reconstructions(sticks.X, sticks.X, ax=ax) is ax
    assert draw_pairwise(sticks.codes, sticks.codes, sticks.hierarchy, sticks.hierarchy, ax=ax) is ax
