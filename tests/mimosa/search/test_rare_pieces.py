"""Rare kinds that are found in pieces."""

from __future__ import annotations

import numpy as np
import pytest

from disentree.mimosa.density.candidate import LeafCandidate
from disentree.mimosa.density.structureless import fit_gaussian, fit_ppca
from disentree.mimosa.finders.protocol import Rows
from disentree.mimosa.search.rare_pieces import Odd, with_kinds

FLOOR = np.full(6, 1e-9)


def odd(Z, inside):
    """Rows that take 60 bits as what they are known as."""
    return Odd(Rows(Z, FLOOR, n_jobs=1), np.arange(len(Z)), np.full(len(Z), 60.0), 100 * len(Z), inside)


def one(rows):
    return LeafCandidate("ppca", [fit_ppca(rows.Z, FLOOR)], np.ones(1))


def line(rng, n, at=0.0):
    return at + rng.uniform(-2, 2, (n, 1)) * [1, 1, 0, 0, 0, 0] + 0.01 * rng.normal(size=(n, 6))


def test_two_pieces_of_a_line_are_one_leaf_with_all_its_rows():
    rng = np.random.default_rng(0)
    Z = np.concatenate([line(rng, 200), 9 * rng.normal(size=(300, 6))])
    along = Z[:200, 0]
    pieces = [np.flatnonzero(along < -1), np.flatnonzero(along > 0.5)]
    (kind,) = odd(Z, one).settled(pieces)
    assert kind.own.tolist() == list(range(200))
    assert kind.leaves.dimensions == [1]


@pytest.mark.parametrize(("gap", "n_leaves"), [(0.0, 1), (0.8, 3)])
def test_a_line_that_the_search_cuts_is_one_leaf_unless_there_are_gaps(gap, n_leaves):
    rng = np.random.default_rng(3)
    Z = line(rng, 600)
    along = np.searchsorted([-0.5, 0.5], Z[:, 0])
    Z[:, :2] += gap * (along - 1)[:, None]

    def cut(rows):
        along = np.searchsorted([-0.5 - gap / 2, 0.5 + gap / 2], rows.Z[:, 0])
        own = [fit_ppca(rows.Z[along == k], FLOOR) for k in np.unique(along)]
        return LeafCandidate("cut", own, np.ones(len(own)) / len(own))

    (kind,) = odd(Z, cut).settled([np.arange(600)])
    assert len(kind.own) == 600
    assert kind.leaves.dimensions == [1] * n_leaves


def test_two_lines_stay_two():
    rng = np.random.default_rng(1)
    Z = np.concatenate([line(rng, 100), line(rng, 100, at=5.0)])

    def by_side(rows):
        return (
            one(rows)
            if np.ptp(rows.Z[:, 3]) < 3
            else LeafCandidate("two", [fit_gaussian(rows.Z, FLOOR)] * 2, np.ones(2) / 2)
        )

    kinds = odd(Z, by_side).settled([np.arange(100), np.arange(100, 200)])
    assert [kind.own.tolist() for kind in kinds] == [list(range(100)), list(range(100, 200))]


def test_a_piece_that_is_described_as_well_without_is_no_kind():
    Z = 9 * np.random.default_rng(2).normal(size=(200, 6))
    easy = Odd(Rows(Z, FLOOR, n_jobs=1), np.arange(200), np.zeros(200), 200, one)
    assert easy.settled([np.arange(50)]) == []


def test_shares_are_those_of_the_rows():
    rng = np.random.default_rng(3)
    Z = line(rng, 100)
    kinds = odd(Z, one).settled([np.arange(100)])
    all_rows = with_kinds(one(Rows(rng.normal(size=(50, 6)), FLOOR)), kinds, 10_000)
    assert all_rows.shares == pytest.approx([0.99, 0.01])
