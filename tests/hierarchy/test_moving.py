"""Single variables moved up and pushed down, and codes with them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from disentree import Hierarchy
from disentree.metrics import h_error, r4c_score
from strategies import coded

from .conftest import categorical, continuous, hierarchy

NAN = np.nan


def names(h):
    return [v.name for v in h.variables]


def test_by_hand():
    h = hierarchy(*continuous("x"), categorical("c", a=continuous("u", "s"), b=continuous("t")))
    up = h.move_up([[3, 4]])  # s and t
    assert up.after == hierarchy(*continuous("x", "s/t"), categorical("c", a=continuous("u"), b=[]))
    assert names(up.after) == ["x", "s/t", "c", "u"]
    codes = [[0.1, 0, 0.2, 0.3, NAN], [0.4, 1, NAN, NAN, 0.5]]
    moved = [[0.1, 0.3, 0, 0.2], [0.4, 0.5, 1, NAN]]
    np.testing.assert_array_equal(up.codes(codes), moved)
    np.testing.assert_array_equal(up.back(moved), codes)
    down = h.push_down([0])
    assert down.after == hierarchy(categorical("c", a=continuous("u", "s", "x"), b=continuous("t", "x")))
    np.testing.assert_array_equal(down.codes(codes), [[0, 0.2, 0.3, 0.1, NAN, NAN], [1, NAN, NAN, NAN, 0.5, 0.4]])


def test_over_several_levels(shapes):
    """x below every shape, and of the ship below every jet, is the one at the root again."""
    down = shapes.push_down([0]).after
    further = down.push_down([names(down).index("angle") + 1]).after
    columns = [i for i, name in enumerate(names(further)) if name == "x"]
    assert len(columns) == 4
    assert further.move_up([columns]).after.canonical() == shapes.canonical()
    assert names(further.move_up([columns]).after)[:2] == ["y", "x"]


def test_below_one_of_two_choices(two_choices):
    """z goes below the first one, and up again; there is nothing above the second one's v alone."""
    down = two_choices.push_down([names(two_choices).index("z")])
    assert [p.dimension for p in down.after.paths] == [p.dimension for p in two_choices.paths]
    columns = [i for i, name in enumerate(names(down.after)) if name == "z"]
    assert len(columns) == 2
    assert sorted(names(down.after.move_up([columns]).after)) == sorted(names(two_choices))
    with pytest.raises(ValueError, match="every path"):
        two_choices.move_up([[names(two_choices).index("u"), names(two_choices).index("v")]])


@given(coded(min_rows=1), st.randoms(use_true_random=False))
def test_round_trip_and_same_structure(made, rng):
    h, codes = made
    groups = {(v.parent, v.option) for v in h.variables if v.n_options}
    movable = [v.index for v in h.variables if not v.n_options and (v.parent, v.option) in groups]
    down = h.push_down(rng.sample(movable, rng.randint(0, len(movable))))
    same = [[column for column, sources in enumerate(down.sources) if sources == (v.index,)] for v in h.variables]
    up = down.after.move_up([columns for columns in same if len(columns) > 1])
    for move, given_codes in ((down, codes), (up, down.codes(codes))):
        assert move.after.canonical() == h.canonical()
        assert h_error(move.before, move.after) == 0
        moved = move.after.validate(move.codes(given_codes))
        np.testing.assert_array_equal(move.after.path_of(moved), h.path_of(codes))
        np.testing.assert_array_equal(move.back(moved), given_codes)
    assert sorted(names(up.after)) == sorted(names(h))


def test_r4c_does_not_change(shapes):
    codes = shapes.sample(2000, 1)
    learned = np.where(shapes.is_categorical, codes, codes + np.random.default_rng(0).normal(0, 0.1, codes.shape))
    down = shapes.push_down([0, 1])
    before = r4c_score(codes, learned, shapes, shapes)
    assert before < 0.99
    assert r4c_score(codes, down.codes(learned), shapes, down.after) == pytest.approx(before, abs=0.01)


def test_rows_without_a_path(shapes):
    codes = np.full((1, shapes.n_variables), NAN)
    codes[0, 0] = 0.5
    assert np.isnan(shapes.push_down([0]).codes(codes)).all()
    np.testing.assert_array_equal(shapes.push_down([1]).codes(codes)[0, 0], 0.5)


@pytest.mark.parametrize(
    ("same", "words"),
    [
        ([[0, 1]], "every path"),  # both active
        ([[3]], "two or more"),
        ([[3, 4]], "every path"),  # none on the star
        ([[3, 4], [4, 3]], "once"),
        ([[2, 3]], "continuous"),
    ],
)
def test_what_cannot_be_moved_up(shapes, same, words):
    with pytest.raises(ValueError, match=words):
        shapes.move_up(same)


@pytest.mark.parametrize("column", [2, 3])  # the categorical; the only variable of its group
def test_what_cannot_be_pushed_down(shapes, column):
    with pytest.raises(ValueError, match="categorical"):
        shapes.push_down([column])
    assert Hierarchy.flat(1).push_down([]).after == Hierarchy.flat(1)
