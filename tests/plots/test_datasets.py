"""Figures of data sets."""

import dataclasses

import numpy as np
import pytest
from matplotlib import pyplot as plt

from disentree import Hierarchy
from disentree.datasets import Dataset, load_dataset
from disentree.plots import draw_dataset


@pytest.mark.parametrize(
    ("name", "per_path"),
    [("spaceshapes", 9), ("chopsticks-depth2-either", 6), ("chopsticks-depth3-either", 3)],
)
def test_each_path_shows_examples_of_its_own(name, per_path):
    ds = load_dataset(name, n_samples=600)
    ax = draw_dataset(ds)
    cells = ax.child_axes
    assert len(cells) == per_path * len(ds.hierarchy.paths)
    for k, cell in enumerate(cells):
        row = np.flatnonzero(ds.paths == k // per_path)[k % per_path]
        shown = cell.images[0].get_array() if ds.X.ndim == 3 else cell.lines[-1].get_ydata()
        np.testing.assert_array_equal(shown, ds.X[row])
    captions = [text.get_text() for text in ax.texts if "-D, " in text.get_text()]
    dimensions = [int(caption.split("-")[0]) for caption in captions]
    assert dimensions == [path.dimension for path in ds.hierarchy.paths]


def test_examples_hang_below_their_leaf():
    ds = load_dataset("chopsticks-depth2-either", n_samples=300)
    ax = draw_dataset(ds)
    captions = [text.get_position()[0] for text in ax.texts if "-D, " in text.get_text()]
    leaves = [text.get_position()[0] for text in ax.texts if text.get_text() in ("∅", "inter2[i]", "slope2[i]")]
    assert captions[:3] == sorted(leaves)[:3]


def test_a_path_without_examples_stays_empty():
    ds = load_dataset("chopsticks-depth2-inter", n_samples=50)
    stopped = ds.paths == 0
    some = dataclasses.replace(ds, X=ds.X[stopped], codes=ds.codes[stopped], paths=ds.paths[stopped])
    assert len(draw_dataset(some).child_axes) == 9


def test_several_categoricals_in_a_group():
    h = Hierarchy.flat(1, categories=(2, 2))
    codes = h.sample(100)
    ds = Dataset("made up", np.nan_to_num(codes), codes, h, h.path_of(codes), seed=0)
    ax = draw_dataset(ds)
    assert len(ax.child_axes) == 4 * 9


def test_draws_on_the_axes_it_is_given():
    ax = plt.subplots()[1]
    assert draw_dataset(load_dataset("spaceshapes", n_samples=50), ax=ax) is ax


def test_only_series_and_images():
    ds = load_dataset("chopsticks-depth2-inter", n_samples=50)
    with pytest.raises(ValueError, match="only series and images can be drawn"):
        draw_dataset(dataclasses.replace(ds, X=ds.X[:, 0]))
