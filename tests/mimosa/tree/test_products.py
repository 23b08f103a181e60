"""Products: which switches are beside, below or instead of each other, and what that saves."""

from __future__ import annotations

import numpy as np
import pytest

from disentree import MIMOSA, Hierarchy
from disentree.datasets import load_dataset
from disentree.metrics import h_error, purity_score
from disentree.mimosa.density.candidate import Choice
from disentree.mimosa.tree.products import (
    are_independent,
    arrange,
    cells_of,
    direct_parents,
    expected_shares,
    factored_leaves,
    hierarchy_of,
    is_product,
    saved_by_product,
)


def independent(n: int = 4000, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random((n, 3)) < (0.5, 0.3, 0.6)


def test_independent_switches_are_beside_each_other():
    choices = arrange(independent())
    assert [c.switches for c in choices] == [[-1, 0], [-1, 1], [-1, 2]]
    assert is_product(choices)


def test_a_switch_that_needs_another_is_below_it():
    on = independent()
    on[:, 1] &= on[:, 0]
    choices = arrange(on)
    assert [c.switches for c in choices] == [[-1, 0], [-1, 2]]
    assert [c.switches for c in choices[0].below[1]] == [[-1, 1]]


def test_a_chain_is_no_product():
    on = independent()
    on[:, 1] &= on[:, 0]
    on[:, 2] &= on[:, 1]
    choices = arrange(on)
    assert [choice.n_paths for choice in choices] == [4]
    assert not is_product(choices)


def test_switches_that_are_never_on_together_are_one_choice():
    on = independent()
    on[:, 1] &= ~on[:, 0]
    assert [c.switches for c in arrange(on)] == [[-1, 0, 1], [-1, 2]]


def test_a_fork_beside_a_switch_is_a_tree():
    on = independent()
    on[:, 1] = ~on[:, 0]  # one of them always
    choices = arrange(on)
    assert [c.switches for c in choices] == [[0, 1], [-1, 2]]
    assert not is_product(choices)


def test_a_few_errors_do_not_change_the_arrangement():
    on = independent()
    on[:, 1] &= on[:, 0]
    on[:20, 1] = True
    assert [c.switches for c in arrange(on)] == [[-1, 0], [-1, 2]]


def test_the_hierarchy_has_a_path_for_every_combination():
    hierarchy, on = hierarchy_of([Choice([-1, 0], [[], []]), Choice([-1, 1], [[], []])], 1, [1, 2])
    by_hand = Hierarchy.from_dict(
        {
            "variables": [
                {"kind": "continuous"},
                {"kind": "categorical", "options": [{"variables": []}, {"variables": [{"kind": "continuous"}]}]},
                {
                    "kind": "categorical",
                    "options": [{"variables": []}, {"variables": [{"kind": "continuous"}] * 2}],
                },
            ]
        }
    )
    assert hierarchy == by_hand
    assert on.tolist() == [[False, False], [False, True], [True, False], [True, True]]
    assert [path.dimension for path in hierarchy.paths] == [1, 3, 2, 4]
    assert direct_parents(hierarchy) == [(), (0,), (0,), (1, 2)]


def test_rows_get_the_path_of_their_switches():
    _, paths = hierarchy_of(arrange(independent()), 1, [1, 1, 1])
    on = np.array([[True, False, True], [False, False, False]])
    cells = cells_of(on, paths)
    assert (paths[cells] == on).all()
    assert cells_of(np.array([[True, True]]), np.array([[False, False], [True, False]])).tolist() == [-1]


def test_shares_of_independent_choices_are_products():
    on = np.array([[0, 0]] * 9 + [[0, 1]] * 3 + [[1, 0]] * 3 + [[1, 1]], bool).repeat(200, axis=0)
    choices = arrange(on)
    _, paths = hierarchy_of(choices, 0, [1, 1])
    shares = expected_shares(choices, on, paths)
    assert shares == pytest.approx(np.where(paths, 0.25, 0.75).prod(axis=1), abs=1e-3)


def test_a_product_saves_the_variables_that_a_tree_repeats():
    on = independent(8000)
    choices = arrange(on)
    sizes = [1, 1, 1]
    _, paths = hierarchy_of(choices, 1, sizes)
    # The tree has 1 + 3 * 1 + 3 * 1 + 1 variables, the product 4; every variable of 5 coordinates is 6 numbers.
    variables = (8 - 4) * 6 * 0.5 * np.log2(8000)
    shares = (7 - 3) * 0.5 * np.log2(8000)
    assert saved_by_product(choices, on, paths, 1, sizes, 5) == pytest.approx(variables + shares, abs=20)


def test_a_tree_is_not_described_better_by_combinations_that_do_not_occur():
    on = independent(8000)
    on[:, 1] &= on[:, 0]
    beside = [Choice([-1, 0], [[], []]), Choice([-1, 1], [[], []])]
    _, paths = hierarchy_of(beside, 1, [1, 1])
    assert saved_by_product(beside, on[:, :2], paths, 1, [1, 1], 4) < 0


@pytest.mark.parametrize(
    ("name", "options"), [("product-2", {}), ("product-3", {"noise": 0.01}), ("product-3", {"missing": True})]
)
def test_mimosa_finds_products(name, options):
    ds = load_dataset(name, n_samples=2000, seed=1, **options)
    m = MIMOSA(random_state=0).fit(ds.X)
    assert ds.hierarchy is not None
    assert ds.paths is not None
    assert h_error(m.hierarchy_, ds.hierarchy) == 0
    assert purity_score(ds.paths, m.labels_) > (0.999 if not options.get("noise") else 0.93)
    assert m.candidates_[0]["finder"] == "switches"
    assert [len(factor["options"]) for factor in m.factors_] == [2] * int(name[-1])
    assert sorted(factor["variables"] for factor in m.factors_)[0] == [0, 1]
    assert (m.predict(ds.X[:100]) == m.labels_[:100]).all()


def test_a_product_is_found_whatever_the_rotation_and_scale():
    ds = load_dataset("product-2", n_samples=3000, seed=2)
    rotation = np.linalg.qr(np.random.default_rng(0).standard_normal((10, 10)))[0]
    first = MIMOSA(random_state=0).fit(ds.X)
    second = MIMOSA(random_state=0).fit(100 * ds.X @ rotation + 5)
    assert first.hierarchy_ == second.hierarchy_
    assert purity_score(first.labels_, second.labels_) > 0.999


def test_forks_of_forks_stay_a_tree():
    ds = load_dataset("chopsticks-depth2-either", n_samples=3000, seed=1)
    assert ds.hierarchy is not None
    m = MIMOSA(random_state=0).fit(ds.X)
    assert h_error(m.hierarchy_, ds.hierarchy) == 0
    assert m.factors_ == []


def test_a_saved_product_predicts_the_same(tmp_path):
    ds = load_dataset("product-2", n_samples=2000, seed=0)
    m = MIMOSA(random_state=0).fit(ds.X)
    m.save(tmp_path)
    loaded = MIMOSA.load(tmp_path)
    assert loaded.hierarchy_ == m.hierarchy_
    assert (loaded.predict_proba(ds.X) == m.predict_proba(ds.X)).all()


def enclosing(*pairs: tuple[int, int], n: int) -> np.ndarray:
    out = np.zeros((n, n), bool)
    for low, high in pairs:
        out[low, high] = True
    return out


def test_leaves_that_enclose_each_other_as_combinations_do_are_a_product():
    labels = np.repeat(np.arange(4), [300, 300, 200, 200])
    encloses = enclosing((0, 1), (0, 2), (0, 3), (1, 3), (2, 3), n=4)
    found = factored_leaves([1, 2, 3, 4], encloses, labels, 5)
    assert found is not None
    hierarchy, leaf_of = found
    assert [path.dimension for path in hierarchy.paths] == [1, 3, 2, 4]
    assert leaf_of.tolist() == [0, 2, 1, 3]
    # A dimension more than the switches account for, a leaf that encloses only one of the others: no product.
    assert factored_leaves([1, 2, 3, 5], encloses, labels, 6) is None
    assert factored_leaves([1, 2, 3, 3], enclosing((0, 1), (0, 2), (0, 3), (1, 3), n=4), labels, 5) is None


def test_a_combination_may_be_missing_among_leaves():
    of_leaf = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [0, 1, 1], [1, 1, 1]]  # without 1 1 0
    on = np.array(of_leaf, bool)
    encloses = np.array(
        [[low != high and not (on[low] & ~on[high]).any() for high in range(7)] for low in range(7)]
    )
    found = factored_leaves((1 + on.sum(axis=1)).tolist(), encloses, np.repeat(np.arange(7), 200), 5)
    assert found is not None
    hierarchy, leaf_of = found
    assert len(hierarchy.paths) == 8
    assert (leaf_of == -1).sum() == 1


def test_curved_leaves_are_factored():
    ds = load_dataset("product-2-curved", n_samples=2500, seed=0)
    m = MIMOSA(random_state=0).fit(ds.X)
    assert ds.hierarchy is not None
    assert h_error(m.hierarchy_, ds.hierarchy) == 0


def test_choices_that_tell_each_other_are_not_independent():
    on = independent()
    assert are_independent(arrange(on), on)
    beside = [Choice([-1, i], [[], []]) for i in range(3)]
    on[:, 1] = np.where(np.random.default_rng(1).random(len(on)) < 0.2, on[:, 1], on[:, 0])
    assert not are_independent(beside, on)
