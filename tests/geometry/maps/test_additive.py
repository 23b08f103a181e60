"""Maps of products: a variable has one direction in all cells; covers `additive_maps.py`, `choosing.py`,
`path_model.py` too."""

import numpy as np
import pytest

from disentree import COFHAE, MIMOSA, Hierarchy
from disentree.datasets import load_dataset
from disentree.geometry.maps import choosing
from disentree.geometry.maps.additive import Items, spread_of
from disentree.geometry.maps.additive_maps import _own_directions, fit_additive_maps
from disentree.geometry.maps.choosing import choose_map
from disentree.geometry.maps.linear_maps import fit_linear_maps

C = {"kind": "continuous"}


def correlations(h, V, Z):
    """|correlation| of each continuous variable with its own column, over the rows where both are active."""
    out = []
    for c in np.flatnonzero(~h.is_categorical):
        on = ~np.isnan(V[:, c]) & ~np.isnan(Z[:, c])
        out.append(abs(np.corrcoef(V[on, c], Z[on, c])[0, 1]))
    return np.array(out)


def variables(maps, X, paths):
    return maps.encode(X, paths)[:, maps.items.columns]


def test_codes_of_items_by_hand():
    h = Hierarchy.from_dict(
        {
            "variables": [
                {"kind": "categorical", "options": [{"variables": [{"kind": "continuous"}]}, {"variables": []}]},
                {"kind": "categorical", "options": [{"variables": []}, {"variables": [{"kind": "continuous"}]}]},
            ]
        }
    )
    z = np.array([[1.0, 2.0], [3.0, 4.0]])
    nan = np.nan
    items = Items.of(h)
    paths = np.array([1, 2])
    np.testing.assert_array_equal(items.codes(h, paths, z), [[0, 1, 1, 2], [1, nan, 0, nan]])
    mean, scale = spread_of(np.array([[1.0, 9.0], [5.0, 9.0]]), items, np.array([0, 0]))
    assert mean.tolist() == [3, 0]  # the second is not active in any row
    assert scale.tolist() == [2, 1]


def test_cells_of_few_rows_and_of_none_are_told_apart():
    """Ten rows in a cell of five dimensions do not show its span; what all cells share does."""
    ds = load_dataset("product-5", n_samples=300, seed=0)
    h = ds.hierarchy
    held_out = 31
    seen = ds.paths != held_out
    Y = (ds.X - ds.X.mean(axis=0)) @ np.linalg.svd(ds.X - ds.X.mean(axis=0), full_matrices=False)[2][:8].T
    maps, _ = fit_linear_maps(Y[seen], h, ds.paths[seen], 0)
    new = load_dataset("product-5", n_samples=2000, seed=1)
    moved = (new.X - ds.X.mean(axis=0)) @ np.linalg.svd(ds.X - ds.X.mean(axis=0), full_matrices=False)[2][:8].T
    found = maps.model.predict(moved)
    assert (found == new.paths).mean() > 0.97
    assert (found == new.paths)[new.paths == held_out].mean() > 0.9
    np.testing.assert_allclose(maps.decode(maps.encode(moved, new.paths)), moved, atol=1e-3)


def test_a_code_means_the_same_in_all_cells():
    ds = load_dataset("product-3", n_samples=2000, seed=0, missing=True)
    model = COFHAE(device="cpu").fit(ds.X, hierarchy=ds.hierarchy, paths=ds.paths)
    new = load_dataset("product-3", n_samples=2000, seed=1)
    Z = model.transform(new.X)
    h = ds.hierarchy
    assert (h.path_of(Z) == new.paths).mean() > 0.99
    single = [c for c in np.flatnonzero(~h.is_categorical) if h.variables[c].parent is None or c in (2,)]
    for c in single:  # alone in their groups: no order or rotation to find
        on = ~np.isnan(new.codes[:, c]) & ~np.isnan(Z[:, c])
        assert abs(np.corrcoef(new.codes[on, c], Z[on, c])[0, 1]) > 0.995


def test_more_paths_than_maps():
    n, k = 4000, 7
    rng = np.random.default_rng(0)
    switch = {"kind": "categorical", "options": [{"variables": []}, {"variables": [{"kind": "continuous"}]}]}
    h = Hierarchy.from_dict({"variables": [{"kind": "continuous"}, *[switch] * k]})
    V = h.sample(n, rng)
    paths = h.path_of(V)
    on = ~np.isnan(V[:, 2::2])
    u = np.column_stack([V[:, 0], np.nan_to_num(V[:, 2::2]) + 5 * on])
    Y = u @ np.linalg.qr(rng.standard_normal((k + 1, k + 1)))[0]
    maps = fit_additive_maps(Y, h, paths, rng)
    Z = maps.encode(Y, paths)
    assert correlations(h, V, Z).min() > 0.98
    logits = Y @ maps.weights + maps.bias
    chosen = np.column_stack([logits[:, 2 * i : 2 * i + 2].argmax(axis=1) for i in range(k)])
    assert (chosen == V[:, 1::2]).mean() > 0.999


@pytest.mark.parametrize(("n_options", "n_features", "too_many"), [(100, 100, False), (101, 100, True)])
def test_how_many_paths_are_too_many(n_options, n_features, too_many):
    assert choose_map(Hierarchy.flat(0, (n_options,)), n_features) == ("additive" if too_many else "linear")


