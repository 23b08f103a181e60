"""The columns and paths of hierarchies; covers `hierarchy.py`, `columns.py` and `tree.py`."""

import json

import numpy as np
import pytest
from hypothesis import given

from disentree import Hierarchy
from strategies import hierarchies

from .conftest import categorical, continuous, hierarchy

NAN = np.nan


def test_columns_follow_the_tree(shapes):
    assert [v.name for v in shapes.variables] == ["x", "y", "shape", "phase", "angle", "jet", "jetlen"]
    assert [v.index for v in shapes.variables] == list(range(7))
    assert [v.parent for v in shapes.variables] == [None, None, None, 2, 2, 2, 5]
    assert [v.option for v in shapes.variables] == [None, None, None, 0, 2, 2, 1]
    assert [v.depth for v in shapes.variables] == [0, 0, 0, 1, 1, 1, 2]
    assert shapes.variables[2].options == ("moon", "star", "ship")
    assert shapes.is_categorical.tolist() == [False, False, True, False, False, True, False]
    assert shapes.n_variables == 7


def test_paths_are_leaves_with_their_dimension(shapes):
    assert [p.dimension for p in shapes.paths] == [3, 2, 3, 4]
    assert [p.name for p in shapes.paths] == [
        "shape=moon",
        "shape=star",
        "shape=ship/jet=no",
        "shape=ship/jet=yes",
    ]
    assert [p.active for p in shapes.paths] == [(0, 1, 2, 3), (0, 1, 2), (0, 1, 2, 4, 5), (0, 1, 2, 4, 5, 6)]


def test_several_categoricals_multiply_their_paths(two_choices):
    assert [v.name for v in two_choices.variables] == ["a", "u", "z", "b", "v", "w"]
    assert [p.name for p in two_choices.paths] == [
        f"a={a}/b={b}" for a in ("a0", "a1") for b in ("b0", "b1", "b2")
    ]
    assert [p.dimension for p in two_choices.paths] == [2, 2, 4, 1, 1, 3]
    codes = [[a, 0.5 if a == 0 else NAN, 0.1, b, *([0.2, 0.3] if b == 2 else [NAN, NAN])]
             for a in (0, 1) for b in (0, 1, 2)]  # fmt: skip
    assert two_choices.path_of(codes).tolist() == list(range(6))


@given(hierarchies())
def test_paths_cover_the_tree(h):
    assert len(h.paths) == h.root.n_paths
    assert min(p.dimension for p in h.paths) == h.root.min_dimension == h.canonical()[0]
    assert {c for p in h.paths for c in p.active} == set(range(h.n_variables))
    assert len({p.choices for p in h.paths}) == len(h.paths)


def test_flat():
    h = Hierarchy.flat(2, categories=(3, 2))
    assert [v.name for v in h.variables] == ["z1", "z2", "c1", "c2"]
    assert [v.n_options for v in h.variables] == [0, 0, 3, 2]
    assert len(h.paths) == 6
    assert Hierarchy.flat(0).paths[0].dimension == 0
    with pytest.raises(ValueError, match="n_continuous must be 0 or more, got -1"):
        Hierarchy.flat(-1)


def test_equality_is_by_structure(shapes):
    renamed = json.loads(shapes.to_json().replace("phase", "light"))
    assert Hierarchy.from_dict(renamed) == shapes
    assert hash(Hierarchy.from_dict(renamed)) == hash(shapes)
    assert Hierarchy.from_dict(renamed).to_dict() != shapes.to_dict()
    assert Hierarchy.flat(2) != Hierarchy.flat(3)
    assert hierarchy(categorical("c", a=[], b=continuous("z"))) != hierarchy(
        categorical("c", a=continuous("z"), b=[])
    )


def test_hierarchies_cannot_be_changed(shapes):
    with pytest.raises(AttributeError):
        shapes.root = Hierarchy.flat(1).root
    with pytest.raises(AttributeError):
        shapes.variables[0].name = "w"
