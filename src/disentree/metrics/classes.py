"""Agreement of a tree with known classes, by the scores of work on hierarchical clustering: dendrogram purity and
the accuracy of the best matching of leaves to classes."""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from disentree.hierarchy import Hierarchy
from disentree.metrics.purity import count_classes

NAMES = ("classes", "leaves")
MOST_PATHS = 300  # of which every pair is looked at


def dendrogram_purity(
    classes: ArrayLike, paths: ArrayLike, hierarchy: Hierarchy | Sequence[Sequence[Sequence[int]]]
) -> float:
    """The mean over pairs of rows of one class of how pure the smallest subtree with both of them is.

    The purity of a subtree for a class is the share of its rows that have the class (Heller and Ghahramani 2005).
    The smallest subtree of two leaves has all leaves with the choices that these two share: of a tree without
    inner branches all of it, unless both rows are on the same leaf.

    Parameters
    ----------
    classes : array-like of int, shape (n,)
        Class of every row. Rows with -1 (unknown) do not count.
    paths : array-like of int, shape (n,)
        Leaf of every row, an index into ``hierarchy.paths``. Rows with -1 do not count.
    hierarchy : Hierarchy, or list of lists of lists of int
        The tree, or its levels in any order: for each the groups of paths that are one there, as the ``paths`` of
        `MIMOSA.levels_`.

    Returns
    -------
    float
        Between 0 and 1; 1 is best. NaN if no class has two rows, or leaves with rows are more than 300.

    Examples
    --------
    >>> from disentree import Hierarchy
    >>> tree = Hierarchy.flat(0, (2,))  # two leaves
    >>> dendrogram_purity([0, 0, 1, 1], [0, 0, 1, 1], tree)
    1.0
    >>> dendrogram_purity([0, 0, 1, 1], [0, 1, 0, 1], tree)
    0.5
    >>> dendrogram_purity([0, 0, 1, 1], [0, 1, 2, 2], [[[0], [1], [2]], [[0, 1], [2]], [[0, 1, 2]]])
    1.0
    """
    counts, leaves = count_classes(classes, paths, NAMES)
    n_pairs = float((counts.sum(axis=0) * (counts.sum(axis=0) - 1) / 2).sum())
    if not n_pairs or len(leaves) > MOST_PATHS:
        return float("nan")
    if isinstance(hierarchy, Hierarchy):
        marks = [frozenset(hierarchy.paths[int(leaf)].choices) for leaf in leaves]
    else:
        groups = [frozenset(group) for level in hierarchy for group in level]
        marks = [frozenset(group for group in groups if int(leaf) in group) for leaf in leaves]
    total = 0.0
    for i, mine in enumerate(marks):
        for j in range(i + 1):
            shared = mine & marks[j]
            below = counts[[shared <= other for other in marks]].sum(axis=0)
            pairs = counts[i] * counts[j] if i != j else counts[i] * (counts[i] - 1) / 2
            total += float((pairs * below).sum() / max(below.sum(), 1))
    return total / n_pairs


def matching_accuracy(classes: ArrayLike, leaves: ArrayLike) -> float:
    """The share of rows on the leaf of their class, by the best matching of one leaf to each class.

    Parameters
    ----------
    classes : array-like of int, shape (n,)
        Class of every row. Rows with -1 (unknown) do not count.
    leaves : array-like of int, shape (n,)
        Leaf of every row, in any numbering. Rows with -1 do not count.

    Returns
    -------
    float
        Between 0 and 1; 1 is best. 0 if nothing is assigned. With fewer leaves than classes, the rows of some
        classes are all wrong.

    Examples
    --------
    >>> matching_accuracy([0, 0, 1, 1, 1], [7, 7, 3, 3, 4])
    0.8
    """
    from scipy.optimize import linear_sum_assignment

    counts, _ = count_classes(classes, leaves, NAMES)
    if not counts.size:
        return 0.0
    rows, columns = linear_sum_assignment(counts, maximize=True)
    return float(counts[rows, columns].sum() / counts.sum())
