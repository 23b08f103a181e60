"""From components to a tree, and from points to components, by hand; covers `sheet.py` too."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from disentree.mimosa.density.sheet import Sheet, assign
from disentree.mimosa.tree import building
from disentree.mimosa.tree.building import (
    directly_enclosed,
    enclosure_ratios,
    fewest_lost,
    in_order,
    nearest_parents,
    tree_from_parents,
)

INF = np.inf


def test_a_chain_keeps_only_its_direct_links():
    # 0 (1-D) in 1 (2-D) in 2 (3-D): the link from 0 to 2 is redundant
    ratios = np.array([[INF, 2.0, 1.0], [INF, INF, 2.0], [INF, INF, INF]])
    direct = directly_enclosed(ratios, ratios <= 10)
    assert direct == [(), (0,), (1,)]
    assert nearest_parents(direct) == fewest_lost([1, 2, 3], direct) == [None, 0, 1]


def test_of_two_enclosed_components_the_nearer_is_the_parent():
    ratios = np.array([[INF, INF, 3.0], [INF, INF, 2.0], [INF, INF, INF]])
    direct = directly_enclosed(ratios, ratios <= 10)
    assert direct == [(), (), (1, 0)]
    assert nearest_parents(direct) == fewest_lost([1, 1, 2], direct) == [None, None, 1]
    ratios[:2, 2] = 2.0  # a tie goes to the first, and is no error
    assert directly_enclosed(ratios, ratios <= 10)[2] == (0, 1)


def test_what_encloses_nothing_is_a_root():
    ratios = np.array([[INF, 30.0], [INF, INF]])
    direct = directly_enclosed(ratios, ratios <= 10)
    assert direct == [(), ()]
    assert nearest_parents(direct) == fewest_lost([1, 2], direct) == [None, None]


def test_the_tree_follows_the_parent_with_more_variables():
    # 3 (3-D) encloses a line that is nearest and a plane: following the line loses 2 variables, the plane 1
    direct = [(), (), (), (0, 1)]
    assert nearest_parents(direct)[3] == 0
    assert fewest_lost([1, 2, 1, 3], direct)[3] == 1


def test_variables_of_common_ancestors_are_not_lost():
    # 3 and 4 (2-D) on lines 0, 1 and 2; 5 (4-D) on both. With 3 on 1, which 4 is on, 5 loses 1 variable and not 2.
    direct = [(), (), (), (0, 1), (1,), (3, 4)]
    chosen = fewest_lost([1, 1, 1, 2, 2, 4], direct)
    # 3 encloses two lines and loses 1 of them in any case
    assert chosen == [None, None, None, 1, 1, 3]


def slow_loss(dimensions, direct, chosen):
    """Variables of paths, counted in the hierarchy itself."""
    hierarchy, order = tree_from_parents(dimensions, chosen)
    parents = in_order(order, chosen, direct)[1]
    active = [set(path.continuous) for path in hierarchy.paths]
    return sum(len(active[p] - active[c]) for c, own in enumerate(parents) for p in own)


@pytest.mark.parametrize("most", [10**6, 0])
def test_no_tree_loses_fewer(most, monkeypatch):
    monkeypatch.setattr(building, "TREE", replace(building.TREE, most_paths=most))
    rng = np.random.default_rng(0)
    worse = 0
    for _ in range(60):
        n = int(rng.integers(3, 9))
        dimensions = np.sort(rng.integers(1, 5, n)).tolist()
        direct = []
        for c in range(n):
            lower = [low for low in range(n) if dimensions[low] < dimensions[c]]
            direct.append(tuple(rng.permutation(lower)[: rng.integers(0, 4)].tolist()))
        chosen = fewest_lost(dimensions, direct)
        options = [own or (None,) for own in direct]
        every = [slow_loss(dimensions, direct, list(one)) for one in itertools.product(*options)]
        worse += slow_loss(dimensions, direct, chosen) - min(every)
        assert slow_loss(dimensions, direct, chosen) <= slow_loss(dimensions, direct, nearest_parents(direct))
    assert worse <= (0 if most else 3)  # steps one by one may end early


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
