"""Variables that are the same on different branches; covers `matched.py` and `matching.py`."""

import numpy as np
import pytest

from disentree import Hierarchy
from disentree.geometry.maps.linear_maps import fit_linear_maps
from disentree.geometry.maps.matched import aligned, course
from disentree.mimosa.tree.matching import match_variables

# a line with x, the square above it with x and y, and the line with y2 beside them
TREE = Hierarchy.from_dict(
    {
        "variables": [
            {
                "kind": "categorical",
                "options": [
                    {
                        "variables": [
                            {"kind": "continuous", "name": "x"},
                            {
                                "kind": "categorical",
                                "options": [
                                    {"variables": []},
                                    {"variables": [{"kind": "continuous", "name": "y"}]},
                                ],
                            },
                        ]
                    },
                    {"variables": [{"kind": "continuous", "name": "y2"}]},
                ],
            }
        ]
    }
)
COLUMN = {v.name: v.index for v in TREE.variables}
X, Y, Y2 = (COLUMN[name] for name in ("x", "y", "y2"))
ON_X, SQUARE, ON_Y = range(3)


def leaves(side, n=3000, seed=0, noise=0.0):
    """A parallelogram of the sides e1 and `side`, its edge along e1, and its edge along `side`, backwards."""
    rng = np.random.default_rng(seed)
    paths = rng.integers(0, 3, n)
    a, b = rng.uniform(-1, 1, (2, n))
    a[paths == ON_Y], b[paths == ON_X] = -1.0, -1.0
    b[paths == ON_Y] *= -1
    points = a[:, None] * np.array([2.0, 0, 0]) + b[:, None] * np.asarray(side, float)
    return points + noise * rng.standard_normal(points.shape), paths


def codes_on(maps, points, path):
    return maps.encode(points, np.full(len(points), path))


@pytest.mark.parametrize("side", [(0, 1, 0), (0, 1, 1), (0.5, 2, 0)])
def test_rows_of_a_shared_line_get_one_code_on_both_branches(side):
    points, paths = leaves(side)
    maps, _ = fit_linear_maps(points, TREE, paths, 0)
    agreeing = aligned(maps, [[Y, Y2]])
    line = points[paths == ON_Y]
    own, theirs = codes_on(agreeing, line, ON_Y)[:, Y2], codes_on(agreeing, line, SQUARE)[:, Y]
    np.testing.assert_allclose(own, theirs, atol=1e-6)
    assert np.ptp(own) > 1
    # the square's other variable stays where it is along the line, and means the same on its own edge
    assert np.ptp(codes_on(agreeing, line, SQUARE)[:, X]) < 1e-6
    edge = points[paths == ON_X]
    np.testing.assert_allclose(
        codes_on(agreeing, edge, ON_X)[:, X], codes_on(agreeing, edge, SQUARE)[:, X], atol=1e-3
    )


def test_reconstructions_do_not_change():
    points, paths = leaves((0.7, 1, 0.3))
    maps, _ = fit_linear_maps(points, TREE, paths, 0)
    agreeing = aligned(maps, [[Y, Y2]])
    np.testing.assert_allclose(agreeing.decode(agreeing.encode(points, paths)), points, atol=1e-6)
    if agreeing.additive is not None:  # the same in both forms
        np.testing.assert_allclose(agreeing.additive.means(agreeing.items), agreeing.means, atol=1e-9)
        on = agreeing.items.continuous[:, :, None]
        np.testing.assert_allclose(on * agreeing.additive.directions, agreeing.directions, atol=1e-9)


def test_without_matches_nothing_changes():
    points, paths = leaves((0, 1, 0))
    maps, _ = fit_linear_maps(points, TREE, paths, 0)
    assert aligned(maps, []) is maps


def test_a_course_by_hand():
    points, paths = leaves((0, 3, 0))
    maps, _ = fit_linear_maps(points, TREE, paths, 0)
    found = course(maps, SQUARE, ON_Y, Y2)
    # both variables have unit deviation over the same range, in opposite directions; x is at its end
    assert found.missed < 1e-6
    np.testing.assert_allclose(np.abs(found.slopes), [0, 1], atol=0.05)
    across = course(maps, ON_X, ON_Y, Y2)
    assert across.missed == pytest.approx(1)


LOST = [{"component": SQUARE, "parent": ON_Y, "variables": [Y2]}]


def matches_of(points, paths, lost=LOST):
    return match_variables(TREE, lost, points, paths, np.random.default_rng(0))


@pytest.mark.parametrize("side", [(0, 1, 0), (0, 0.3, 0.4)])
def test_the_side_of_a_square_is_one_of_its_variables(side):
    assert matches_of(*leaves(side, noise=0.005)) == [[Y, Y2]]


def test_the_diagonal_of_a_square_is_none_of_its_variables():
    points, paths = leaves((0, 1, 0), noise=0.005)
    t = np.random.default_rng(1).uniform(-1, 1, (paths == ON_Y).sum())
    points[paths == ON_Y] = np.column_stack([2 * t, t, 0 * t])
    assert matches_of(points, paths) == []


def test_the_opposite_side_is_the_variable_of_the_side_that_the_tree_follows():
    points, paths = leaves((0, 1, 0), noise=0.005)
    t = np.random.default_rng(1).uniform(-1, 1, (paths == ON_Y).sum())
    points[paths == ON_Y] = np.column_stack([2 * t, 0 * t + 1, 0 * t])
    assert matches_of(points, paths) == [[X, Y2]]


def test_a_line_that_is_not_within_the_square_is_no_match():
    points, paths = leaves((0, 1, 0), noise=0.005)
    points[paths == ON_Y] = points[paths == ON_Y][:, [0, 2, 1]]
    assert matches_of(points, paths) == []


def test_few_rows_are_not_judged():
    points, paths = leaves((0, 1, 0), n=60)
    assert matches_of(points, paths) == []
