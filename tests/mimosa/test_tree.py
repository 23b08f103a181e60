"""From components to a tree, and from points to components, by hand; covers `tree.py` and `assign.py`."""

import numpy as np
import pytest

from disentree.mimosa.assign import Sheet, assign
from disentree.mimosa.tree import choose_parents, enclosure_ratios, tree_from_parents

INF = np.inf


def test_a_chain_keeps_only_its_direct_links():
    # 0 (1-D) in 1 (2-D) in 2 (3-D): the link from 0 to 2 is redundant
    ratios = np.array([[INF, 2.0, 1.0], [INF, INF, 2.0], [INF, INF, INF]])
    assert choose_parents([1, 2, 3], ratios, ratios <= 10) == [None, 0, 1]


def test_of_two_enclosed_components_the_nearer_is_the_parent():
    ratios = np.array([[INF, INF, 3.0], [INF, INF, 2.0], [INF, INF, INF]])
    assert choose_parents([1, 1, 2], ratios, ratios <= 10) == [None, None, 1]
    ratios[:2, 2] = 2.0  # a tie goes to the first, and is no error
    assert choose_parents([1, 1, 2], ratios, ratios <= 10) == [None, None, 0]


def test_what_encloses_nothing_is_a_root():
    ratios = np.array([[INF, 30.0], [INF, INF]])
    assert choose_parents([1, 2], ratios, ratios <= 10) == [None, None]


def test_enclosure_ratio_of_a_line_in_a_sheet_and_beside_it():
    x, y = np.meshgrid(np.arange(20.0), np.arange(20.0))
    sheet = np.column_stack([x.ravel(), y.ravel(), np.zeros(400)])
    inside = np.column_stack([np.linspace(2, 17, 31), np.full(31, 5.0), np.zeros(31)])
    beside = inside + np.array([0, 0, 30])
    Z = np.concatenate([inside, beside, sheet])
    cores = [np.arange(31), np.arange(31, 62), np.arange(62, 462)]
    ratios = enclosure_ratios(Z, cores, [1, 1, 2])
    # on the grid or half way between: 0 and .5 in turn, relative to a spacing of 1
    assert ratios[0, 2] == pytest.approx(np.mean([0, 0.5] * 15 + [0]))
    assert ratios[1, 2] == pytest.approx(30, abs=0.1)
    assert np.isinf(ratios[2]).all()
    assert np.isinf(ratios[:, :2]).all()


def test_tree_with_two_roots():
    # 0 and 1: lines; 2: a plane on 0; 3: a 4-D component on 2; 4: a plane on 1
    hierarchy, order = tree_from_parents([1, 1, 2, 4, 2], [None, None, 0, 2, 1])
    assert order == [0, 2, 3, 1, 4]
    assert [p.dimension for p in hierarchy.paths] == [1, 2, 4, 1, 2]
    assert str(hierarchy).splitlines() == [
        "◇ c1",
        "├── branch1",
        "│   ├── ○ z1",
        "│   └── ◇ c2",
        "│       ├── stop ∅",
        "│       └── branch1",
        "│           ├── ○ z2",
        "│           └── ◇ c3",
        "│               ├── stop ∅",
        "│               └── branch1",
        "│                   ├── ○ z3",
        "│                   └── ○ z4",
        "└── branch2",
        "    ├── ○ z5",
        "    └── ◇ c4",
        "        ├── stop ∅",
        "        └── branch1",
        "            └── ○ z6",
    ]


def test_one_root_is_the_root():
    hierarchy, order = tree_from_parents([2], [None])
    assert (str(hierarchy), order) == ("○ z1\n○ z2", [0])


def test_no_component_is_an_error():
    with pytest.raises(ValueError, match="at least one component"):
        tree_from_parents([], [])


def test_points_go_to_the_line_they_are_on():
    t = np.linspace(-1, 1, 201)[:, None]
    e = np.eye(2)
    sheets = [Sheet(t * e[a], np.tile(e[a], (201, 1, 1))) for a in (0, 1)]
    new = np.array([[0.503, 0.0], [0.0, -0.307], [0.9, 1e-5], [2e-5, 0.4]])
    labels, off = assign(sheets, new, tolerance=1e-3)
    assert labels.tolist() == [0, 1, 0, 1]
    assert off[:2].max() < 1e-9


def test_on_a_line_in_a_plane_the_line_is_likelier():
    rng = np.random.default_rng(0)
    line = Sheet(np.linspace(-1, 1, 200)[:, None] * [1.0, 0, 0], np.tile([[1.0, 0, 0]], (200, 1, 1)))
    plane = Sheet(rng.uniform(-1, 1, (500, 2)) @ np.eye(3)[:2], np.tile(np.eye(3)[:2], (500, 1, 1)))
    new = np.array([[0.1234, 0.0, 0.0], [0.1234, 0.3, 0.0]])
    assert assign([line, plane], new, tolerance=1e-3)[0].tolist() == [0, 1]
