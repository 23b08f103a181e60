"""Curved leaves: laid out flat, and their variables found and shared."""

import numpy as np
import pytest

from disentree import Hierarchy
from disentree.cofhae.fitting.targets import Targets
from disentree.cofhae.fitting.unrolling import (
    cell_guides,
    guide_of,
    guides,
    lay_out,
    next_coordinate,
    product_guides,
)
from disentree.datasets import load_dataset
from disentree.mimosa.coordinates.autoencoder import autoencoder_representation
from disentree.mimosa.coordinates.choosing import load_representation
from disentree.mimosa.coordinates.representation import Representation


def swiss_roll(n, seed=0, jet=0.0):
    """A rolled strip of 3 by 2 in which lengths are kept, and its coordinates."""
    rng = np.random.default_rng(seed)
    u, v = 3 * rng.random(n), 2 * rng.random(n)
    return np.stack([np.sin(u), np.cos(u), v, np.full(n, jet)], axis=1), np.stack([u, v], axis=1)


def correlations(Z, V):
    return np.abs(np.corrcoef(Z.T, V.T)[: Z.shape[1], Z.shape[1] :])


def test_a_rolled_strip_is_laid_out_with_its_own_lengths():
    X, V = swiss_roll(2000)
    layout, variances = lay_out(X, 2, np.random.default_rng(0))
    # a strip of length L has variance L^2 / 12
    assert variances[:2] == pytest.approx([9 / 12, 4 / 12], rel=0.1)
    assert variances[2] < 0.02
    i, j = np.random.default_rng(1).integers(2000, size=(2, 200))
    apart = np.linalg.norm(V[i] - V[j], axis=1)
    assert np.linalg.norm(layout[i] - layout[j], axis=1) == pytest.approx(apart, rel=0.1, abs=0.1)


def test_its_independent_components_are_its_coordinates_however_it_is_turned():
    X, V = swiss_roll(2000)
    turn = np.linalg.qr(np.random.default_rng(2).standard_normal((4, 4)))[0]
    for rows in (X, 7 * X @ turn + 3):
        guide = guide_of(rows, np.arange(2000), 0, 2, np.random.default_rng(0))
        assert guide is not None
        assert guide.firm == 2
        assert correlations(guide.factors, V).max(axis=0).min() > 0.99
        assert guide.factors.std(axis=0) == pytest.approx(1, abs=1e-6)


def test_noise_has_no_coordinates_that_stand_out():
    X = np.random.default_rng(0).standard_normal((800, 30))
    assert guide_of(X, np.arange(800), 0, 2, np.random.default_rng(0)) is None


def test_nested_leaves_share_coordinates():
    # a strip, and the same strip thickened by a third variable
    X, V = swiss_roll(1500)
    Y, W = swiss_roll(1500, seed=1)
    Y[:, 3] = np.random.default_rng(3).random(1500) + 0.05
    inner = {"kind": "categorical", "options": [{"variables": []}, {"variables": [{"kind": "continuous"}]}]}
    hierarchy = Hierarchy.from_dict({"variables": [{"kind": "continuous"}] * 2 + [inner]})
    paths = np.repeat([0, 1], 1500)
    none = Targets.trusted(np.full((3000, hierarchy.n_variables), np.nan), np.zeros(2))
    both = np.concatenate([X, Y])
    found = guides(both, hierarchy, paths, np.array([0, 1]), np.random.default_rng(0), none)
    shared = list(hierarchy.paths[0].continuous)
    truth = np.concatenate([V, W])
    seen = found.values[:, shared]
    assert not np.isnan(seen).any()
    assert correlations(seen, truth).max(axis=0).min() > 0.98  # one scale and one origin for both leaves
    assert (found.kept[:, shared] + found.guided[:, shared] == 1).all()
    assert (found.trust == 0).all()


def test_a_small_variable_is_found_on_the_curves_where_the_others_are_constant():
    # its direction turns with the others, so that no linear map would show it
    rng = np.random.default_rng(0)
    u, v, w = rng.random((3, 4000))
    rows = np.stack(
        [np.sin(3 * u), np.cos(3 * u), 2 * v, 0.2 * w * np.sin(3 * v), 0.2 * w * np.cos(3 * v)], axis=1
    )
    found = next_coordinate(np.stack([u, v], axis=1), rows, rng)
    assert found is not None
    assert correlations(found[:, None], np.stack([u, v, w], axis=1))[0] == pytest.approx([0, 0, 1], abs=0.05)


def test_leaves_too_small_to_lay_out_get_no_guide():
    X, _ = swiss_roll(100)
    none = Targets.trusted(np.full((100, 2), np.nan), np.zeros(1))
    found = guides(X, Hierarchy.flat(2), np.zeros(100, dtype=int), np.array([0]), np.random.default_rng(0), none)
    assert np.isnan(found.values).all()
    assert not found.guided.any()


