"""`targets.py` and `leaf_factors.py`: known factors come back; shared variables mean the same in every leaf."""

import numpy as np
import pytest

from disentree import Hierarchy
from disentree.cofhae.fitting.targets import fit_subspaces, leaf_targets
from disentree.datasets import load_dataset
from disentree.geometry.maps.leaf_factors import fast_ica


def r_squared(truth, found):
    return np.corrcoef(truth, found)[0, 1] ** 2


@pytest.mark.parametrize("d", [1, 2, 5])
def test_ica_undoes_a_rotation(d):
    rng = np.random.default_rng(d)
    factors = rng.uniform(-1, 1, (4000, d)) * np.sqrt(3)
    rotation = np.linalg.qr(rng.standard_normal((d, d)))[0]
    W = fast_ica(factors @ rotation.T, rng)
    np.testing.assert_allclose(W.T @ W, np.eye(d), atol=1e-8)
    match = np.abs(rotation.T @ W)
    np.testing.assert_allclose(np.sort(match, axis=0)[-1], 1, atol=0.01)
    assert len(set(match.argmax(axis=0))) == d


@pytest.mark.parametrize("name", ["depth2-both", "depth3-either", "depth3-both"])
def test_chopsticks_factors_come_back_in_their_own_columns(name):
    """Up to the order within a group: there slope and intercept cannot be told apart by name."""
    ds = load_dataset(f"chopsticks-{name}", n_samples=6000, seed=0)
    X = ds.X - ds.X.mean(0)
    _, s, rows = np.linalg.svd(X, full_matrices=False)
    rank = int((s > 1e-8 * s[0]).sum())
    Z = X @ rows[:rank].T / s[:rank] * np.sqrt(len(X))
    targets = leaf_targets(Z, ds.hierarchy, ds.paths)
    assert (targets.trust == 1).all()
    on = ds.hierarchy.active(ds.codes) & ~ds.hierarchy.is_categorical
    assert (
        ~np.isnan(targets.values[:, ~ds.hierarchy.is_categorical]) <= on[:, ~ds.hierarchy.is_categorical]
    ).all()
    assert np.isnan(targets.values[:, ds.hierarchy.is_categorical]).all()
    for v in ds.hierarchy.variables:
        if v.kind != "continuous":
            continue
        group = [w.index for w in ds.hierarchy.variables if w.parent == v.parent and w.option == v.option]
        rows_on = ~np.isnan(targets.values[:, v.index])
        best = max(
            r_squared(ds.codes[rows_on, g], targets.values[rows_on, v.index])
            for g in group
            if not ds.hierarchy.is_categorical[g]
        )
        assert best > 0.99, v.name  # over all the leaves that share it at once


def test_rows_of_another_leaf_do_not_tilt_the_flat_and_get_no_target():
    rng = np.random.default_rng(0)
    Z = rng.uniform(-1, 1, (1000, 4)) * [1, 1, 0, 0]
    Z[:50] = rng.uniform(-1, 1, (50, 4))
    flat = fit_subspaces(Z, Hierarchy.flat(2), np.zeros(1000, dtype=np.int64))[0]
    assert set(range(50)).isdisjoint(flat.rows)
    np.testing.assert_allclose(flat.subspace.basis[:, 2:], 0, atol=1e-9)
    assert flat.trust == 1


def test_curved_leaves_are_not_trusted():
    t = np.random.default_rng(0).uniform(0, 2 * np.pi, 2000)
    circle = np.c_[np.cos(t), np.sin(t)]
    targets = leaf_targets(circle, Hierarchy.flat(1), np.zeros(2000, dtype=np.int64))
    assert targets.trust.tolist() == [0]
    assert np.isnan(targets.values).all()


def test_leaves_with_too_few_rows_or_dimensions_get_none():
    rng = np.random.default_rng(0)
    Z, paths = rng.random((30, 3)), np.zeros(30, dtype=np.int64)
    assert np.isnan(leaf_targets(Z, Hierarchy.flat(2), paths).values).all()  # 20 rows for each dimension
    assert np.isnan(leaf_targets(np.repeat(Z, 10, 0), Hierarchy.flat(4), np.repeat(paths, 10)).values).all()
    line = np.repeat(Z[:, :1], 30, 0) * [1, 2, 3]
    assert leaf_targets(line, Hierarchy.flat(2), np.repeat(paths, 30)).trust.tolist() == [0]


def test_unassigned_rows_get_no_target():
    Z = np.random.default_rng(0).random((200, 2))
    paths = np.where(np.arange(200) < 100, 0, -1)
    values = leaf_targets(Z, Hierarchy.flat(2), paths).values
    assert np.isnan(values[100:]).all()
    assert not np.isnan(values[:100]).any()


def test_a_shared_variable_has_one_origin_although_leaves_have_different_ranges():
    rng = np.random.default_rng(0)
    second = np.arange(2000) >= 1000
    v = rng.uniform(-1, 1, 2000) + 2 * second  # from -1 to 1 in the first leaf, from 1 to 3 in the second
    Z = np.stack([v, np.where(second, rng.uniform(1, 2, 2000), 0), np.zeros(2000)], axis=1)
    inner = {"kind": "categorical", "options": [{"variables": []}, {"variables": [{"kind": "continuous"}]}]}
    hierarchy = Hierarchy.from_dict({"variables": [{"kind": "continuous"}, inner]})
    values = leaf_targets(Z, hierarchy, second.astype(np.int64)).values
    assert r_squared(v, values[:, 0]) > 0.99


@pytest.mark.parametrize("seed", range(4))
def test_a_variable_means_the_same_in_all_cells_of_a_product(seed):
    """A cell has one variable in common with one cell and another with another: all of them count."""
    ds = load_dataset("product-3", n_samples=3000, seed=seed)
    whitened = np.linalg.svd(ds.X - ds.X.mean(axis=0), full_matrices=False)[0][:, :5] * np.sqrt(len(ds.X))
    values = leaf_targets(whitened, ds.hierarchy, ds.paths, seed).values
    names = [v.name for v in ds.hierarchy.variables]
    for name in ("x", "u1", "u3"):
        column = names.index(name)
        known = ~np.isnan(values[:, column])
        assert known.mean() > 0.3
        assert r_squared(ds.codes[known, column], values[known, column]) > 0.99
    u2, v2 = names.index("u2"), names.index("v2")  # in either order
    known = ~np.isnan(values[:, u2])
    match = [[r_squared(ds.codes[known, i], values[known, j]) for j in (u2, v2)] for i in (u2, v2)]
    assert np.sort(match, axis=1)[:, 1].min() > 0.98
