"""Drawings of hierarchies."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from matplotlib import pyplot as plt
from matplotlib.patches import Ellipse, FancyBboxPatch, Polygon

from disentree import Hierarchy
from disentree.datasets import dataset_info, list_datasets
from strategies import hierarchies


def shapes_on(ax):
    return Counter(type(patch) for patch in ax.patches)


def n_groups(h):
    return 1 + sum(v.n_options for v in h.variables)


def check(h):
    drawn = shapes_on(h.draw())
    kinds = Counter(v.kind for v in h.variables)
    assert drawn[Ellipse] == kinds["continuous"]
    assert drawn[Polygon] == kinds["categorical"]
    assert drawn[FancyBboxPatch] == n_groups(h)


@pytest.mark.parametrize("info", list_datasets(), ids=lambda info: info.name)
def test_a_circle_for_each_continuous_and_a_diamond_for_each_categorical_variable(info):
    check(info.hierarchy)


@settings(max_examples=15)
@given(hierarchies(max_depth=1, named=False))
def test_any_hierarchy_can_be_drawn(h):
    check(h)
    plt.close("all")


def test_spaceshapes_by_hand():
    ax = dataset_info("spaceshapes").hierarchy.draw()
    assert shapes_on(ax) == {Ellipse: 6, Polygon: 2, FancyBboxPatch: 6}
    words = {text.get_text() for text in ax.texts}
    assert words == {
        *("x", "y", "shape", "phase", "shine", "angle", "jet", "jetlen"),
        *("moon", "star", "ship", "none", "∅"),
    }


def test_names_can_be_left_out():
    assert [text.get_text() for text in dataset_info("spaceshapes").hierarchy.draw(names=False).texts] == ["∅"]


def test_draws_on_the_axes_it_is_given():
    ax = plt.subplots()[1]
    assert Hierarchy.flat(2).draw(ax=ax) is ax
    assert shapes_on(ax)[Ellipse] == 2


def test_boxes_do_not_overlap():
    ax = dataset_info("chopsticks-depth3-either").hierarchy.draw()
    boxes = [patch for patch in ax.patches if isinstance(patch, FancyBboxPatch)]
    for level in {box.get_y() for box in boxes}:
        row = sorted((b.get_x(), b.get_x() + b.get_width()) for b in boxes if b.get_y() == level)
        assert all(right < left for (_, right), (left, _) in pairwise(row))


def test_a_highlighted_path_is_lit_and_nothing_else():
    h = dataset_info("spaceshapes").hierarchy
    ax = h.draw(highlight=3)  # ship with jet: the root, ship and jet boxes
    lit = [patch for patch in ax.patches if isinstance(patch, FancyBboxPatch) and patch.get_linewidth() > 1.5]
    assert len(lit) == 3
