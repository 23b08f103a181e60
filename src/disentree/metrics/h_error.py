"""H-error: the tree edit distance between two hierarchies, independent of the equivalent form they have.

The hierarchies are brought to canonical form (`Hierarchy.canonical`), which merging up, pushing down and
reordering do not change; categoricals beside each other in a group are nodes of their own in it. The results are
ordered, labeled trees, which are compared by the algorithm of Zhang & Shasha (1989) with a cost of 1 for
inserting, deleting or relabeling a node.
"""

from __future__ import annotations

from typing import Any, NamedTuple, no_type_check

import numpy as np
from jaxtyping import Int
from numba import njit

from disentree.hierarchy import Hierarchy


def h_error(h1: Hierarchy, h2: Hierarchy) -> int:
    """The least number of groups to insert, delete or relabel to turn one hierarchy into the other.

    It is 0 exactly when both have the same structure up to merging up, pushing down and reordering of
    variables, categoricals and options; it is symmetric and satisfies the triangle inequality.

    Parameters
    ----------
    h1, h2 : Hierarchy
        The hierarchies.

    Returns
    -------
    int
        0 is best.

    Examples
    --------
    >>> from disentree import Hierarchy
    >>> h = Hierarchy.from_dict({"variables": [{"kind": "continuous"}, {"kind": "categorical", "options": [
    ...     {"variables": []}, {"variables": [{"kind": "continuous"}]}]}]})
    >>> h_error(h, h.pushed_down())
    0
    >>> h_error(h, Hierarchy.flat(1))
    2
    """
    check_hierarchies(h1=h1, h2=h2)
    return tree_edit_distance(h1.canonical(), h2.canonical())


def check_hierarchies(**hierarchies: Any) -> None:
    """Arguments, by their names, that must be hierarchies."""
    for name, hierarchy in hierarchies.items():
        if not isinstance(hierarchy, Hierarchy):
            raise ValueError(f"{name} must be a Hierarchy, got {type(hierarchy).__name__}")


def tree_edit_distance(first: tuple, second: tuple) -> int:
    """Edit distance with unit costs between ordered trees given as nested tuples ``(label, children)``."""
    numbers: dict[Any, int] = {}
    a, b = _postorder(first, numbers), _postorder(second, numbers)
    return int(_zhang_shasha(*a, *b))


class PostOrder(NamedTuple):
    """A tree as arrays over its nodes in postorder."""

    labels: Int[np.ndarray, " n"]
    leftmost: Int[np.ndarray, " n"]  # the leftmost leaf below each node
    keyroots: Int[np.ndarray, " k"]  # the last node of those that share a leftmost leaf, ascending


def _postorder(tree: tuple, numbers: dict[Any, int]) -> PostOrder:
    labels: list[int] = []
    leftmost: list[int] = []
    # A stack instead of recursion: a hierarchy may be deeper than Python's recursion limit is high.
    stack: list[tuple[tuple, int]] = [(tree, -1)]
    while stack:
        node, first = stack.pop()
        if first < 0:
            stack.append((node, len(labels)))
            stack.extend((child, -1) for child in reversed(node[1]))
        else:
            labels.append(numbers.setdefault(node[0], len(numbers)))
            leftmost.append(first)
    last = {leaf: node for node, leaf in enumerate(leftmost)}
    return PostOrder(np.array(labels), np.array(leftmost), np.array(sorted(last.values())))


# `no_type_check` keeps run-time type checkers from wrapping this function: numba compiles only plain ones.
@njit(cache=True, nogil=True)
@no_type_check
def _zhang_shasha(labels_a, left_a, keys_a, labels_b, left_b, keys_b):
    tree = np.zeros((len(labels_a), len(labels_b)), dtype=np.int64)
    forest = np.zeros((len(labels_a) + 1, len(labels_b) + 1), dtype=np.int64)
    for i in keys_a:
        for j in keys_b:
            # Row and column 0 stand for the empty forest, row x for the first x nodes of the subtree.
            start_a, start_b = left_a[i], left_b[j]
            size_a, size_b = i - start_a + 1, j - start_b + 1
            for x in range(1, size_a + 1):
                forest[x, 0] = x
            for y in range(1, size_b + 1):
                forest[0, y] = y
            for x in range(1, size_a + 1):
                p = start_a + x - 1
                for y in range(1, size_b + 1):
                    q = start_b + y - 1
                    cost = min(forest[x - 1, y], forest[x, y - 1]) + 1
                    if left_a[p] == start_a and left_b[q] == start_b:
                        change = 0 if labels_a[p] == labels_b[q] else 1
                        cost = min(cost, forest[x - 1, y - 1] + change)
                        tree[p, q] = cost
                    else:
                        before = forest[left_a[p] - start_a, left_b[q] - start_b]
                        cost = min(cost, before + tree[p, q])
                    forest[x, y] = cost
    return tree[-1, -1]
