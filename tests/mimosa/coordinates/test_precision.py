"""The grid that values come on: `precision.py`."""

import numpy as np
import pytest

from disentree.mimosa.coordinates.precision import column_precision

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("step", [1.0, 0.1, 0.25, 1 / 3, 7.3])
def test_grids_in_any_unit(step):
    x = step * RNG.integers(0, 40, 500) + 0.17
    assert column_precision(x) == pytest.approx(step, rel=1e-6)


def test_numbers_without_a_grid_have_their_rounding():
    assert column_precision(RNG.normal(size=500)) < 1e-12
    assert column_precision(np.full(10, 3.0)) < 1e-12
