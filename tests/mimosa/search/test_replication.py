"""What parts of the rows bring back, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from disentree.mimosa.density.candidate import LeafCandidate
from disentree.mimosa.density.structureless import Gaussian
from disentree.mimosa.search.replication import (
    brought_back,
    coarsened,
    told,
    told_again,
)
from disentree.mimosa.tree.parts import brought_overlap, found_again, parts_of, shared_rows


def groups_of(labels, others, k):
    return coarsened([shared_rows(labels, other, k) for other in others], k)


@pytest.mark.parametrize(("n", "count", "share"), [(300, 5, 0.8), (999, 5, 0.8), (1200, 3, 2 / 3), (5000, 2, 0.5)])
def test_fewer_rows_are_divided_in_larger_parts(n, count, share):
    parts = parts_of(n, np.random.default_rng(0))
    assert len(parts) == count
    assert all(len(part) == pytest.approx(share * n, abs=1) for part in parts)
    assert len(np.unique(np.concatenate(parts))) == n


def test_overlap_with_what_a_part_says():
    labels = np.repeat([0, 1, 2], 10)
    other = np.repeat([0, 1, 2, 2], [10, 8, 2, 10])  # two rows of the second leaf are with the third
    overlap, mixed = found_again(shared_rows(labels, other, 3))
    assert overlap.tolist() == pytest.approx([1.0, 0.8, 10 / 12])
    assert mixed[1] == 2
    assert mixed[2] == 1


def test_a_leaf_that_a_part_divides_is_found_again():
    labels = np.repeat([0, 1], 10)
    assert found_again(shared_rows(labels, np.repeat([0, 1, 2], [10, 5, 5]), 2))[0].tolist() == [1.0, 1.0]


def test_slices_are_joined_and_kinds_are_not():
    # one kind, and another that was cut in three at random places in each part
    n = 300
    kind, place = np.arange(n) < 100, np.linspace(0, 1, n)
    cut = np.where(kind, 0, 1 + np.digitize(place, [0.55, 0.75]))
    others = [np.where(kind, 0, 1 + np.digitize(place, at)) for at in ([0.45, 0.9], [0.66, 0.85])]
    assert groups_of(cut, others, 4).tolist() == [0, 1, 1, 1]


def test_one_of_several_folds_may_be_unlucky():
    labels, nothing = np.repeat([0, 1], 10), np.zeros(20, int)
    assert groups_of(labels, [labels, nothing], 2).tolist() == [0, 0]
    assert groups_of(labels, [labels, labels, nothing], 2).tolist() == [0, 1]
    assert brought_overlap([shared_rows(labels, other, 2) for other in (labels, nothing)]).min() == 0


def test_the_order_of_leaves_does_not_matter():
    rng = np.random.default_rng(0)
    labels, others = rng.integers(0, 4, 200), [rng.integers(0, 3, 200) for _ in range(2)]
    swap = np.array([2, 0, 3, 1])
    a = groups_of(labels, others, 4)[labels]
    b = groups_of(swap[labels], others, 4)[swap[labels]]
    assert told(a) == pytest.approx(told(b))


def test_bits_told_by_hand():
    assert told(np.zeros(8, int)) == 0
    assert told(np.repeat([0, 1], 4)) == 1
    assert told(np.array([0, 0, 1, 2])) == 1.5


def test_bits_that_parts_tell_too_by_hand():
    halves = np.array([[4, 0], [0, 4]])
    assert told_again([halves]) == 1
    assert told_again([np.array([[4], [4]])]) == -1  # one bit that the part does not tell
    assert told_again([np.array([[4, 0, 0], [0, 2, 2]])]) == 0.5  # and half of one that only the part tells
    assert told_again([halves, np.array([[4], [4]]), halves]) == 1  # of several, one may be unlucky
    assert told_again([halves, np.array([[4], [4]])]) == -1
    assert told_again([halves[:, ::-1]]) == told_again([halves[::-1]]) == 1


def gaussians(centers) -> LeafCandidate:
    leaves = [Gaussian(np.array([float(c)]), np.array([[1.0]]), 1) for c in centers]
    return LeafCandidate("some", leaves, np.full(len(centers), 1 / len(centers)))


def test_leaves_of_a_candidate_come_back_or_are_joined():
    Z = np.repeat([0.0, 20.0, 26.0], 50)[:, None] + np.random.default_rng(0).normal(size=(150, 1))
    three, two, one = gaussians([0, 20, 26]), gaussians([0, 23]), gaussians([10])
    whole = brought_back(three, [three, three], 2, Z)
    assert whole is not None
    assert whole[0] is three
    some = brought_back(three, [three, two], 2, Z)
    assert some is not None
    joined = some[0]
    assert np.bincount(joined.posteriors(Z).argmax(axis=1)).tolist() == [50, 100]
    np.testing.assert_allclose(joined.log_density(Z), three.log_density(Z))  # the density is the same
    assert brought_back(three, [three, one], 2, Z) is None
    assert brought_back(three, [three], 2, Z) is None  # nothing was proposed in the other part
