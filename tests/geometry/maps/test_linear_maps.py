"""Maps in closed form; covers `additive.py`, `leaf_spans.py` and `path_model.py` too."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from disentree import Hierarchy
from disentree.geometry.maps.additive import Items, fit_additive, solve_variables
from disentree.geometry.maps.leaf_spans import Cloud, clouds_of, covariance_of, others_covariance
from disentree.geometry.maps.linear_maps import fit_linear_maps

CONTINUOUS = {"kind": "continuous"}


def options(*groups):
    return {"kind": "categorical", "options": [{"variables": list(group)} for group in groups]}


TREE = Hierarchy.from_dict({"variables": [CONTINUOUS, options([], [CONTINUOUS])]})  # a line, and a plane around it
APART = Hierarchy.from_dict({"variables": [options([CONTINUOUS], [CONTINUOUS])]})
PRODUCT = Hierarchy.from_dict(
    {"variables": [CONTINUOUS, options([], [CONTINUOUS]), options([], [CONTINUOUS], [CONTINUOUS])]}
)


def line_and_plane(n=400, seed=0):
    """x = (z1, z1 + 2 z2, 5 + 3 c): by hand."""
    rng = np.random.default_rng(seed)
    z = rng.uniform(-1, 1, (n, 2))
    paths = np.arange(n) % 2
    z[paths == 0, 1] = 0
    return np.stack([z[:, 0], z[:, 0] + 2 * z[:, 1], 5.0 + 3 * paths], axis=1), z, paths


def r_squared(a, b):
    return np.corrcoef(a, b)[0, 1] ** 2


# ------------------------------------------------------------------ known answers


def test_items_are_in_the_order_of_a_flat_code():
    items = Items.of(PRODUCT)
    assert items.columns.tolist() == [0, 2, 4, 5]
    assert items.opener.tolist() == [-1, 1, 3, 4]
    assert items.options.shape == (6, 5)
    paths = PRODUCT.paths
    assert items.options[5].tolist() == [0, 1, 0, 0, 1]
    assert items.continuous[5].tolist() == [c in paths[5].continuous for c in (0, 2, 4, 5)]


def test_covariances_by_hand():
    Y = np.array([[0.0, 0.0], [2.0, 0.0], [10.0, 1.0], [10.0, 5.0]])
    clouds = clouds_of(Y, Hierarchy.flat(2, (2,)), np.array([0, 0, 1, 1]))
    assert clouds[0].mean.tolist() == [1, 0]
    assert clouds[0].scatter.tolist() == [[2, 0], [0, 0]]
    others = others_covariance(clouds, 0)
    assert others is not None
    assert others.tolist() == [[0, 0], [0, 8]]
    assert covariance_of(clouds[0], others, 0.25).tolist() == [[0.75, 0], [0, 2]]
    assert covariance_of(clouds[0], None, 0.25).tolist() == [[1, 0], [0, 0]]


def test_additive_map_by_hand():
    Y, z, paths = line_and_plane()
    items = Items.of(TREE)
    found = fit_additive(Y, paths, items, z)
    np.testing.assert_allclose(found.directions, [[1, 1, 0], [0, 2, 0]], atol=1e-6)
    np.testing.assert_allclose(found.means(items), [[0, 0, 5], [0, 0, 8]], atol=1e-6)
    np.testing.assert_allclose(
        solve_variables(Y, paths, found.means(items), found.directions, items), z, atol=1e-6
    )


def test_a_line_in_a_plane_has_one_direction_and_both_variables_come_back():
    Y, z, paths = line_and_plane()
    maps, held_out = fit_linear_maps(Y, TREE, paths)
    assert maps.additive is not None
    codes = maps.encode(Y)
    assert held_out.agreement == 1
    np.testing.assert_allclose(maps.decode(codes), Y, atol=1e-6)
    assert r_squared(codes[:, 0], z[:, 0]) > 0.99
    assert r_squared(codes[paths == 1, 2], z[paths == 1, 1]) > 0.99
    assert np.isnan(codes[paths == 0, 2]).all()


def test_leaves_apart_have_directions_of_their_own():
    """No additive map has two slopes for what one variable is in both leaves."""
    rng = np.random.default_rng(0)
    z = rng.uniform(-1, 1, 400)
    paths = np.arange(400) % 2
    Y = np.where(paths[:, None] == 0, np.outer(z, [1, 0]), np.outer(z, [1, 3]) + np.array([0, 9]))
    shared = Hierarchy.from_dict({"variables": [CONTINUOUS, options([], [])]})
    maps, held_out = fit_linear_maps(Y, shared, paths)
    assert maps.additive is None
    assert held_out.explained > 0.9999
    np.testing.assert_allclose(maps.decode(maps.encode(Y)), Y, atol=1e-9)


def overwritten(z, paths):
    """x = (z1, z1) on the line; on the plane around it, z2 takes the place of z1 in the second column."""
    line, plane = z[:, [0, 0]], z * np.array([2.0, 1.0])
    return np.where(paths[:, None] == 0, line, plane)


def test_a_variable_may_move_points_differently_where_another_takes_its_place():
    """Both forms span the plane; with the direction of the line its variables would be x1 and x2 - x1."""
    rng = np.random.default_rng(0)
    z, paths = rng.uniform(-1, 1, (4000, 2)), np.arange(4000) % 2
    maps, held_out = fit_linear_maps(overwritten(z, paths), TREE, paths)
    assert maps.additive is None
    assert held_out.explained > 0.9999
    codes = maps.encode(overwritten(z, paths), paths)[:, [0, 2]]
    plane = np.corrcoef(np.hstack([codes, z])[paths == 1], rowvar=False)[:2, 2:]
    np.testing.assert_allclose(np.sort(np.abs(plane), axis=1), [[0, 1], [0, 1]], atol=0.05)


@pytest.mark.parametrize("n", [4000, 600])
def test_independence_of_gaussian_variables_or_in_few_rows_is_not_believed(n):
    """Any mixture of two Gaussian variables is independent, and of few rows any may look so."""
    rng = np.random.default_rng(0)
    z = rng.standard_normal((n, 2)) if n == 4000 else rng.uniform(-1, 1, (n, 2))
    paths = np.arange(n) % 2
    maps, _ = fit_linear_maps(overwritten(z, paths), TREE, paths)
    assert maps.additive is not None


def test_a_leaf_of_fewer_dimensions_than_it_should_have_gives_no_warning():
    rng = np.random.default_rng(0)
    z, paths = rng.uniform(-1, 1, (4000, 2)), np.arange(4000) % 2
    Y = z[:, [0, 0]]  # a line on both paths, one of which should be a plane
    maps, _ = fit_linear_maps(Y, TREE, paths)
    np.testing.assert_allclose(maps.decode(maps.encode(Y, paths)), Y, atol=1e-6)


def test_codes_have_mean_0_and_deviation_1():
    Y, _, paths = line_and_plane(1000)
    codes = fit_linear_maps(Y, TREE, paths)[0].encode(Y)
    np.testing.assert_allclose(np.nanmean(codes[:, [0, 2]], axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(np.nanstd(codes[:, [0, 2]], axis=0), 1, atol=1e-6)


# ------------------------------------------------------------------ robustness


def test_strays_do_not_tilt_an_exact_leaf():
    """One row in ten is anywhere: the leaf's own relations hold exactly in what is decoded."""
    rng = np.random.default_rng(1)
    a = rng.uniform(3, 12, 300)
    Y = np.stack([a, a, a, np.full(300, 90.0)], axis=1)
    Y[:30] = rng.uniform(3, 12, (30, 4)) + np.array([0, 0, 0, 60])
    maps, _ = fit_linear_maps(Y, Hierarchy.flat(1), np.zeros(300, dtype=np.int64))
    decoded = maps.decode(maps.encode(Y[30:]))
    assert np.abs(decoded - Y[30:]).max() < 1e-9
    codes = maps.encode(Y[30:])[:, 0]
    order = np.argsort(a[30:])
    assert (np.diff(codes[order]) > 0).all() or (np.diff(codes[order]) < 0).all()


