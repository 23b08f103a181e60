"""Equivalent hierarchies: the canonical form, merging up, pushing down."""

import json
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from disentree import Hierarchy
from disentree.datasets import dataset_info
from strategies import coded, hierarchies, shuffled, trees

from .conftest import categorical, continuous, hierarchy

NAN = np.nan


def test_canonical_form_by_hand(shapes):
    # leaves of 3, 2, 3 and 4 dimensions; a group has the label of its least leaf
    assert shapes.canonical() == (2, ((2, ()), (3, ()), (3, ((3, ()), (4, ())))))


def test_canonical_breaks_ties_by_shape():
    """Two children with the same labels below them but different trees: their order must not show."""
    chain = [categorical("p", a=[categorical("q", b=[])], c=[])]
    bush = [categorical("p", a=[], b=[], c=[])]
    one = hierarchy(categorical("top", left=chain, right=bush))
    other = hierarchy(categorical("top", left=bush, right=chain))
    assert one.canonical() == other.canonical()
    assert one != other


def test_merging_up_and_pushing_down_by_hand():
    h = hierarchy(*continuous("x"), categorical("c", a=continuous("u"), b=continuous("v", "w")))
    up, down = h.merged_up(), h.pushed_down()
    assert up == hierarchy(*continuous("x", "u/v"), categorical("c", a=[], b=continuous("w")))
    assert [v.name for v in up.variables] == ["x", "u/v", "c", "w"]
    assert down == hierarchy(categorical("c", a=continuous("x", "u"), b=continuous("x", "v", "w")))
    codes = [[0.1, 0, 0.2, NAN, NAN], [0.3, 1, NAN, 0.4, 0.5]]
    np.testing.assert_array_equal(h.transfer(codes, up), [[0.1, 0.2, 0, NAN], [0.3, 0.4, 1, 0.5]])
    np.testing.assert_array_equal(
        h.transfer(codes, down), [[0, 0.1, 0.2, NAN, NAN, NAN], [1, NAN, NAN, 0.3, 0.4, 0.5]]
    )
    with pytest.raises(ValueError, match="same paths"):
        h.transfer(codes, Hierarchy.flat(3))


@given(trees(), st.randoms(use_true_random=False))
def test_canonical_does_not_depend_on_order(tree, rng):
    assert Hierarchy.from_dict(shuffled(tree, rng)).canonical() == Hierarchy.from_dict(tree).canonical()


@given(hierarchies())
def test_canonical_is_the_same_for_equivalent_hierarchies(h):
    up, down = h.merged_up(), h.pushed_down()
    assert up.canonical() == h.canonical()
    assert down.canonical() == h.canonical()
    assert up.merged_up() == up
    assert down.pushed_down() == down
    assert [p.dimension for p in up.paths] == [p.dimension for p in h.paths]
    assert [p.dimension for p in down.paths] == [p.dimension for p in h.paths]


@given(coded())
def test_codes_transfer_to_equivalent_hierarchies_and_back(made):
    h, codes = made
    for other in (h.merged_up(), h.pushed_down()):
        moved = other.validate(h.transfer(codes, other))
        np.testing.assert_array_equal(other.path_of(moved), h.path_of(codes))
        np.testing.assert_array_equal(other.transfer(moved, h), codes)


def test_shuffled_is_only_a_reordering():
    tree = dataset_info("spaceshapes").hierarchy.to_dict()
    assert sorted(json.dumps(shuffled(tree, random.Random(3)))) == sorted(json.dumps(tree))
