"""Charts that agree on the rows between them are one leaf."""

import numpy as np
import pytest

from disentree.mimosa.finders.atlas.growing import find_charts
from disentree.mimosa.finders.atlas.linking import link


def linked(Y, seed=0):
    rng = np.random.default_rng(seed)
    charts, explained = find_charts(Y, rng)
    return link(Y, charts, explained, rng)


def line(n, rng, direction, center=(0, 0, 0)):
    direction = np.asarray(direction) / np.linalg.norm(direction)
    return rng.uniform(-150, 150, (n, 1)) * direction + center + 0.5 * rng.standard_normal((n, 3))


def test_charts_of_one_circle_are_one_leaf():
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 1500)
    Y = 100 * np.column_stack([np.cos(angle), np.sin(angle), 0 * angle]) + 0.5 * rng.standard_normal((1500, 3))
    labels, dims = linked(Y)
    assert dims == [1]
    assert np.mean(labels == 0) > 0.9


@pytest.mark.parametrize("second", [((0, 1, 0), (0, 0, 0)), ((1, 0, 0), (0, 60, 0))])
def test_lines_that_cross_or_run_side_by_side_are_two(second):
    rng = np.random.default_rng(1)
    Y = np.concatenate([line(800, rng, (1, 0, 0)), line(800, rng, *second)])
    labels, dims = linked(Y)
    assert dims == [1, 1]
    truth = np.repeat([0, 1], 800)
    on = labels >= 0
    assert on.mean() > 0.95
    agree = np.mean(labels[on] == truth[on])
    assert max(agree, 1 - agree) > 0.97


def test_no_charts_and_small_groups_are_no_leaves():
    Y = np.zeros((50, 3))
    labels, dims = link(Y, [], np.full(50, -1), np.random.default_rng(0))
    assert dims == []
    assert (labels == -1).all()
    rng = np.random.default_rng(2)
    charts, _ = find_charts(line(100, rng, (1, 0, 0)), rng)
    assert charts
    few = line(19, rng, (1, 0, 0))  # on those charts, but fewer than a leaf needs
    assert link(few, charts, np.full(19, 1), rng)[1] == []
