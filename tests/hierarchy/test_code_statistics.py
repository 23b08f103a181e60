"""Ranges, percentiles and histograms of codes."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from disentree import Hierarchy
from disentree.hierarchy.code_statistics import BINS, MAX_PATHS, code_statistics
from strategies import hierarchies

NESTED = Hierarchy.from_dict(
    {"variables": [{"kind": "continuous"}, {"kind": "categorical", "options": [
        {"name": "a", "variables": [{"kind": "continuous"}]}, {"name": "b", "variables": []}]}]}
)  # fmt: skip


def test_known_answers():
    x = np.linspace(0, 1, 101)
    codes = np.array([*([v, 0, 10 * v] for v in x), *([v + 1, 1, np.nan] for v in x[:50])])
    found = code_statistics(NESTED, codes)
    assert found["n_rows"] == 151
    assert found["ranges"] == [[0.0, 1.49], None, [0.0, 10.0]]
    first, second = found["paths"]  # the larger one first
    assert (first["choices"], first["n_rows"], second["choices"], second["n_rows"]) == ([0], 101, [1], 50)
    assert first["variables"]["2"]["percentiles"] == pytest.approx([0.1, 5, 9.9])
    assert set(second["variables"]) == {"0"}
    assert len(first["variables"]["0"]["histogram"]) == BINS
    assert sum(first["variables"]["0"]["histogram"][BINS * 3 // 4 :]) == 0  # of the range that the other path has


def test_rows_without_a_path_count_only_as_rows():
    found = code_statistics(NESTED, [[0.0, np.nan, np.nan], [1.0, 1, np.nan]])
    assert (found["n_rows"], [p["n_rows"] for p in found["paths"]]) == (2, [1])


def test_constant_and_unseen_variables_can_be_moved():
    found = code_statistics(NESTED, [[3.0, 1, np.nan]] * 5)
    assert found["ranges"][0] == [2.0, 4.0]
    low, high = found["ranges"][2]
    assert low < high
    assert code_statistics(NESTED, np.zeros((0, 3)))["paths"] == []


def test_no_more_paths_than_are_worth_keeping():
    h = Hierarchy.flat(1, (700,))
    codes = np.column_stack([np.zeros(1400), np.arange(1400) % 700])
    assert len(code_statistics(h, codes)["paths"]) == MAX_PATHS


@settings(max_examples=25)
@given(hierarchies(), st.integers(1, 30))
def test_any_hierarchy_as_plain_json(h, n):
    codes = h.sample(n)
    found = code_statistics(h, codes)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert sum(p["n_rows"] for p in found["paths"]) == n
    for p in found["paths"]:
        on = {str(v.index) for v in h.variables if v.kind == "continuous"}
        assert set(p["variables"]) <= on
