"""Hierarchies by hand."""

import pytest

from disentree import Hierarchy


def continuous(*names):
    return [{"kind": "continuous", "name": name} for name in names]


def categorical(name, **options):
    return {
        "kind": "categorical",
        "name": name,
        "options": [{"name": key, "variables": value} for key, value in options.items()],
    }


def hierarchy(*variables):
    return Hierarchy.from_dict({"variables": list(variables)})


@pytest.fixture
def shapes():
    """x, y, shape = moon (phase) | star (nothing) | ship (angle, jet = no | yes (jetlen))"""
    jet = categorical("jet", no=[], yes=continuous("jetlen"))
    ship = [*continuous("angle"), jet]
    return hierarchy(*continuous("x", "y"), categorical("shape", moon=continuous("phase"), star=[], ship=ship))


@pytest.fixture
def two_choices():
    """A group with two categoricals: a = 0 (u) | 1, then z, then b = 0 | 1 | 2 (v, w)"""
    a = categorical("a", a0=continuous("u"), a1=[])
    b = categorical("b", b0=[], b1=[], b2=continuous("v", "w"))
    return hierarchy(a, *continuous("z"), b)
