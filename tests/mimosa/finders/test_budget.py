"""Budgets: what is counted, that a spent one ends a search early and says so, and that a large one changes
nothing (`finders/atlas`, `search/search.py`)."""

from dataclasses import replace

import numpy as np

from disentree import MIMOSA
from disentree.mimosa.finders.atlas import finder as atlas
from disentree.mimosa.finders.budget import Budget, unbounded
from disentree.mimosa.search import search


def curves(n=600, seed=0):
    """Two circles apart from each other, in three columns, with a little noise."""
    rng = np.random.default_rng(seed)
    angle, side = rng.uniform(0, 2 * np.pi, n), rng.random(n) < 0.5
    X = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(n)])
    X[side] = X[side][:, [0, 2, 1]] + [4.0, 0, 0]
    return X + 0.01 * rng.standard_normal(X.shape), side


def found_with(budget):
    X, _ = curves()
    return atlas.find(X, np.full(3, 1e-9), np.random.default_rng(0), budget)


def test_what_is_left_out_is_said_once():
    budget = Budget(10)
    budget.spend(9)
    assert not budget.is_over("more")
    budget.spend(1)
    assert budget.is_over("more")
    assert budget.is_over("more")
    assert budget.is_over("all")
    assert budget.left_out == ["more", "all"]
    assert not unbounded().is_over("more")


def test_a_budget_that_is_not_spent_changes_nothing():
    large = Budget(1e9)
    free, bounded = found_with(None), found_with(large)
    np.testing.assert_array_equal(free.log_density(curves()[0]), bounded.log_density(curves()[0]))
    assert not large.left_out
    assert large.spent > 100


def test_a_spent_budget_ends_the_search():
    whole = Budget(1e9)
    found_with(whole)
    budget = Budget(0.1 * whole.spent)
    found_with(budget)
    assert budget.most <= budget.spent < whole.spent  # what was begun is ended
    assert budget.left_out


def test_no_budget_no_proposal():
    assert found_with(Budget(0)) is None


def test_a_fit_says_what_was_not_looked_at(monkeypatch):
    X, _ = curves()
    free = MIMOSA(random_state=0, n_jobs=1).fit(X)
    assert {row["left_out"] for row in free.candidates_} == {""}
    assert len(free.components_) == 2
    monkeypatch.setattr(search, "FINDERS", replace(search.FINDERS, work=150))
    bounded = MIMOSA(random_state=0, n_jobs=1).fit(X)
    assert "all of some rows (atlas)" in bounded.candidates_[0]["left_out"]
    again = MIMOSA(random_state=0, n_jobs=1).fit(X)
    np.testing.assert_array_equal(bounded.labels_, again.labels_)
