"""Exact relations between columns."""

import numpy as np
import pytest

from disentree.mimosa.explain.columns import Columns, read_columns
from disentree.mimosa.explain.relations import find_relations


def columns_of(**values) -> Columns:
    return read_columns(np.stack([np.asarray(x, float) for x in values.values()], axis=1), list(values))


def texts(columns: Columns) -> list[str]:
    return [r.text for r in find_relations(columns, np.arange(len(columns)))]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_constants_of_one_value_together(rng):
    x = rng.normal(size=100)
    found = find_relations(columns_of(alpha=x * 0 + 90, x=x, beta=x * 0 + 90, gamma=x * 0 + 120), np.arange(100))
    assert [r.text for r in found] == ["alpha = beta = 90", "gamma = 120"]
    assert found[0].denied == "alpha and beta are not all 90"


def test_equal_columns_are_one_chain(rng):
    a, b = rng.uniform(1, 9, (2, 200)).round(3)
    found = find_relations(columns_of(a=a, other=b, b=a, c=a), np.arange(200))
    assert [(r.kind, r.text) for r in found] == [("equal", "a = b = c")]


def test_one_row_in_a_hundred_may_differ_but_not_five(rng):
    a = rng.uniform(1, 9, 400)
    b = a.copy()
    b[:3] += 1
    assert texts(columns_of(a=a, b=b)) == ["a = b"]
    b[:20] += 1
    assert texts(columns_of(a=a, b=b)) == []


def test_near_is_not_equal(rng):
    a = rng.uniform(1, 9, 300)
    assert texts(columns_of(a=a, b=a + 1e-6 * rng.normal(size=300))) == []


def test_columns_of_zeros_are_not_equal(rng):
    a, b = np.zeros((2, 1000))
    a[:20], b[20:40] = rng.uniform(size=(2, 20))
    assert texts(columns_of(a=a, b=b)) == []


def test_ratios(rng):
    x = rng.uniform(1, 9, 200)
    assert texts(columns_of(x=x, y=2 * x)) == ["y = 2 x"]
    assert texts(columns_of(x=x, y=x / 3)) == ["x = 3 y"]
    assert texts(columns_of(x=x, y=1.5 * x)) == ["y = 3/2 x"]
    assert texts(columns_of(inch=x, cm=2.54 * x)) == ["cm = 2.54 inch"]
    assert texts(columns_of(x=x, y=np.pi * x)) == []


def test_sums_of_rounded_numbers(rng):
    first, second = rng.uniform(10, 90, (2, 300))
    exact = columns_of(first=first, second=second, total=first + second)
    assert texts(exact) == ["total = first + second"]
    rounded = columns_of(first=first.round(1), total=(first + second).round(1), second=second.round(1))
    assert texts(rounded) == ["total = first + second"]
    near = columns_of(first=first, second=second, total=first + second + rng.normal(size=300))
    assert texts(near) == []


def test_rows_elsewhere_are_told_too(rng):
    a, b = rng.uniform(1, 9, (2, 200))
    b[:100] = a[:100]
    found = find_relations(columns_of(a=a, b=b), np.arange(100))
    assert found[0].holds[:100].all()
    assert not found[0].holds[100:].any()


def test_empty_cells_hold_nothing(rng):
    a = rng.uniform(1, 9, 200)
    b = np.where(np.arange(200) < 100, a, np.nan)
    assert texts(columns_of(a=a, b=b)) == []
