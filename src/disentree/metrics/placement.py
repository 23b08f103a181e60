"""Placement error: the tree edit distance between two hierarchies as they are.

H-error compares canonical forms, which hide where a variable stands. Here every continuous variable is a node, so
that one which is repeated on each branch, instead of standing once above them, is so many edits. The distance is
that of Zhang (1996) for trees without order: of two branches that are turned into each other, what is below one is
turned into what is below the other.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.optimize import linear_sum_assignment

from disentree.hierarchy import Hierarchy
from disentree.hierarchy.equivalence import plain_form
from disentree.metrics.h_error import check_hierarchies


def placement_error(true: Hierarchy, found: Hierarchy) -> int:
    """The least number of variables and groups to insert, delete or relabel to turn one hierarchy into the other.

    It is 0 exactly when both are the same up to the order of variables, categoricals and options; it is symmetric
    and satisfies the triangle inequality. Other than `h_error` it sees the vertical place of variables.

    Parameters
    ----------
    true, found : Hierarchy
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
    >>> placement_error(h, h)
    0
    >>> placement_error(h, h.pushed_down())
    3
    """
    check_hierarchies(true=true, found=found)
    return edit_distance(plain_form(true.root), plain_form(found.root))


def edit_distance(first: tuple, second: tuple) -> int:
    """Edits with unit costs between trees without order, given as nested tuples ``(label, children)``."""

    @cache
    def size(tree: tuple) -> int:
        return 1 + sum(map(size, tree[1]))

    @cache
    def trees(a: tuple, b: tuple) -> int:
        if a == b:
            return 0
        one_below = [size(b) + trees(a, child) - size(child) for child in b[1]]
        one_below += [size(a) + trees(child, b) - size(child) for child in a[1]]
        return min([(a[0] != b[0]) + forests(a, b), *one_below])

    @cache
    def forests(a: tuple, b: tuple) -> int:
        """Between what is below two nodes."""
        below_one = [size(b) - 1 + forests(a, child) - (size(child) - 1) for child in b[1]]
        below_one += [size(a) - 1 + forests(child, b) - (size(child) - 1) for child in a[1]]
        n, m = len(a[1]), len(b[1])
        cost = np.zeros((n + m, n + m))  # a child with one of the other tree, or with none
        cost[:n, :m] = [[trees(x, y) for y in b[1]] for x in a[1]] if n and m else 0
        cost[:n, m:] = np.array([size(x) for x in a[1]])[:, None]
        cost[n:, :m] = [size(y) for y in b[1]]
        return min([int(cost[linear_sum_assignment(cost)].sum()), *below_one])

    return trees(first, second)
