"""Codes whose scores are known, and the ways of writing the same codes differently."""

from __future__ import annotations

import random

import numpy as np
import pytest

from disentree import Hierarchy
from disentree.datasets import load_dataset
from strategies import shuffled


def _reordered(hierarchy: Hierarchy, codes: np.ndarray, seed: int = 0) -> tuple[Hierarchy, np.ndarray]:
    """The same codes with variables and options in another order. Names must be unique."""
    other = Hierarchy.from_dict(shuffled(hierarchy.to_dict(), random.Random(seed)))
    old = {v.name: v for v in hierarchy.variables}
    out = np.empty_like(codes)
    for new in other.variables:
        values = codes[:, old[new.name].index]
        if new.kind == "categorical":
            moved = np.array([new.options.index(option) for option in old[new.name].options], dtype=float)
            on = ~np.isnan(values)
            values = values.copy()
            values[on] = moved[values[on].astype(int)]
        out[:, new.index] = values
    return other, out


@pytest.fixture(scope="session")
def reordered():
    return _reordered


@pytest.fixture(scope="session")
def sticks():
    return load_dataset("chopsticks-depth2-either", n_samples=3000, seed=0)


@pytest.fixture(scope="session")
def mixed():
    """Flat: three continuous variables, one of two options and one of three."""
    hierarchy = Hierarchy.flat(3, (2, 3))
    return hierarchy, hierarchy.sample(2000, 0)
