"""Objects as JSON with arrays beside it, and back."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from disentree.mimosa.saving.state import from_state, to_state


@dataclass(frozen=True)
class Part:
    name: str
    value: Any


def there_and_back(value):
    arrays = {}
    return from_state(to_state(value, arrays, "x"), arrays, {"Part": Part})


def test_what_goes_in_comes_out():
    value = Part("a", [Part("b", np.arange(3)), {"c": np.inf, "d": None, "e": np.float64(2.5)}, True])
    back = there_and_back(value)
    assert back.name == "a"
    np.testing.assert_array_equal(back.value[0].value, np.arange(3))
    assert back.value[1] == {"c": np.inf, "d": None, "e": 2.5}
    assert back.value[2] is True


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_order_in_memory_is_kept(order):
    back = there_and_back(np.asarray(np.arange(6.0).reshape(2, 3), order=order))
    assert back.flags["F_CONTIGUOUS" if order == "F" else "C_CONTIGUOUS"]
    assert back.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_arrays_without_axes_keep_their_shape():
    assert there_and_back(np.array(3.0)).shape == ()


def test_other_classes_are_neither_written_nor_made():
    with pytest.raises(TypeError, match="a set cannot be saved"):
        there_and_back({1, 2})
    with pytest.raises(KeyError, match="Path"):
        from_state({"class": "Path", "fields": {}}, {}, {"Part": Part})
