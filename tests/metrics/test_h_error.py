"""H-error against known answers and another implementation."""

import itertools
import random
import time

import pytest
import zss
from hypothesis import given
from hypothesis import strategies as st

from disentree import Hierarchy
from disentree.datasets import dataset_info
from disentree.metrics import h_error
from disentree.metrics.h_error import tree_edit_distance
from strategies import hierarchies, shuffled


def random_tree(n_nodes, rng, reach=3, n_labels=3):
    """Nested tuples; a small `reach` makes deep trees, a large one bushy trees."""
    children = [[] for _ in range(n_nodes)]
    for i in range(1, n_nodes):
        children[rng.randrange(max(0, i - reach), i)].append(i)
    labels = [rng.randrange(n_labels) for _ in range(n_nodes)]

    def build(i):
        return (labels[i], tuple(build(c) for c in children[i]))

    return build(0)


def by_zss(first, second):
    def node(tree):
        out = zss.Node(str(tree[0]))
        for child in tree[1]:
            out.addkid(node(child))
        return out

    return zss.simple_distance(node(first), node(second))


def by_trying_everything(first, second):
    """The cheapest of all one-to-one mappings that keep ancestors and left-to-right order (Tai 1979)."""

    def nodes(tree, place=()):
        yield place, tree[0]
        for i, child in enumerate(tree[1]):
            yield from nodes(child, (*place, i))

    def relation(p, q):
        if p == q[: len(p)]:
            return "above"
        if q == p[: len(q)]:
            return "below"
        return "left" if p < q else "right"

    a, b = list(nodes(first)), list(nodes(second))
    best = len(a) + len(b)
    for size in range(1, min(len(a), len(b)) + 1):
        for chosen in itertools.combinations(a, size):
            for images in itertools.permutations(b, size):
                pairs = list(zip(chosen, images, strict=True))
                if all(
                    relation(p[0][0], q[0][0]) == relation(p[1][0], q[1][0])
                    for p, q in itertools.combinations(pairs, 2)
                ):
                    relabeled = sum(p[1] != q[1] for p, q in pairs)
                    best = min(best, len(a) + len(b) - 2 * size + relabeled)
    return best


@pytest.mark.parametrize("seed", range(40))
def test_against_every_mapping_of_small_trees(seed):
    rng = random.Random(seed)
    first, second = (random_tree(rng.randint(1, 5), rng, n_labels=2) for _ in range(2))
    assert tree_edit_distance(first, second) == by_trying_everything(first, second)


@pytest.mark.parametrize("seed", range(30))
def test_against_zss(seed):
    rng = random.Random(seed)
    first, second = (random_tree(rng.randint(1, 30), rng, reach=rng.choice([1, 3, 10])) for _ in range(2))
    assert tree_edit_distance(first, second) == by_zss(first, second)


def test_known_answers():
    flat = Hierarchy.flat(2)
    assert h_error(flat, Hierarchy.flat(2)) == 0
    assert h_error(flat, Hierarchy.flat(3)) == 1
    assert h_error(flat, Hierarchy.flat(2, (2,))) == 2
    either = dataset_info("chopsticks-depth2-either").hierarchy
    both = dataset_info("chopsticks-depth2-both").hierarchy
    assert h_error(either, both) == by_zss(either.canonical(), both.canonical()) > 0


@given(hierarchies(), st.randoms(use_true_random=False))
def test_zero_for_equivalent_hierarchies(h, rng):
    assert h_error(h, h.merged_up()) == 0
    assert h_error(h, h.pushed_down()) == 0
    assert h_error(h, Hierarchy.from_dict(shuffled(h.to_dict(), rng))) == 0


def test_child_order_with_ties():
    """Two children with the same labels below them, in different shapes."""
    chain = {"kind": "categorical", "options": [{"variables": []}]}
    deep = {"variables": [{"kind": "categorical", "options": [{"variables": [chain]}]}]}
    wide = {"variables": [{"kind": "categorical", "options": [{"variables": []}, {"variables": []}]}]}

    def of(*options):
        return Hierarchy.from_dict({"variables": [{"kind": "categorical", "options": list(options)}]})

    assert h_error(of(deep, wide), of(wide, deep)) == 0


@given(hierarchies(), hierarchies(), hierarchies())
def test_a_metric(a, b, c):
    assert h_error(a, b) == h_error(b, a) >= 0
    assert (h_error(a, b) == 0) == (a.canonical() == b.canonical())
    assert h_error(a, c) <= h_error(a, b) + h_error(b, c)


def test_two_hundred_nodes_take_no_time():
    rng = random.Random(0)
    first, second = (random_tree(200, rng, reach=4) for _ in range(2))
    start = time.perf_counter()
    tree_edit_distance(first, second)
    assert time.perf_counter() - start < 5


def test_deeper_than_the_recursion_limit():
    tree = (0, ())
    for _ in range(3000):
        tree = (0, (tree,))
    assert tree_edit_distance(tree, (0, ())) == 3000


def test_bad_input_names_the_argument():
    with pytest.raises(Exception, match="h2"):
        h_error(Hierarchy.flat(1), {"variables": []})  # type: ignore[arg-type]
