"""Placement error against answers by hand, and where it differs from the H-error."""

import itertools
import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from disentree import Hierarchy
from disentree.datasets import dataset_info
from disentree.metrics import h_error, placement_error
from disentree.metrics.h_error import tree_edit_distance
from disentree.metrics.placement import edit_distance
from strategies import hierarchies, shuffled


def sliders(n):
    return [{"kind": "continuous"}] * n


def choice(*options):
    return {"kind": "categorical", "options": [{"variables": variables} for variables in options]}


def tree(*variables):
    return Hierarchy.from_dict({"variables": list(variables)})


def shapes(top, moon, star, ship):
    """Spaceshapes with so many variables in each group."""
    inside = [*sliders(ship), choice([], sliders(1))]
    return tree(*sliders(top), choice(sliders(moon), sliders(star), inside))


@pytest.mark.parametrize(
    ("found", "edits"),
    [
        (shapes(2, 1, 1, 1), 0),
        (shapes(3, 0, 0, 0), 4),  # phase, shine and angle merged up: three removed, one added
        (shapes(0, 3, 3, 3), 8),  # x and y pushed down: two removed, six added
        (shapes(1, 2, 2, 2), 4),  # x alone pushed down: one removed, three added
        (shapes(2, 1, 1, 2), 1),  # a variable too many
        (Hierarchy.flat(2), 9),  # the five groups below the root and the four variables in them
    ],
)
def test_spaceshapes_by_hand(found, edits):
    true = dataset_info("spaceshapes").hierarchy
    assert placement_error(true, found) == placement_error(found, true) == edits


def test_forms_of_one_tree_differ():
    h = tree(*sliders(1), choice([], sliders(1)))
    assert h_error(h, h.pushed_down()) == 0
    assert placement_error(h, h.pushed_down()) == 3  # one removed, two added


def test_a_variable_beside_a_choice_is_not_one_below_it():
    """Two switches: the second variable beside them, or in both options of the first."""
    beside = tree(*sliders(2), choice([], []), choice([], []))
    below = tree(*sliders(1), choice(sliders(1), sliders(1)), choice([], []))
    assert h_error(beside, below) == 0
    assert placement_error(beside, below) == 3


@given(hierarchies(), st.randoms(use_true_random=False))
def test_order_does_not_matter(h, rng):
    assert placement_error(h, Hierarchy.from_dict(shuffled(h.to_dict(), rng))) == 0


@given(hierarchies(), hierarchies(), hierarchies())
def test_a_metric(a, b, c):
    assert placement_error(a, b) == placement_error(b, a) >= 0
    assert placement_error(a, c) <= placement_error(a, b) + placement_error(b, c)
    if placement_error(a, b) == 0:
        assert h_error(a, b) == 0


def random_tree(n, rng):
    children = [[] for _ in range(n)]
    for i in range(1, n):
        children[rng.randrange(max(0, i - 4), i)].append(i)

    def build(i):
        return rng.randrange(2), tuple(build(c) for c in children[i])

    return build(0)


@pytest.mark.parametrize("seed", range(20))
def test_no_more_than_with_any_order(seed):
    """The ordered distance of the best of all orders that keeps what is below a node below it."""
    rng = random.Random(seed)
    first, second = random_tree(rng.randint(1, 5), rng), random_tree(rng.randint(1, 5), rng)

    def orders(node):
        for below in itertools.permutations(node[1]):
            yield from ((node[0], inner) for inner in itertools.product(*(list(orders(c)) for c in below)))

    least = min(tree_edit_distance(first, order) for order in orders(second))
    found = edit_distance(first, second)
    assert least <= found
    assert found <= least + 2  # Zhang's is a little more where branches would be torn apart


def test_sixty_nodes_take_no_time():
    rng = random.Random(0)
    start = time.perf_counter()
    edit_distance(random_tree(60, rng), random_tree(60, rng))
    assert time.perf_counter() - start < 5


def test_bad_input_names_the_argument():
    with pytest.raises(Exception, match="found"):
        placement_error(Hierarchy.flat(1), {"variables": []})  # type: ignore[arg-type]
