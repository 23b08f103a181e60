"""Figures of a fitted MIMOSA."""

import numpy as np
import pytest
from matplotlib import pyplot as plt

from disentree import MIMOSA
from disentree.datasets import load_dataset
from disentree.geometry.pca import principal_axes
from disentree.plots import (
    draw_embedding,
    draw_found_hierarchy,
    draw_local_dimensions,
    draw_mimosa,
    draw_spectrum,
)
from disentree.plots.mimosa import component_colors, project


@pytest.fixture(scope="module")
def either():
    ds = load_dataset("chopsticks-depth2-either", n_samples=3000)
    return ds, MIMOSA().fit(ds.X)


def test_three_parts_side_by_side(either):
    ds, m = either
    figure = draw_mimosa(m, ds.paths)
    titles = [part.get_suptitle() for part in figure.subfigs]
    assert titles[0] == "Initial representation, 4-D"
    assert titles[1].startswith("Components: 6, ")
    assert titles[2] == "Hierarchy"
    figure.canvas.draw()


def test_the_papers_pieces_are_shown_before_merging():
    ds = load_dataset("chopsticks-depth2-slope", n_samples=3000)
    Z = (ds.X - ds.X.mean(axis=0)) @ principal_axes(ds.X - ds.X.mean(axis=0)).whitening(2)
    m = MIMOSA.paper(representation="given", min_size_init=20).fit(Z)
    assert m.pieces_.shape == (3000,)
    assert m.pieces_.max() + 1 == m.n_pieces_
    counts = np.bincount(m.pieces_[m.pieces_ >= 0])
    assert counts.min() >= 20
    for piece in range(m.n_pieces_):  # each ends in one component, or in none
        assert len(np.unique(m.core_labels_[m.pieces_ == piece])) == 1
    figure = draw_mimosa(m, ds.paths)
    titles = [part.get_suptitle() for part in figure.subfigs]
    assert titles[1] == f"Before merging: {m.n_pieces_} pieces"
    assert titles[2].startswith("Components: ")
    figure.canvas.draw()


def test_components_and_their_leaves_have_the_same_colors(either):
    _, m = either
    leaves = draw_found_hierarchy(m).collections
    assert [tuple(c.get_facecolor()[0]) for c in leaves] == [
        tuple(plt.matplotlib.colors.to_rgba(c)) for c in component_colors(6)
    ]


def test_many_components_are_shown_by_dimension():
    ds = load_dataset("chopsticks-depth3-either", n_samples=4000)
    figure = draw_mimosa(MIMOSA().fit(ds.X), ds.paths)
    assert [ax.get_title() for ax in figure.subfigs[1].axes] == ["1-D", "2-D", "3-D"]
    assert len(set(component_colors(14))) == 14


@pytest.mark.parametrize(("dims", "axes"), [(0, 2), (1, 2), (2, 2), (3, 3), (5, 3)])
def test_embeddings_of_any_dimension(dims, axes):
    Z = np.random.default_rng(0).standard_normal((50, dims))
    assert project(Z).shape == (50, axes)
    ax = draw_embedding(Z, np.arange(50) % 3 - 1)
    assert hasattr(ax, "zaxis") == (axes == 3)
    ax.figure.canvas.draw()


def test_small_groups_are_shown_in_full():
    labels = np.repeat([0, 1], [10_000, 20])
    ax = draw_embedding(np.random.default_rng(0).standard_normal((10_020, 2)), labels, max_points=500)
    assert len(ax.collections[0].get_offsets()) == 250 + 20


def test_draws_on_flat_axes_if_told_to(either):
    ax = plt.subplots()[1]
    assert draw_embedding(either[1], ax=ax) is ax


def test_diagnostics(either):
    _, m = either
    assert "linear representation, 4-D" in draw_spectrum(m).get_title()
    bars = draw_local_dimensions(m).patches
    counts = [bar.get_height() for bar in bars[:5]]
    np.testing.assert_array_equal(counts, np.bincount(m.local_dimensions_, minlength=5))
    constant = MIMOSA().fit(np.ones((30, 2)))
    draw_spectrum(constant)
    draw_local_dimensions(constant)
    draw_mimosa(constant)


def test_bad_input():
    with pytest.raises(ValueError, match="embedding must have shape"):
        draw_embedding(np.ones(3))
    with pytest.raises(ValueError, match="one entry for each of 3 points"):
        draw_embedding(np.ones((3, 2)), [0, 1])
