"""Training curves."""

import numpy as np
import pytest

from disentree.plots import draw_training


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
