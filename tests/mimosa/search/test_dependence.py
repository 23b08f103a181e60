"""Dependence between columns, beyond what margins and correlations tell."""

from __future__ import annotations

import numpy as np
import pytest

from disentree.mimosa.coordinates.columns import Columns
from disentree.mimosa.search.dependence import drawn, exceeds_margins

RNG = np.random.default_rng(0)
MIXED = RNG.normal(size=(600, 3)) @ RNG.normal(size=(3, 3))
ANGLE = RNG.uniform(0, 2 * np.pi, 600)
TABLES = {
    "correlated": (MIXED, False),
    "skewed": (np.exp(MIXED), False),
    "rounded": (np.round(3 * RNG.normal(size=(600, 3))), False),
    "one column in two heaps": (
        np.column_stack([RNG.normal(size=600) + 8 * (RNG.random(600) < 0.5), MIXED]),
        False,
    ),
    "a circle": (np.column_stack([np.cos(ANGLE), np.sin(ANGLE)]) + 0.05 * RNG.normal(size=(600, 2)), True),
    "three clouds": (RNG.normal(size=(600, 2)) + 8 * np.eye(3)[RNG.integers(0, 3, 600)][:, :2], True),
}


def exceeds(X, seed=0) -> bool:
    p = X.shape[1]
    precision = np.where((np.round(X) == X).all(axis=0), 1.0, 1e-9)
    columns = Columns(np.zeros(p), np.eye(p), precision)
    return exceeds_margins(X, columns, np.random.default_rng(seed))


@pytest.mark.parametrize("name", TABLES)
def test_margins_and_correlations_are_no_structure(name):
    X, expected = TABLES[name]
    assert exceeds(X) is expected


def test_units_do_not_matter():
    X = TABLES["three clouds"][0]
    assert exceeds(X * [1e6, 1e-6])


def test_draws_have_the_margins_and_the_correlations():
    own = drawn(np.exp(MIXED), np.full(3, 1e-9), 2, np.random.default_rng(1))
    for some in own:
        np.testing.assert_array_equal(np.sort(some, axis=0), np.sort(np.exp(MIXED), axis=0))
        np.testing.assert_allclose(np.corrcoef(np.log(some).T), np.corrcoef(MIXED.T), atol=0.15)
    assert not (own[0] == own[1]).all()


@pytest.mark.parametrize("seed", range(4))
def test_the_seed_does_not_decide(seed):
    """Two plates that are dense at opposite corners: near neighbors alone do not tell them from draws."""
    rng = np.random.default_rng(5)
    plate = np.column_stack([rng.random(300), rng.random(300) ** 0.5])
    assert exceeds(np.concatenate([plate, [2.1, 1.0] - plate]), seed)
