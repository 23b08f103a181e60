"""Rare kinds: rows that the landmarks do not show."""

from __future__ import annotations

import numpy as np
import pytest

from disentree.mimosa import MIMOSA
from disentree.mimosa.density.candidate import LeafCandidate
from disentree.mimosa.density.structureless import fit_gaussian
from disentree.mimosa.finders.protocol import Rows
from disentree.mimosa.search.rare import find_rare
from disentree.rows import Blocks

FLOOR = np.full(4, 1e-9)


def one_cloud(Z):
    return LeafCandidate("gaussian", [fit_gaussian(Z, FLOOR)], np.ones(1))


def rare_in(Z, seed=0):
    seen = Z[np.random.default_rng(seed).choice(len(Z), 2000, replace=False)]
    rows = Rows(seen, FLOOR, n_jobs=1)
    everything, rng = Blocks.of(Z, step=3000), np.random.default_rng(seed)
    return find_rare(one_cloud(seen), rows, Z, everything, lambda own: one_cloud(own.Z), rng)


def cloud_and_line(seed, n=20_000, rare=100):
    """A cloud, and few rows on a line beside it."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, 4))
    Z[:rare] = [6, 6, 0, 0] + rng.uniform(-1, 1, (rare, 1)) * [0, 0, 1, 1] + 0.01 * rng.normal(size=(rare, 4))
    return Z


@pytest.mark.parametrize("seed", [0, 1])
def test_few_rows_beside_a_cloud_are_a_leaf(seed):
    Z = cloud_and_line(seed)
    found = rare_in(Z)
    assert found is not None
    assert found.candidate.dimensions == [4, 1]
    assert found.candidate.posteriors(Z).argmax(axis=1).tolist() == [1] * 100 + [0] * (len(Z) - 100)
    assert found.candidate.shares == pytest.approx([1 - 100 / len(Z), 100 / len(Z)])
    assert found.saved_bits > 5 * found.doubt > 0


def test_rows_in_another_order_or_unit_give_the_same_leaf():
    Z = cloud_and_line(2)
    again = rare_in(100 * Z[::-1])
    assert again is not None
    assert again.candidate.dimensions == [4, 1]
    assert sorted(len(Z) - 1 - again.rows) == list(range(100))


TAILS = {
    "normal": lambda rng, n: rng.normal(size=(n, 4)),
    "heavy": lambda rng, n: rng.standard_t(3, (n, 4)),
    "skewed": lambda rng, n: np.exp(rng.normal(size=(n, 4))),
    "corners": lambda rng, n: rng.random((n, 4)),
}


@pytest.mark.parametrize("kind", TAILS)
def test_tails_are_no_kinds(kind):
    for seed in range(3):
        assert rare_in(TAILS[kind](np.random.default_rng(seed), 20_000)) is None


def test_the_tree_has_the_rare_leaf_and_all_rows_are_on_it():
    rng = np.random.default_rng(0)
    X = np.column_stack([cloud_and_line(0), rng.normal(size=20_000)])
    m = MIMOSA(max_landmarks=2000, n_jobs=1).fit(X)
    rare = int(np.bincount(m.labels_).argmin())
    assert np.flatnonzero(m.labels_ == rare).tolist() == list(range(100))
    assert m.components_[rare].dimension < m.components_[1 - rare].dimension
    assert m.candidates_[0]["finder"].endswith("rare kinds")
    assert m.saved_bits_ > 0
    assert (m.predict(X[:100]) == m.labels_[:100]).all()