def test_few_rows_borrow_the_directions_of_the_other_leaves():
    """Twelve rows in ten columns do not show a plane; the other leaves, which lie along the same one, do."""
    rng = np.random.default_rng(2)
    basis = np.linalg.qr(rng.standard_normal((10, 2)))[0].T
    h = Hierarchy.from_dict({"variables": [options(*[[CONTINUOUS, CONTINUOUS]] * 3)]})
    paths = np.repeat([0, 1, 2], [400, 400, 12])
    centers = 8 * rng.standard_normal((3, 10))

    def draw(paths):
        n = len(paths)
        return centers[paths] + rng.normal(size=(n, 2)) @ basis + 0.5 * rng.normal(size=(n, 10))

    maps, _ = fit_linear_maps(draw(paths), h, paths)
    new = np.full(500, 2)
    rows = draw(new)
    error = np.square(rows - maps.decode(maps.encode(rows, new))).sum(axis=1).mean()
    assert error < 1.35 * 8 * 0.25  # eight directions of noise, and the doubt of the mean


def test_products_and_paths_without_rows():
    rng = np.random.default_rng(3)
    n, items = 900, Items.of(PRODUCT)
    paths = rng.choice([0, 1, 2, 3, 4], n)  # never the last
    W, effects = rng.standard_normal((4, 7)), 6 * rng.standard_normal((5, 7))
    z = rng.uniform(-1, 1, (n, 4)) * items.continuous[paths]
    Y = items.options[paths] @ effects + z @ W
    maps, held_out = fit_linear_maps(Y, PRODUCT, paths)
    assert maps.additive is not None
    assert held_out.explained > 0.999
    assert held_out.agreement > 0.99
    assert np.isfinite(maps.means).all()
    absent = items.options[[5]] @ effects + [[0.5, -0.5, 0.0, 0.5]] @ W  # a path that no row was on
    codes = maps.encode(absent, np.array([5]))
    np.testing.assert_allclose(maps.decode(codes), absent, atol=0.2)


