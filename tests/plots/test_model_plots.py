"""Traversals, pairwise histograms, reconstructions and training curves."""

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.collections import LineCollection, PatchCollection

from disentree import Hierarchy, metrics
from disentree.datasets import load_dataset
from disentree.plots import (
    draw_pairwise,
    draw_reconstructions,
    draw_training,
    draw_traversals,
    traversal_codes,
)
from disentree.plots.cells import CellStyle, plain
from disentree.plots.traversals import _columns


@pytest.fixture(scope="module")
def ships():
    return load_dataset("spaceshapes", n_samples=400)


@pytest.fixture(scope="module")
def sticks():
    return load_dataset("chopsticks-depth2-either", n_samples=600)


def words(figure):
    return [text.get_text() for ax in figure.axes for text in ax.texts]


# ------------------------------------------------------------------ traversals


def test_sweeps_go_from_the_1st_to_the_99th_percentile_through_the_same_centre(ships):
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
    centres = [images[5 * row + 2].get_array() for row in range(3)]
    np.testing.assert_array_equal(centres[0], centres[1])
    np.testing.assert_array_equal(centres[0], centres[2])


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


# ------------------------------------------------------------------ pairwise histograms


def test_a_perfect_pair_is_a_diagonal_and_inactive_pairs_are_blank(sticks):
    h = sticks.hierarchy
    ax = draw_pairwise(sticks.codes, sticks.codes, h, h)
    mosaic = ax.images[0].get_array()
    step, pixels = 28, 24
    names = [v.name for v in h.variables]

    def cell(i, j):
        return mosaic[i * step : i * step + pixels, j * step : j * step + pixels]

    for i in range(len(names)):
        own = np.asarray(cell(i, i))[::-1]
        rows, columns = np.nonzero(own)
        bins = 2 if names[i] == "stick1" else 3 if names[i].startswith("stick") else 12
        assert (rows * bins // pixels == columns * bins // pixels).all()
    apart = cell(names.index("inter1"), names.index("slope1"))
    assert np.ma.getmaskarray(apart).all() or np.isnan(np.ma.filled(apart, np.nan)).all()


def test_scores_stand_at_the_right_and_matches_are_framed(sticks):
    h = sticks.hierarchy
    scores = metrics.r4c_score(sticks.codes, sticks.codes, h, h, per_factor=True)
    ax = draw_pairwise(sticks.codes, sticks.codes, h, h, scores=scores)
    shown = [text.get_text() for text in ax.texts]
    assert shown == [*(f"{s:.3f}" for s in scores.scores), f"R4c\n{scores.mean:.3f}"]
    frames = [patch for patch in ax.patches if not patch.get_fill()]
    assert len(frames) == h.n_variables
    as_dicts = draw_pairwise(sticks.codes, sticks.codes, h, h, scores=scores.to_dict()["factors"])
    assert [text.get_text() for text in as_dicts.texts] == shown


def test_pairwise_refuses_what_does_not_belong_together(sticks):
    h = sticks.hierarchy
    with pytest.raises(ValueError, match="same number of rows, got 600 and 5"):
        draw_pairwise(sticks.codes, sticks.codes[:5], h, h)
    with pytest.raises(ValueError, match="scores must be those of the variables"):
        draw_pairwise(sticks.codes, sticks.codes, h, h, scores=[{"factor": "other"}])
    with pytest.raises(ValueError, match="at least one variable"):
        draw_pairwise(sticks.codes, np.empty((600, 0)), h, Hierarchy.flat(0))


# ------------------------------------------------------------------ reconstructions


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


# ------------------------------------------------------------------ training curves


def test_each_loss_has_a_panel_and_seconds_have_none():
    history = [{"epoch": e, "seconds": 1.0, "target": 1.0, "assignment": 1 / e, "loss": 2.0} for e in (1, 2, 30)]
    figure = draw_training(history)
    assert [ax.get_title() for ax in figure.axes] == ["loss", "assignment", "target"]
    assert [ax.get_yscale() for ax in figure.axes] == ["linear", "log", "linear"]
    np.testing.assert_array_equal(figure.axes[1].lines[0].get_xdata(), [1, 2, 30])
    assert [ax.get_title() for ax in draw_training(history, keys=["loss"]).axes] == ["loss"]


def test_gaps_and_infinities_do_not_matter():
    figure = draw_training([{"loss": 1.0}, {"loss": float("inf")}, {"loss": None, "other": 2}, {}])
    figure.canvas.draw()


def test_training_refuses_what_it_cannot_draw():
    with pytest.raises(ValueError, match="at least one epoch"):
        draw_training([])
    with pytest.raises(ValueError, match="history has no 'gain'; it has epoch, loss"):
        draw_training([{"epoch": 1, "loss": 1.0}], keys=["gain"])
    with pytest.raises(ValueError, match="no losses"):
        draw_training([{"epoch": 1}])


def test_plain_text():
    assert plain("a\nb  $c$") == r"a b \$c\$"
    assert plain("x" * 50, 10) == "x" * 9 + "…"
