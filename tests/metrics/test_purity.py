"""Purity and coverage."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from disentree.metrics import coverage_score, purity_score

labels = st.lists(st.tuples(st.integers(-1, 4), st.integers(-1, 4)), min_size=1, max_size=40)


def test_known_answers():
    assert purity_score([0, 0, 1, 1], [5, 5, 2, 2]) == 1
    assert purity_score([0, 0, 1, 1], [0, 1, 2, 3]) == 1  # splitting a leaf is not impure
    assert purity_score([0, 0, 1, 1], [0, 0, 0, 0]) == 0.5
    assert purity_score([0, 0, 0, 1, 1, 2], [1, 1, 1, 1, 0, -1]) == pytest.approx(4 / 5)
    assert coverage_score([0, -1, 3, -1]) == 0.5


def test_leaves_are_weighted_by_size():
    true = [0] * 90 + [1] * 5 + [2] * 5
    found = [0] * 90 + [1] * 10
    assert purity_score(true, found) == pytest.approx(0.95)


def test_nothing_assigned():
    assert purity_score([0, 1], [-1, -1]) == 0
    assert coverage_score([-1, -1]) == 0


def test_unknown_truth_does_not_count():
    assert purity_score([-1, -1, 0], [0, 0, 0]) == 1


@given(labels)
def test_against_counting(pairs):
    true, found = map(np.array, zip(*pairs, strict=True))
    counted = [(t, f) for t, f in pairs if t >= 0 and f >= 0]
    majority = sum(max(sum(p == (t, leaf) for p in counted) for t in range(5)) for leaf in {f for _, f in counted})
    assert purity_score(true, found) == pytest.approx(majority / len(counted) if counted else 0)
    assert 0 <= purity_score(true, found) <= 1
    assert coverage_score(found) == np.mean([f >= 0 for _, f in pairs])


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: purity_score([0, 1], [0]), "true_paths and labels"),
        (lambda: purity_score([0.5, 1], [0, 1]), "true_paths"),
        (lambda: purity_score([0, 1], [0, np.nan]), "labels"),
        (lambda: purity_score([0, 1], [0, -2]), "labels"),
        (lambda: purity_score([[0, 1]], [[0, 1]]), "true_paths"),
        (lambda: coverage_score([]), "labels"),
        (lambda: coverage_score(["a"]), "labels"),
    ],
)
def test_bad_input_names_the_argument(call, argument):
    with pytest.raises(ValueError, match=f"^{argument} must"):
        call()
