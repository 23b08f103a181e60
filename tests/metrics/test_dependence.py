"""Dependence of the codes of a leaf."""

import numpy as np
import pytest

from disentree import Hierarchy, metrics
from disentree.metrics.dependence import _centered, dependence_score, dependence_scores

TREE = Hierarchy.from_dict(
    {
        "variables": [
            {"kind": "categorical", "name": "c", "options": [
                {"name": "two", "variables": [{"kind": "continuous"}, {"kind": "continuous"}]},
                {"name": "one", "variables": [{"kind": "continuous"}]},
                {"name": "three", "variables": [{"kind": "continuous"}] * 3},
            ]},
        ]
    }
)  # fmt: skip


def test_independent_codes_leave_none():
    Z = TREE.sample(3000)
    found = dependence_scores(Z, TREE)
    assert [p.path for p in found] == ["c=two", "c=three"]
    assert all(p.mean < 0.06 for p in found)
    assert dependence_score(Z, TREE) < 0.06


def test_the_same_code_twice_leaves_all_of_it():
    Z = TREE.sample(900)
    two = Z[:, 0] == 0
    Z[two, 2] = 5 - 3 * Z[two, 1]
    found = dependence_scores(Z, TREE)
    assert found[0].mean == pytest.approx(1)
    assert found[0].pair == ("z1", "z2")
    shares = [p.n_rows for p in found]
    expected = np.average([p.mean for p in found], weights=shares)
    assert metrics.dependence_score(Z, TREE) == pytest.approx(expected)


def test_dependence_without_correlation_is_seen():
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 1500)
    Z = np.column_stack([np.cos(angle), np.sin(angle)])
    assert abs(np.corrcoef(Z.T)[0, 1]) < 0.05
    assert dependence_score(Z, Hierarchy.flat(2)) > 0.15


def test_the_unbiased_product_by_hand():
    """U-centered distances of four points, against the definition written out."""
    x = np.array([0.0, 1.0, 3.0, 7.0])
    d = np.abs(x[:, None] - x)
    expected = np.zeros((4, 4))
    for i in range(4):
        for j in range(4):
            if i != j:
                expected[i, j] = d[i, j] - d[i].sum() / 2 - d[:, j].sum() / 2 + d.sum() / 6
    np.testing.assert_allclose(_centered(x), expected)


def test_nothing_to_compare_is_nothing_left():
    assert dependence_score(np.random.default_rng(0).random((50, 1)), Hierarchy.flat(1)) == 0
    assert dependence_score(TREE.sample(10), TREE) == 0
    assert dependence_score(np.ones((50, 2)), Hierarchy.flat(2)) == 0


def test_bad_input():
    with pytest.raises(ValueError, match="max_rows must be a whole number of 20 or more, got 3"):
        dependence_score(TREE.sample(50), TREE, max_rows=3)
    with pytest.raises(ValueError, match="codes must have shape"):
        dependence_score(np.ones((50, 3)), Hierarchy.flat(2))
