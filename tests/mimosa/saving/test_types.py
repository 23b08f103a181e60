"""Fields of objects that were read from files, compared with their annotations."""

from dataclasses import dataclass

import numpy as np
import pytest
from jaxtyping import Float

from disentree.mimosa.density.chart import Chart
from disentree.mimosa.saving.types import check_fields


class Inner:
    pass


@dataclass(frozen=True)
class Part:
    at: Float[np.ndarray, " k"]  # noqa: F722
    scores: Float[np.ndarray, " k"]  # noqa: F722
    pairs: list[tuple[int, str]]
    more: dict[str, float | None]
    inner: Inner


def part(**changes):
    right = {"at": np.zeros(3), "scores": np.ones(3), "pairs": [[1, "a"]], "more": {"x": None, "y": 1}}
    made = object.__new__(Part)  # as from a file, whatever the fields are
    for name, value in (right | {"inner": Inner()} | changes).items():
        object.__setattr__(made, name, value)
    return made


def check(value):
    check_fields(value, ("at", "scores", "pairs", "more", "inner"), "part")


def test_what_is_right_passes():
    check(part())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("at", np.zeros((3, 1))),
        ("scores", np.zeros(4)),  # not as long as `at`
        ("at", np.zeros(3, dtype=int)),
        ("at", [0.0, 0.0, 0.0]),
        ("pairs", [[1, "a", 2]]),
        ("pairs", [["a", "a"]]),
        ("pairs", "text"),
        ("pairs", [[True, "a"]]),
        ("more", {"x": "y"}),
        ("more", [1]),
        ("inner", None),
    ],
)
def test_anything_else_is_named(name, value):
    with pytest.raises(TypeError, match=rf"part\.({name}|scores).* is not what it must be, but "):
        check(part(**{name: value}))


def test_parts_of_parts():
    chart = object.__new__(Chart)
    for name in ("center", "frame", "scale", "coefficients", "sigma"):
        object.__setattr__(chart, name, "no array")
    with pytest.raises(TypeError, match=r"part\.inner\.center"):
        check_fields(part(inner=chart), ["inner"], "part", {"inner": Chart})
