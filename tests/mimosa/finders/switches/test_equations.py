"""Equations that hold in a part of the rows (`equations.py`, `hyperplanes.py`)."""

from __future__ import annotations

import numpy as np
import pytest

from disentree.mimosa.finders.switches.equations import find_equations
from disentree.mimosa.finders.switches.hyperplanes import hyperplanes


def rows_with_two_switches(n: int = 3000, noise: float = 0.0, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    on = rng.random((n, 2)) < 0.5
    U = rng.uniform(-1.7, 1.7, (n, 4))
    U[:, 1] *= on[:, 0]
    U[:, 2:] *= on[:, 1:]
    return U + noise * rng.standard_normal(U.shape), on


def test_hyperplanes_hold_the_rows_in_which_something_is_zero():
    Y, _ = rows_with_two_switches()
    planes, scatters = hyperplanes(Y, np.random.default_rng(0), 100)
    normal = np.abs(planes[0, :4])
    assert normal[[1]].sum() > 0.99 or np.linalg.norm(normal[2:]) > 0.99
    assert scatters[0] < 0.01
    assert abs(planes[0, 4]) < 1e-3


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_equations_of_switches(noise):
    Y, on = rows_with_two_switches(noise=noise)
    found = find_equations(Y, np.random.default_rng(0))
    assert sorted(e.size for e in found) == [1, 2]
    for e in found:
        truth = ~on[:, e.size - 1]
        assert np.mean(e.holds(Y) == truth) > 0.97
        assert e.share == pytest.approx(truth.mean(), abs=0.03)
        inside = e(Y[truth])
        if noise:
            assert inside.std() == pytest.approx(1, abs=0.2)


def test_an_equation_is_found_at_any_place_and_slope():
    Y, on = rows_with_two_switches()
    mixed = Y @ np.random.default_rng(3).standard_normal((4, 4)) + 7
    mixed = np.linalg.svd(mixed - mixed.mean(axis=0), full_matrices=False)[0] * np.sqrt(len(mixed))
    found = find_equations(mixed, np.random.default_rng(0))
    assert sorted(e.size for e in found) == [1, 2]
    assert all(np.mean(e.holds(mixed) == ~on[:, e.size - 1]) > 0.999 for e in found)


def test_an_equation_of_few_rows_is_found_among_the_rows_of_others():
    rng = np.random.default_rng(0)
    on = rng.random((4000, 3)) < (0.5, 0.6, 0.9)
    Y = rng.uniform(-1.7, 1.7, (4000, 6))
    Y[:, 1:5] *= on[:, [0, 1, 1, 2]]
    found = find_equations(Y @ np.linalg.qr(rng.standard_normal((6, 6)))[0], np.random.default_rng(0))
    assert [e.size for e in found] == [1, 2, 1]
    assert found[-1].share == pytest.approx(0.1, abs=0.01)


@pytest.mark.parametrize("kind", ["gaussian", "cube", "heavy", "peaked", "skewed"])
def test_no_equations_where_nothing_is_fixed(kind):
    rng = np.random.default_rng(5)
    Y = {
        "gaussian": rng.standard_normal((2000, 4)),
        "cube": rng.uniform(-1, 1, (2000, 4)),
        "heavy": rng.standard_t(2, (2000, 4)),
        "peaked": rng.laplace(size=(2000, 4)) * rng.gamma(0.3, size=(2000, 4)),
        "skewed": np.exp(rng.standard_normal((2000, 4))),
    }[kind]
    assert find_equations((Y - Y.mean(axis=0)) / Y.std(axis=0), np.random.default_rng(0)) == []
