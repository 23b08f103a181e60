"""Rows of leaves: `profiles.py`, `columns.py`, `row_map.py`, `steps/leaves.py`."""

import numpy as np
import pytest

from disentree import Hierarchy
from disentree.runs.report.columns import Shown, number_text
from disentree.runs.report.profiles import BINS, FEW_VALUES, groups_of, leaf_profiles
from disentree.runs.report.row_map import MOST_ROWS, make_map

TWO = Hierarchy.flat(1, (2,))
SIDE_BY_SIDE = Hierarchy.flat(1, (2, 3))


def profiles(cells, labels, columns=None, hierarchy=TWO):
    columns = columns or [Shown(f"column {j}", "number") for j in range(cells.shape[1])]
    features = np.nan_to_num(cells)
    return leaf_profiles(columns, cells, features, labels, np.arange(len(cells)) + 100, hierarchy)


def test_the_column_that_tells_a_leaf_apart_comes_first():
    rng = np.random.default_rng(0)
    cells, labels = rng.normal(size=(400, 3)), np.arange(400) % 2
    cells[labels == 1, 2] += 10
    found = profiles(cells, labels)
    assert found["n_rows"] == 400
    for leaf in found["leaves"]:
        assert leaf["columns"][0]["column"] == 2
        assert leaf["columns"][0]["difference"] == pytest.approx(
            0.5
        )  # all of one half lies below all of the other
        assert leaf["n_rows"] == 200
    for c in found["leaves"][1]["columns"]:
        assert c["median"] == pytest.approx(np.median(cells[labels == 1, c["column"]]))


def test_every_row_is_counted_once():
    rng = np.random.default_rng(1)
    cells = rng.standard_cauchy(size=(500, 2))  # far beyond the bins
    cells[:50, 0] = np.nan
    labels = rng.integers(-1, 2, 500)
    found = profiles(cells, labels)
    for column in found["columns"]:
        assert sum(column["counts"]) + column["n_empty"] == 500
        assert len(column["counts"]) == BINS
    for leaf in found["leaves"]:
        n = int((labels == leaf["path"]).sum())
        assert leaf["n_rows"] == n
        assert all(sum(c["counts"]) + c["n_empty"] == n for c in leaf["columns"])


def test_few_values_have_a_bar_each():
    cells = np.tile([3.0, 5.0, 9.0], 40)[:, None]
    found = profiles(cells, np.zeros(120, int))
    assert found["columns"][0]["counts"] == [40, 40, 40]
    assert found["columns"][0]["bins"][:3] == [3, 5, 9]
    assert FEW_VALUES < BINS  # which tells the two kinds of bins apart


def test_categories_and_empty_cells_count_as_values():
    kinds = [Shown("sex", "category", ("f", "m"), "not known")]
    cells = np.array([0.0] * 50 + [1.0] * 30 + [np.nan] * 20)[:, None]
    labels = (np.arange(100) >= 80).astype(int)
    found = profiles(cells, labels, kinds)
    first, second = (leaf["columns"][0] for leaf in found["leaves"])
    assert first["counts"] == [50, 30]
    assert (second["counts"], second["n_empty"]) == ([], 20)
    assert second["difference"] == pytest.approx(0.8)
    assert second["typical"] == [None, None, None]


def test_typical_rows_are_nearest_to_the_median():
    cells = np.array([[0.0], [1.0], [2.0], [3.0], [50.0]])
    found = profiles(cells, np.zeros(5, int))
    assert found["leaves"][0]["typical"] == [102, 101, 103]
    assert found["leaves"][0]["columns"][0]["typical"] == [2.0, 1.0, 3.0]


def test_branches_side_by_side_are_described_one_by_one():
    labels = np.arange(600) % 6
    groups = groups_of(SIDE_BY_SIDE, labels)
    assert [about["choice"] for about, _ in groups] == [[1, 0], [1, 1], [2, 0], [2, 1], [2, 2]]
    assert [len(rows) for _, rows in groups] == [300, 300, 200, 200, 200]
    assert [about["path"] for about, _ in groups_of(TWO, labels % 2)] == [0, 1]


def test_cells_as_text():
    assert Shown("x", "number").text(1234.56) == "1235"
    assert Shown("x", "integer").text(1990.0) == "1990"
    assert Shown("x", "integer").text(12345.0) == "12,345"
    assert Shown("x", "date").text(1.0) == "1970-01-02"
    assert Shown("x", "category", ("a", "b"), "not applicable").text(1.0) == "b"
    assert Shown("x", "category", ("a", "b"), "not applicable").text(None) == "not applicable"
    assert Shown("x", "number", empty="not known").text(np.nan) == "not known"
    assert number_text(0.0) == "0"
    assert number_text(-2.5) == "-2.5"


def test_the_map_has_the_distances_of_flat_data():
    rng = np.random.default_rng(2)
    plane = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 6)) + 7
    found = make_map(plane, np.zeros(200, int))
    apart = np.linalg.norm(plane[:1] - plane, axis=1)
    np.testing.assert_allclose(np.linalg.norm(found.positions[:1] - found.positions, axis=1), apart, atol=1e-8)
    assert found.explained.sum() == pytest.approx(1)
    assert found.cells.shape == (200, 0)


def test_the_map_of_many_rows_is_a_sample_of_them():
    X = np.random.default_rng(3).normal(size=(MOST_ROWS + 500, 3))
    paths = np.arange(len(X)) % 7
    found = make_map(X, paths, X * 2, seed=5)
    assert len(found.rows) == MOST_ROWS == len(np.unique(found.rows))
    assert found.n_rows == len(X)
    np.testing.assert_array_equal(found.paths, found.rows % 7)
    np.testing.assert_array_equal(found.cells, X[found.rows] * 2)
    np.testing.assert_array_equal(make_map(X, paths, seed=5).rows, found.rows)


def test_the_map_of_one_column_and_of_equal_rows():
    assert make_map(np.arange(5.0)[:, None], np.zeros(5, int)).positions.shape == (5, 2)
    assert not make_map(np.ones((5, 3)), np.zeros(5, int)).positions.any()
