"""Histograms of pairs of variables."""

import numpy as np
import pytest

from disentree import Hierarchy, metrics
from disentree.plots import draw_pairwise


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
