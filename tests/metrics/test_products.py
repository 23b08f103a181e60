"""Scores of hierarchies with several categoricals in a group, by hand.

Covers `h_error.py`, `r4.py`, `purity.py` and `evaluate.py`.
"""

import itertools

import numpy as np
import pytest
from hypothesis import given

from disentree import Hierarchy
from disentree import metrics as m
from strategies import hierarchies


def con(*names):
    return [{"kind": "continuous", "name": name} for name in names]


def cat(name, **options):
    groups = [{"name": option, "variables": variables} for option, variables in options.items()]
    return {"kind": "categorical", "name": name, "options": groups}


def of(*variables):
    return Hierarchy.from_dict({"variables": list(variables)})


S = cat("s", off=[], on=con("a"))
T = cat("t", off=[], on=con("b", "c"))
U = cat("u", off=[], on=con("d"))


@pytest.fixture(scope="module")
def product():
    """x, and two independent switches with one and two variables of their own."""
    h = of(*con("x"), S, T)
    return h, h.sample(4000, 0)


# ------------------------------------------------------------------ H-error


def test_canonical_form_of_a_product():
    # s, whose options start at 1 and 2 dimensions, beside t with 1 and 3
    s, t = (-1, ((1, ()), (2, ()))), (-1, ((1, ()), (3, ())))
    assert of(*con("x"), S, T).canonical() == (1, (s, t))
    assert of(*con("x"), S).canonical() == (1, s[1])  # alone in its group, a categorical needs no node


def test_any_order_is_the_same_product():
    flipped = cat("t", on=con("b", "c"), off=[])
    for variables in itertools.permutations([*con("x"), S, flipped, U]):
        assert m.h_error(of(*con("x"), S, T, U), of(*variables)) == 0
    pushed = of(cat("s", off=con("x"), on=con("x", "a")), T)
    other = of(S, cat("t", off=con("x"), on=con("x", "b", "c")))
    assert m.h_error(pushed, other) == m.h_error(of(*con("x"), S, T), pushed) == 0


def test_two_choices_are_not_a_choice_within_a_choice():
    """The nested tree has leaves of 1, 2, 1 and 2 dimensions, the product 1, 2, 2 and 3."""
    nested = of(*con("x"), cat("either", left=[S], right=[cat("v", off=[], on=con("e"))]))
    assert m.h_error(of(*con("x"), S, U), nested) == 2  # either option's group is relabeled into a factor


def test_errors_of_products_by_hand():
    truth = of(*con("x"), S, T)
    # 1[-1[1 2] -1[1 3]] to 1[1[1 3] 2[2 4]]: all but the root and the first leaf have other labels
    assert m.h_error(truth, truth.unrolled()) == m.h_error(truth.unrolled(), truth) == 5
    # one switch less: two options, and the two nodes that tell the factors apart
    assert m.h_error(truth, of(*con("x"), S)) == 4
    assert m.h_error(of(*con("x"), S, T, U), truth) == 3  # from three to two factors: one node and its options
    assert m.h_error(truth, of(*con("x"), S, cat("t", off=[], on=con("b")))) == 1
    # four leaves side by side, 1[1 2 3 4]: without the two factors, and with one 1 relabeled into a 4
    leaves = cat("c", none=[], a=con("a"), t=con("b", "c"), both=con("a", "b", "c"))
    assert m.h_error(truth, of(*con("x"), leaves)) == 4


@given(hierarchies())
def test_unrolling_keeps_paths_and_their_dimensions(h):
    tree = h.unrolled()
    assert [p.dimension for p in tree.paths] == [p.dimension for p in h.paths]
    assert all(len(path.choices) == len(h.paths[path.index].choices) for path in tree.paths)
    assert tree.unrolled() == tree
    assert m.h_error(h, tree) == m.h_error(tree, h)
    codes = h.sample(20, 0)
    np.testing.assert_array_equal(tree.path_of(h.transfer(codes, tree)), h.path_of(codes))
    assert tree.description_length(h.transfer(codes, tree)) == pytest.approx(h.description_length(codes))


# ------------------------------------------------------------------ R4c, R4, purity, bits


def test_perfect_codes_of_a_product_score_one(product, reordered):
    h, V = product
    other, Z = reordered(h, V, 1)
    scores = m.evaluate(V, Z, h, other, metrics=["r4c", "r4", "h_error", "purity", "coverage"])["scores"]
    assert scores.pop("h_error") == 0
    assert min(scores.values()) > 0.999


def test_a_product_and_its_tree_explain_each_other(product):
    h, V = product
    tree = h.unrolled()
    Z = h.transfer(V, tree)
    ahead = m.r4c_score(V, Z, h, tree, per_factor=True)
    assert ahead.mean > 0.999
    assert m.r4c_score(Z, V, tree, h) > 0.999
    t = ahead.factors[3]
    assert t.factor == "t"
    assert sorted(match.where for match in t.matches) == ["s=off", "s=on"]
    assert sum(match.n_rows for match in t.matches) == len(V)
    assert m.purity_score(h.path_of(V), tree.path_of(Z)) == 1


def test_a_variable_of_a_product_has_one_meaning_in_all_cells(product):
    """Below one switch a code may mean something else in each option, beside it it may not."""
    h, V = product
    on = V[:, 1] == 1
    assert h.variables[2].name == "a"
    assert h.variables[3].name == "t"
    turned = V.copy()
    turned[on, 3] = 1 - V[on, 3]  # t, the other way round where s is on
    turned[:, 4:] = np.where(turned[:, [3]] == 1, h.sample(len(V), 1)[:, [0, 0]], np.nan)
    scores = {f.factor: f.score for f in m.r4c_score(V, turned, h, h, per_factor=True).factors}
    assert scores["t"] == pytest.approx(0.5, abs=0.04)
    assert scores["s"] > 0.999
    tree = h.unrolled()
    mirrored = h.transfer(turned, tree)
    assert {f.factor: f.score for f in m.r4c_score(V, mirrored, h, tree, per_factor=True).factors}["t"] > 0.999

    signed = V.copy()
    signed[:, 2] = np.where(V[:, 3] == 1, 1 - V[:, 2], V[:, 2])  # a is mirrored where t is on
    mirrored = m.r4c_score(V, signed, h, h, per_factor=True)
    assert mirrored.factors[2].score < 0.1
    assert mirrored.factors[1].score > 0.999


def test_leaves_side_by_side_do_not_show_a_switch(product):
    """From a switch one of its two leaves is guessed right half of the time, from the leaf the switch always."""
    h, V = product
    flat = Hierarchy.flat(0, (4,))
    Z = h.path_of(V)[:, None].astype(float)
    scores = {f.factor: f.score for f in m.r4c_score(V, Z, h, flat, per_factor=True).factors}
    assert scores["s"] == pytest.approx(np.sqrt(0.5), abs=0.04)
    assert m.purity_score(h.path_of(V), flat.path_of(Z)) == 1


def test_cells_without_rows_are_no_obstacle(product):
    h, V = product
    V = V[h.path_of(V) != 3]  # never both
    assert m.r4c_score(V, V, h, h) > 0.999
    assert m.coverage_score(h.path_of(V)) == 1


def test_bits_of_a_product_by_hand(product):
    h = product[0]
    nan = np.nan
    rows = [[0.5, 0, nan, 0, nan, nan], [0.5, 1, 0.1, 1, 0.2, 0.3]]  # 1 and 4 floats, two bits of choices each
    assert h.description_length(rows) == (32 * (1 + 4) + 2 * 2) / 2