# -------------------------------------------------------------------- representations of images


def bars(n, seed=0):
    rng = np.random.default_rng(seed)
    at = rng.uniform(2, 14, n)
    columns = np.arange(16)
    return (255 * np.exp(-(((columns - at[:, None]) / 1.5) ** 2))[:, None, :].repeat(8, axis=1)).astype(
        np.uint8
    ), at


def test_a_representation_is_saved_and_loaded_whole(tmp_path):
    X, _ = bars(400)
    one = autoencoder_representation(X, np.random.SeedSequence(0), steps=30)
    one.save(tmp_path / "seen.safetensors")
    other = load_representation(tmp_path / "seen.safetensors")
    assert (other.transform(X) == one.transform(X)).all()
    assert (other.inverse_transform(one.transform(X)) == one.inverse_transform(one.transform(X))).all()
    with pytest.raises(ValueError, match="holds a network: load it with `load_representation`"):
        Representation.load(tmp_path / "seen.safetensors")
    (tmp_path / "seen.safetensors").write_bytes((tmp_path / "seen.safetensors").read_bytes()[:1000])
    with pytest.raises(ValueError, match="cut short or damaged"):
        load_representation(tmp_path / "seen.safetensors")


def test_points_that_are_all_the_same_have_no_guide():
    rows = np.arange(600)
    assert guide_of(np.ones((600, 3)), rows, 0, 2, np.random.default_rng(0)) is None


def moving_bumps(n, seed=0):
    """A bump of one of two sizes, with or without a wave: a product whose cells are curved."""
    off_on = [
        {"name": "off", "variables": []},
        {"name": "on", "variables": [{"kind": "continuous", "name": "phase"}]},
    ]
    sizes = [{"name": "small", "variables": []}, {"name": "large", "variables": []}]
    choices = [
        {"kind": "categorical", "name": "wave", "options": off_on},
        {"kind": "categorical", "name": "size", "options": sizes},
    ]
    h = Hierarchy.from_dict({"variables": [{"kind": "continuous", "name": "place"}, *choices]})
    rng = np.random.default_rng(seed)
    on, large = rng.random((2, n)) < 0.5
    place, phase = rng.random((2, n))
    codes = np.column_stack([place, on, np.where(on, phase, np.nan), large]).astype(float)
    t = np.linspace(0, 1, 50)
    X = np.where(large, 1.6, 1.0)[:, None] * np.exp(-0.5 * ((t - 0.15 - 0.7 * place[:, None]) / 0.08) ** 2)
    X += on[:, None] * 0.5 * np.sin(2 * np.pi * 1.5 * t + np.pi * phase[:, None])
    return X, h, codes


def test_curved_cells_are_laid_out_if_that_tells_more_of_their_rows():
    """A bump that moves is no linear map of its place: one for all cells tells little of it."""
    X, h, codes = moving_bumps(2400)
    paths, rng = h.path_of(codes), np.random.default_rng(0)
    Y = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    whitened = Y[0][:, :12] * Y[1][:12] / np.sqrt(len(X))
    none = Targets.trusted(np.full_like(codes, np.nan), np.zeros(4))
    found = product_guides(whitened, h, paths, np.arange(4), rng, none)
    linear = cell_guides(whitened, h, paths, rng)
    place = [v.name for v in h.variables].index("place")

    def agreement(targets):
        """Of the place with its guide, over all cells at once: it means the same in each."""
        return abs(np.corrcoef(targets.values[:, place], codes[:, place])[0, 1])

    assert agreement(found) > 0.97
    assert agreement(found) > agreement(linear) + 0.02
    few = product_guides(whitened[:900], h, paths[:900], np.arange(4), np.random.default_rng(0), none)
    assert np.array_equal(  # cells of too few rows
        few.values, cell_guides(whitened[:900], h, paths[:900], np.random.default_rng(0)).values, equal_nan=True
    )


def test_guides_of_curved_cells_mean_the_same_in_each():
    ds = load_dataset("product-2-curved", n_samples=2000, seed=0)
    h = ds.hierarchy
    whitened = np.linalg.svd(ds.X - ds.X.mean(axis=0), full_matrices=False)[0][:, :8] * np.sqrt(len(ds.X))
    paths = ds.paths.copy()
    paths[::10] = -1
    found = cell_guides(whitened, h, paths, np.random.default_rng(0))
    assert np.isnan(found.values[::10]).all()
    assert found.has_guides
    assert not found.trust.any()
    assert not found.kept.any()
    for column in (0, 2):  # x, and the variable of the first switch
        known = ~np.isnan(found.values[:, column])
        np.testing.assert_array_equal(known[paths >= 0], ~np.isnan(ds.codes[paths >= 0, column]))
        assert correlations(found.values[known][:, [column]], ds.codes[known][:, [column]])[0, 0] > 0.9
