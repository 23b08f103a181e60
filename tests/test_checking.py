"""What conftest.py makes of jaxtyping: shapes are checked at the first calls in a test, and now and then later."""

import numpy as np
import pytest
from jaxtyping import TypeCheckError

from disentree.geometry.neighbors import thinned
from disentree.geometry.subspaces import Tangents


@pytest.mark.parametrize("again", [1, 2])
def test_arrays_of_another_shape_are_noticed_at_first(again):
    with pytest.raises(TypeCheckError):
        thinned(np.zeros((2, 2), dtype=int))
    for _ in range(1000):
        thinned(np.arange(3))


def test_and_later():
    for _ in range(1000):
        thinned(np.arange(3))
    noticed = 0
    for _ in range(1000):
        try:
            thinned(np.zeros((2, 2), dtype=int))
        except TypeCheckError:
            noticed += 1
    assert noticed > 0


def test_fields_of_dataclasses_are_checked():
    with pytest.raises(TypeCheckError):
        Tangents(np.zeros(3, dtype=int), np.zeros((2, 1, 1)))
