"""Dendrogram purity and the accuracy of a matching."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from disentree.hierarchy import Hierarchy
from disentree.metrics import dendrogram_purity, matching_accuracy

TREE = Hierarchy.from_dict(  # leaves 0 and 1 below one branch, leaf 2 beside it
    {
        "variables": [
            {
                "kind": "categorical",
                "options": [
                    {"variables": [{"kind": "categorical", "options": [{"variables": []}, {"variables": []}]}]},
                    {"variables": []},
                ],
            }
        ]
    }
)
rows = st.lists(st.tuples(st.integers(-1, 2), st.integers(-1, 2)), min_size=1, max_size=12)


def test_a_class_on_two_leaves_of_one_branch_is_purer_than_on_two_branches():
    classes = [0, 0, 1, 1]
    assert dendrogram_purity(classes, [0, 1, 2, 2], TREE) == 1
    # class 0 on leaves 0 and 2: their smallest subtree is everything, half of it of the class
    assert dendrogram_purity(classes, [0, 2, 1, 1], TREE) == pytest.approx((0.5 + 1) / 2)


@given(rows)
def test_dendrogram_purity_against_pairs(pairs):
    classes, leaves = (list(part) for part in zip(*pairs, strict=True))
    known = [(c, p) for c, p in pairs if c >= 0 and p >= 0]
    branch = {0: "a", 1: "a", 2: "b"}
    found = []
    for (c, p), (d, q) in itertools.combinations(known, 2):
        if c != d:
            continue
        below = {p} if p == q else {0, 1} if branch[p] == branch[q] else {0, 1, 2}
        inside = [other for other, leaf in known if leaf in below]
        found.append(inside.count(c) / len(inside))
    score = dendrogram_purity(classes, leaves, TREE)
    assert score == pytest.approx(np.mean(found)) if found else math.isnan(score)


@given(rows)
def test_accuracy_against_all_matchings(pairs):
    classes, leaves = (list(part) for part in zip(*pairs, strict=True))
    known = [pair for pair in pairs if min(pair) >= 0]
    best = max(sum(order[leaf] == c for c, leaf in known) for order in itertools.permutations(range(3))) / max(
        len(known), 1
    )
    assert matching_accuracy(classes, leaves) == pytest.approx(best)


def test_leaves_and_classes_must_have_the_same_length():
    with pytest.raises(ValueError, match="classes and leaves must have the same length, got 2 and 1"):
        matching_accuracy([0, 1], [0])
