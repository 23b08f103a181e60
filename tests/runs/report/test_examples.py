"""Pictures of the leaves of images."""

import base64
import io

import numpy as np
import pytest
from matplotlib.image import imread

from disentree import Hierarchy
from disentree.mimosa.summary.page import html_tree
from disentree.mimosa.summary.summary import summarize
from disentree.runs.report.examples import GAP, MOST, leaf_examples

TREE = Hierarchy.flat(0, categories=[2])


def pixels(address):
    return imread(io.BytesIO(base64.b64decode(address.partition(",")[2])))[..., :3]


def test_images_of_a_leaf_stand_side_by_side():
    X = np.zeros((30, 32, 32), np.uint8)
    X[15:] = 255
    found = leaf_examples(X, np.repeat([0, 1], 15))
    assert list(found) == [0, 1]
    dark, bright = (pixels(found[path]) for path in (0, 1))
    assert dark.shape == (64, MOST * (64 + GAP) - GAP, 3)  # small images are shown twice as large
    assert (bright == 1).all()
    assert dark.mean() == pytest.approx((MOST - 1) * GAP / dark.shape[1])  # white between them


def test_all_of_a_leaf_are_shown_from_and_colors_stay():
    X = np.zeros((40, 64, 64, 3), np.float32)
    X[:, :, :, 0] = np.linspace(0, 1, 40)[:, None, None]
    strip = pixels(leaf_examples(X, np.zeros(40, int))[0])
    red = strip[0, :: 64 + GAP, 0]
    assert red[0] == 0
    assert red[-1] == 1
    assert (np.diff(red) > 0).all()
    assert (strip[0, 0, 1:] == 0).all()


def test_rows_without_a_leaf_are_left_out():
    assert list(leaf_examples(np.zeros((4, 8, 8)), np.array([-1, 0, 0, -1]))) == [0]


def test_the_tree_has_them():
    found = summarize(TREE, np.repeat([0, 1], 5))
    assert [html_tree(found, {0: "a", 1: "b"}).count(f'src="{address}"') for address in "ab"] == [1, 1]
    assert "<img" not in html_tree(found)
