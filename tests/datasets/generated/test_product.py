import itertools
import re

import numpy as np
import pytest

from disentree.datasets import dataset_info, list_datasets, load_dataset

NAN = np.nan


def rank(X):
    s = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
    return int((s > 1e-9 * s[0]).sum())


def test_two_switches_by_hand():
    ds = load_dataset("product-2", n_samples=4, seed=0)
    assert [v.name for v in ds.hierarchy.variables] == ["x", "switch1", "u1", "switch2", "u2", "v2"]
    assert [v.name for v in ds.hierarchy.variables if v.parent is None] == ["x", "switch1", "switch2"]
    assert [p.name for p in ds.hierarchy.paths] == [
        f"switch1={first}/switch2={second}" for first, second in itertools.product(["off", "on"], repeat=2)
    ]
    assert [p.dimension for p in ds.hierarchy.paths] == [1, 3, 2, 4]


def test_a_linear_row_is_a_sum_over_its_variables_of_orthonormal_directions():
    units = [[1, 0, NAN, 0, NAN, NAN], [0, 1, 1, 0, NAN, NAN], [0, 0, NAN, 1, 1, 0], [0, 0, NAN, 1, 0, 1]]
    ds = load_dataset("product-2", n_samples=4, seed=0)
    directions = ds.generate(units)
    assert directions.shape == (4, 10)
    np.testing.assert_allclose(directions @ directions.T, np.eye(4), atol=1e-12)
    row = ds.generate([[0.5, 1, -0.25, 1, 0.75, 1]])
    np.testing.assert_allclose(row, [[0.5, -0.25, 0.75, 1] @ directions], atol=1e-12)
    np.testing.assert_array_equal(ds.generate([[0, 0, NAN, 0, NAN, NAN]]), np.zeros((1, 10)))
    # "on" at 1 is "on" at 0 with an offset of 1
    moved = load_dataset("product-2", n_samples=4, seed=0, offset=1.0)
    np.testing.assert_array_equal(moved.generate([[0, 1, 0, 0, NAN, NAN]]), directions[1:2])


def test_a_curved_row_is_the_sine_of_a_linear_one():
    ds = load_dataset("product-2-curved", n_samples=3000, seed=0)
    assert ds.X.shape == (3000, 10)
    assert np.abs(ds.X).max() <= 1
    step = 1e-4
    zero = [0, 0, NAN, 0, NAN, NAN]
    low, middle, high = ds.generate([[-step, *zero[1:]], zero, [step, *zero[1:]]])
    # for s = sin(a t + b): s'' = -a^2 s and s' = a cos(a t + b)
    slope, bend = (high - low) / (2 * step), (high - 2 * middle + low) / step**2
    squared = -bend / middle
    np.testing.assert_allclose(slope**2, squared * (1 - middle**2), atol=1e-4)
    # a row of 10 sines of 4 variables spans more than their 4 dimensions, even where one variable moves alone
    assert rank(ds.X[ds.paths == 0]) > 4
    assert rank(ds.X) == 10


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("curved", ["", "-curved"])
def test_leaves_have_the_dimension_of_their_variables(k, curved):
    ds = load_dataset(f"product-{k}{curved}", n_samples=10 * 2**k, seed=1)
    assert len(ds.hierarchy.paths) == 2**k
    n_variables = 1 + sum(1 if i % 2 else 2 for i in range(1, k + 1))
    assert ds.X.shape[1] == 2 + 2 * n_variables
    base, step = ds.hierarchy.sample(1, 0)[0], 1e-6
    rows = []
    for path in ds.hierarchy.paths:
        code = np.full(len(base), NAN)
        code[list(path.continuous)] = 0.1
        for column, option in path.choices:
            code[column] = option
        moved = np.tile(code, (1 + path.dimension, 1))
        for i, column in enumerate(path.continuous):
            moved[1 + i, column] += step
        X = ds.generate(moved)
        rows.append(np.linalg.matrix_rank((X[1:] - X[0]) / step, tol=1e-3))
    assert rows == [path.dimension for path in ds.hierarchy.paths]


def test_shares_and_values_are_those_stated():
    ds = load_dataset("product-5", n_samples=40_000, seed=0)
    tree = ds.hierarchy
    np.testing.assert_allclose(
        ds.codes[:, tree.is_categorical & tree.active(ds.codes).all(axis=0)].mean(axis=0),
        [0.5, 0.35, 0.65, 0.4, 0.6],
        atol=0.0125,
    )
    equal = load_dataset("product-5", n_samples=40_000, seed=0, shares="equal")
    np.testing.assert_allclose(np.bincount(equal.paths, minlength=32) / 40_000, 1 / 32, atol=0.005)
    for column in np.flatnonzero(~tree.is_categorical):
        quartiles = np.nanquantile(ds.codes[:, column], np.arange(5) / 4)
        np.testing.assert_allclose(quartiles, np.linspace(-1, 1, 5), atol=0.03)
    # independent: the share of a combination is the product of those of its switches
    on = ds.codes[:, [v.index for v in tree.variables if v.kind == "categorical"]]
    assert np.abs(np.corrcoef(on.T) - np.eye(5)).max() < 0.025


def test_one_combination_may_be_missing():
    ds = load_dataset("product-3", n_samples=20_000, seed=0, missing=True)
    counts = np.bincount(ds.paths, minlength=8)
    assert [p.name for p in ds.hierarchy.paths if counts[p.index] == 0] == ["switch1=on/switch2=on/switch3=off"]
    whole = load_dataset("product-3", n_samples=20_000, seed=0)
    kept = whole.paths != 6
    np.testing.assert_array_equal(ds.codes[kept], whole.codes[kept])


def test_the_embedding_does_not_depend_on_seed_rows_or_options():
    one = load_dataset("product-3-curved", n_samples=50, seed=1)
    other = load_dataset("product-3-curved", n_samples=9, seed=2, shares="equal", noise=0.1, missing=True)
    np.testing.assert_array_equal(other.generate(one.codes), one.X)
    np.testing.assert_array_equal(other.generate(one.codes[:7]), one.X[:7])
    again = load_dataset("product-3-curved", n_samples=50, seed=1)
    np.testing.assert_array_equal(again.X, one.X)


def test_products_are_listed_and_described():
    listed = [info.name for info in list_datasets("generated") if info.name.startswith("product")]
    assert listed == [f"product-{k}{curved}" for curved in ("", "-curved") for k in range(2, 6)]
    info = dataset_info("product-7")
    assert info.description == "7 independent switches with variables of their own"
    assert info.options == {"shares": "unequal", "missing": False, "offset": 0.0, "noise": 0.0}


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("product-1", {}, "a product has 2 switches or more, got 1"),
        ("product-2", {"missing": True}, "missing must be False for a product of 2 switches; it needs 3 or more"),
        ("product-2", {"shares": "some"}, "shares must be unequal or equal, got 'some'"),
        ("product-2", {"offset": float("inf")}, "offset must be a finite number, got inf"),
        ("product-2", {"mode": 1}, "product-2 has no option 'mode'; it has missing, noise, offset, shares"),
        ("product-x", {}, "there is no data set 'product-x'; did you mean 'product-5'?"),
    ],
)
def test_mistakes_are_named(name, options, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        dataset_info(name, **options)