def test_a_bend_is_seen_and_noise_is_none():
    rng = np.random.default_rng(4)
    z = rng.uniform(-1, 1, 600)
    flat = np.stack([z, 0.3 * rng.normal(size=600)], axis=1)
    bent = np.stack([z, z**2 + 0.03 * rng.normal(size=600)], axis=1)
    paths = np.zeros(600, dtype=np.int64)
    assert fit_linear_maps(flat, Hierarchy.flat(1), paths)[1].bend < 0.005
    assert fit_linear_maps(bent, Hierarchy.flat(1), paths)[1].bend > 0.05


# ------------------------------------------------------------------ invariance


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 999), scale=st.floats(1e-3, 1e3))
def test_reconstructions_turn_with_the_data(seed, scale):
    rng = np.random.default_rng(seed)
    Y, _, paths = line_and_plane(300, seed)
    Y = Y + 0.01 * rng.normal(size=Y.shape)
    turn, shift = np.linalg.qr(rng.standard_normal((3, 3)))[0], rng.normal(size=3)
    moved = scale * (Y @ turn + shift)
    one, other = (fit_linear_maps(rows, TREE, paths, 0)[0] for rows in (Y, moved))
    again = other.decode(other.encode(moved, paths))
    np.testing.assert_allclose(again, scale * (one.decode(one.encode(Y, paths)) @ turn + shift), atol=1e-4 * scale)
    assert (one.model.predict(Y) == other.model.predict(moved)).all()


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 999), n=st.integers(3, 40))
def test_any_small_data_gives_finite_maps(seed, n):
    rng = np.random.default_rng(seed)
    Y = rng.integers(0, 3, (n, 4)).astype(float)
    for h in (TREE, APART, PRODUCT, Hierarchy.flat(6)):
        paths = rng.integers(-1, len(h.paths), n)
        paths[:2] = 0
        maps, held_out = fit_linear_maps(Y, h, paths)
        codes = maps.encode(Y)
        h.validate(codes)
        assert np.isfinite(maps.decode(codes)).all()
        assert np.isfinite([held_out.explained, held_out.agreement, held_out.bend]).all()


@pytest.mark.parametrize("n", [1, 2])
def test_a_path_of_one_or_two_rows(n):
    Y, _, paths = line_and_plane(40)
    paths = np.where(np.arange(40) < n, 0, 1)
    maps, _ = fit_linear_maps(Y, TREE, paths)
    assert np.isfinite(maps.decode(maps.encode(Y))).all()


def test_clouds_keep_all_rows_of_a_curved_leaf():
    t = np.linspace(0, 6, 200)
    cloud = clouds_of(np.stack([np.cos(t), np.sin(t)], axis=1), Hierarchy.flat(1), np.zeros(200, dtype=np.int64))[
        0
    ]
    assert isinstance(cloud, Cloud)
    assert cloud.n_rows > 140
