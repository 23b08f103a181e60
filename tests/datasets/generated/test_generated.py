"""Generated data off the benchmarks; covers `curved.py`, `clusters.py`, `robot_arm.py`, `humid_air.py` and
`triangle.py`."""

import numpy as np
import pytest

from disentree.datasets import dataset_info, list_datasets, load_dataset

NAMES = [info.name for info in list_datasets("generated")]


def rank(X):
    s = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
    return int((s > 1e-9 * s[0]).sum())


@pytest.mark.parametrize("name", NAMES)
def test_codes_fit_the_hierarchy_and_give_the_rows(name):
    if name == "humid-air":
        pytest.importorskip("CoolProp", reason="CoolProp has no wheel for this Python")
    ds = load_dataset(name, n_samples=60, seed=3)
    np.testing.assert_array_equal(ds.hierarchy.path_of(ds.codes), ds.paths)
    assert np.isfinite(np.asarray(ds.X)).all()
    clean = np.asarray(ds.generate(ds.codes))
    assert clean.shape == ds.X.shape
    if name != "noisy-leaves":  # which has noise of its own
        np.testing.assert_array_equal(clean, np.asarray(ds.X))
    again = load_dataset(name, n_samples=60, seed=3)
    np.testing.assert_array_equal(np.asarray(again.X), np.asarray(ds.X))


def test_noise_is_added_with_the_stated_deviation():
    clean = load_dataset("swiss-roll", n_samples=4000, seed=1)
    noisy = load_dataset("swiss-roll", n_samples=4000, seed=1, noise=0.1)
    np.testing.assert_array_equal(noisy.codes, clean.codes)
    assert (noisy.X - clean.X).std() == pytest.approx(0.1, rel=0.05)


def test_the_modes_of_the_arm_span_2_8_and_14_dimensions():
    ds = load_dataset("robot-arm", n_samples=2000, seed=0)
    assert ds.X.shape == (2000, 32)
    assert [rank(ds.X[ds.paths == k]) for k in range(3)] == [2, 8, 14]


def test_a_joint_turns_its_markers_on_circles():
    ds = load_dataset("robot-arm", n_samples=50, seed=0)
    radius = np.hypot(ds.X[:, 0], ds.X[:, 1])  # of the marker on the link that turns with the waist
    np.testing.assert_allclose(radius, radius[0])


def test_circles_are_circles_and_the_disc_is_apart():
    ds = load_dataset("circles-disc", n_samples=300, seed=0)
    np.testing.assert_allclose(np.linalg.norm(ds.X[ds.paths < 2], axis=1), 1)
    assert (ds.X[ds.paths == 2, 3] == 3).all()


def test_the_equator_is_on_the_sphere():
    ds = load_dataset("equator", n_samples=300, seed=0)
    np.testing.assert_allclose(np.linalg.norm(ds.X, axis=1), 1)
    assert (ds.X[ds.paths == 0, 2] == 0).all()


def test_clusters_are_apart():
    ds = load_dataset("clusters", n_samples=1000, seed=0)
    centers = np.stack([ds.X[ds.paths == k].mean(axis=0) for k in range(5)])
    apart = np.linalg.norm(centers[:, None] - centers, axis=2)[np.triu_indices(5, 1)]
    assert apart.min() > 6
    assert ds.X[ds.paths == 0].std(axis=0).mean() == pytest.approx(1, abs=0.1)


def test_dry_air_has_no_water_and_enthalpy_follows_temperature():
    pytest.importorskip("CoolProp", reason="CoolProp has no wheel for this Python")
    ds = load_dataset("humid-air", n_samples=60, seed=0)
    dry = ds.X[ds.paths == 0]
    assert (dry["humidity ratio"] == 0).all()
    assert (ds.X[ds.paths > 0]["humidity ratio"] > 0).all()
    heat = np.polyfit(dry["temperature [K]"], dry["enthalpy [J/kg]"], 1)[0]
    assert heat == pytest.approx(1006, rel=0.01)  # the heat capacity of dry air at constant pressure


def test_corners_of_the_triangle_by_hand():
    ds = load_dataset("triangle-edges", n_samples=2000, seed=0)
    nan = np.nan
    edge, names = ds.hierarchy.variables[0], [v.name for v in ds.hierarchy.variables]
    assert (edge.name, edge.options) == ("edge", ("ab", "bc", "ca"))
    assert names == ["edge", "a to b", "inside", "b to c, inside", "b to c", "c to a"]
    ends_of = [
        [[0, 0, 0, nan, nan, nan], [0, 1, 0, nan, nan, nan]],  # ab
        [[1, nan, nan, nan, 0, nan], [1, nan, nan, nan, 1, nan]],  # bc
        [[2, nan, nan, nan, nan, 0], [2, nan, nan, nan, nan, 1]],  # ca
    ]
    (a, b), (b2, c), (c2, a2) = (ds.generate(ends) for ends in ends_of)
    np.testing.assert_allclose([a, b, c], [a2, b2, c2], atol=1e-12)
    np.testing.assert_allclose(
        np.linalg.norm([b - a, c - b, a - c], axis=1), [1, np.hypot(0.65, 0.8), np.hypot(0.35, 0.8)]
    )
    # of the triangle: s = 1 and any t is on edge bc, s = t on edge ca
    on_bc, on_ca = ds.generate([[0, 1, 1, 0.3, nan, nan], [0, 0.6, 1, 0.6, nan, nan]])
    np.testing.assert_allclose(on_bc, ds.generate([[1, nan, nan, nan, 0.3, nan]])[0], atol=1e-12)
    np.testing.assert_allclose(on_ca, ds.generate([[2, nan, nan, nan, nan, 0.4]])[0], atol=1e-12)


def test_the_triangle_is_uniform_and_the_parts_are_equal():
    ds = load_dataset("triangle-edges", n_samples=20_000, seed=1)
    np.testing.assert_allclose(np.bincount(ds.paths) / 20_000, 1 / 4, atol=0.02)
    inside = ds.codes[ds.paths == 1]
    weights = np.column_stack([1 - inside[:, 1], inside[:, 1] - inside[:, 3], inside[:, 3]])
    assert weights.min() >= 0
    # barycentric coordinates of uniform points have mean 1/3 and variance 1/18
    np.testing.assert_allclose(weights.mean(axis=0), 1 / 3, atol=0.02)
    np.testing.assert_allclose(weights.var(axis=0), 1 / 18, atol=0.005)


def test_options_that_do_not_exist_are_named():
    with pytest.raises(ValueError, match="swiss-roll has no option 'width'; it has noise"):
        dataset_info("swiss-roll", width=2)
    with pytest.raises(ValueError, match="kind must be"):
        list_datasets("toys")