def test_codes_of_mimosa_with_very_many_paths(monkeypatch):
    """One additive map in place of a map for each path: the same codes up to sign where both are exact."""
    X = load_dataset("ames-sample").X
    numbers = X[["area", "X2nd.Flr.SF", "Wood.Deck.SF", "Garage.Area", "Garage.Type", "Fireplace.Qu"]]
    model = MIMOSA(random_state=0).fit(numbers)
    one = model.transform(numbers)
    monkeypatch.setattr(choosing, "MANY_NUMBERS", 0)
    model._completed()
    other = model.transform(numbers)
    np.testing.assert_array_equal(np.isnan(one), np.isnan(other))
    model.hierarchy_.validate(other)
    continuous = ~model.hierarchy_.is_categorical
    on = ~np.isnan(other).all(axis=0) & continuous
    np.testing.assert_allclose(np.nanmean(other[:, on], axis=0), 0, atol=0.05)
    np.testing.assert_allclose(np.nanstd(other[:, on], axis=0), 1, atol=0.05)


def _correlation(x, y):
    return abs(np.corrcoef(x, y)[0, 1])


def test_a_variable_is_what_varies_only_on_its_branch():
    """What is paid less than was due is 0 on the other branch, though the rooms vary far more on both."""
    rng = np.random.default_rng(0)
    late = rng.random(600) < 0.3
    rooms, due = rng.normal(size=(2, 600))
    short = np.where(late, rng.uniform(0.1, 0.5, 600), 0)
    X = np.column_stack([rooms, due, due - short, rng.normal(size=600)])
    tree = Hierarchy.from_dict(
        {"variables": [C, {"kind": "categorical", "options": [{"variables": []}, {"variables": [C]}]}]}
    )
    maps = fit_additive_maps(X, tree, late.astype(int), rng)
    z = variables(maps, X, late.astype(int))
    assert _correlation(z[late, 1], short[late]) > 0.99
    assert np.isnan(z[~late, 1]).all()


def test_a_column_is_a_variable_of_the_group_that_alone_has_it():
    """Offices have a floor and a tax, flats a floor, houses neither; tax and floor vary more than all else."""
    rng = np.random.default_rng(1)
    path = rng.integers(0, 3, 900)  # house, flat, office
    floor, tax = np.where(path > 0, 3 * rng.normal(size=900), 0), np.where(path == 2, 5 * rng.normal(size=900), 0)
    area = rng.normal(size=900)
    nested = {"kind": "categorical", "options": [{"variables": []}, {"variables": [C]}]}
    tree = Hierarchy.from_dict(
        {"variables": [C, {"kind": "categorical", "options": [{"variables": []}, {"variables": [C, nested]}]}]}
    )
    X = np.column_stack([area, floor, tax])
    z = variables(fit_additive_maps(X, tree, path, rng), X, path)
    for variable, column, rows in ((0, area, path >= 0), (1, floor, path > 0), (2, tax, path == 2)):
        assert _correlation(z[rows, variable], column[rows]) > 0.99


def test_few_rows_do_not_make_directions_of_their_own():
    """With no more rows than columns some direction never varies outside, by chance."""
    rng = np.random.default_rng(2)
    on = np.arange(60) < 40
    X = rng.normal(size=(60, 20)) * np.linspace(3, 1, 20)
    own = _own_directions(X[on], X[~on])
    assert own.shape == (20, 0)
    again = rng.normal(size=(400, 20)) * np.linspace(3, 1, 20)
    assert _own_directions(again[:200], again[200:]).shape == (20, 0)
    assert _own_directions(again[:200], again[200:] * (np.arange(20) > 0)).tolist() == np.eye(20)[:, :1].tolist()


def test_a_group_whose_columns_are_all_those_of_groups_below_it():
    rng = np.random.default_rng(3)
    path = rng.integers(0, 2, 300)
    X = np.column_stack([np.where(path == k, rng.normal(size=300), 0) for k in range(2)])
    options = [{"variables": [C]}, {"variables": [C]}]
    tree = Hierarchy.from_dict({"variables": [C, {"kind": "categorical", "options": options}]})
    maps = fit_additive_maps(X, tree, path, rng)
    z = variables(maps, X, path)
    assert np.isfinite(z[path == 0][:, [0, 1]]).all()
    again = maps.base + Items.of(tree).options[path] @ maps.effects + np.nan_to_num(z) @ maps.directions
    np.testing.assert_allclose(again, X, atol=1e-2)  # effects have a prior


def test_columns_that_options_tell_are_not_mixed_into_a_variable():
    """The three kinds of parking sum to whether there is any, so that their sum may be added to anything."""
    rng = np.random.default_rng(4)
    late, parks = rng.random((2, 800)) < 0.4
    due = rng.normal(size=800)
    short = np.where(late, rng.uniform(0.1, 0.9, 800), 0)
    kinds = (rng.integers(0, 3, 800)[:, None] == np.arange(3)) & parks[:, None]
    X = np.column_stack([due, due - short, kinds, parks])
    either = {"kind": "categorical", "options": [{"variables": []}, {"variables": [C]}]}
    tree = Hierarchy.from_dict({"variables": [C, either, either]})
    paths = 2 * late + parks
    maps = fit_additive_maps(X.astype(float), tree, paths, rng)
    direction = maps.directions[1]  # of the first choice
    assert np.abs(direction[:2]).min() > 0.1
    assert np.abs(direction[2:]).max() < 0.02
    z = variables(maps, X.astype(float), paths)
    assert _correlation(z[late, 1], short[late]) > 0.99
