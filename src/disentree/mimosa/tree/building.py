"""From components to a tree: which component encloses which (the paper's Algorithm 7)."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.spatial import KDTree

from disentree.hierarchy import Hierarchy
from disentree.hierarchy.tree import Categorical, Continuous, Group
from disentree.mimosa.tree.constants import TREE


def enclosure_ratios(
    Z: Float[np.ndarray, "n D"],
    cores: Sequence[Int[np.ndarray, " _"]],
    dimensions: Sequence[int],
    n_jobs: int = 1,
) -> Float[np.ndarray, "c c"]:
    """Entry [low, high]: the mean distance from points of `low` to their nearest points of `high`, relative to
    the mean distance between nearest neighbors within `high`; infinite unless `high` has more dimensions."""
    ratios = np.full((len(cores), len(cores)), np.inf)
    for high in range(len(cores)):
        lower = [low for low in range(len(cores)) if dimensions[low] < dimensions[high]]
        if not lower:
            continue
        tree = KDTree(Z[cores[high]])
        scale = np.asarray(tree.query(Z[cores[high]], 2, workers=n_jobs)[0])[:, 1].mean()
        for low in lower:
            distance = np.mean(tree.query(Z[cores[low]], workers=n_jobs)[0])
            ratios[low, high] = distance / scale if scale > 0 else np.inf
    return ratios


def thinned(rows: Int[np.ndarray, " m"], n: int) -> Int[np.ndarray, " s"]:
    """At most `n` rows, evenly spread."""
    return rows[np.linspace(0, len(rows) - 1, min(len(rows), n)).astype(int)]


def directly_enclosed(
    ratios: Float[np.ndarray, "c c"], encloses: Bool[np.ndarray, "c c"]
) -> list[tuple[int, ...]]:
    """For each component those that it encloses with no other between, the one with the lowest ratio first."""
    between = (encloses.astype(np.int64) @ encloses) > 0
    columns = enumerate((encloses & ~between).T)
    return [
        tuple(sorted(np.flatnonzero(c).tolist(), key=lambda low: (ratios[low, high], low))) for high, c in columns
    ]


def nearest_parents(direct: Sequence[Sequence[int]]) -> list[int | None]:
    """One parent for each component, that with the lowest ratio: the paper's choice."""
    return [parents[0] if len(parents) else None for parents in direct]


def fewest_lost(dimensions: Sequence[int], direct: Sequence[Sequence[int]]) -> list[int | None]:
    """One parent for each component, such that the tree loses the fewest variables.

    A parent that the tree does not follow has variables that the component shares with it, and that the tree has
    twice, except for those of ancestors that both have in the tree. Of trees that lose as few, the one whose
    parents have the lowest ratios is taken.
    """
    several = [c for c, parents in enumerate(direct) if len(parents) > 1]
    chosen = nearest_parents(direct)
    if not several:
        return chosen

    def cost(ranks: Sequence[int]) -> tuple[int, int]:
        for c, rank in zip(several, ranks, strict=True):
            chosen[c] = direct[c][rank]
        above = [_ancestors(chosen, c) for c in range(len(direct))]
        pairs = ((c, parent) for c in several for parent in direct[c])
        return sum(_n_lost(dimensions, above, c, parent) for c, parent in pairs), sum(ranks)

    n_trees = math.prod(len(direct[c]) for c in several)
    if n_trees <= TREE.most_combined:
        best = min(
            itertools.product(*(range(len(direct[c])) for c in several)), key=lambda ranks: (cost(ranks), ranks)
        )
    else:  # one component after the other, until no choice gets better
        best, before = (0,) * len(several), None
        while best != before:
            before = best
            for i, c in enumerate(several):
                tried = [(*best[:i], rank, *best[i + 1 :]) for rank in range(len(direct[c]))]
                best = min(tried, key=lambda ranks: (cost(ranks), ranks))
    cost(best)
    return chosen


def _ancestors(parents: Sequence[int | None], c: int) -> list[int]:
    """A component and those above it in the tree. Parents have fewer dimensions, so that this ends."""
    out, here = [c], parents[c]
    while here is not None:
        out.append(here)
        here = parents[here]
    return out


def _n_lost(dimensions: Sequence[int], above: Sequence[Sequence[int]], c: int, parent: int) -> int:
    """Variables of a parent that the tree does not let the component share."""
    return dimensions[parent] - max((dimensions[a] for a in above[parent] if a in above[c]), default=0)


def tree_from_parents(dimensions: Sequence[int], parents: Sequence[int | None]) -> tuple[Hierarchy, list[int]]:
    """The dimension hierarchy of a tree of components, and the component of each of its paths.

    A component adds continuous variables until the path to it has as many as its dimension. One with children
    gets a categorical whose first option, an empty group, is the component itself.
    """
    children: dict[int | None, list[int]] = {}
    for c, parent in enumerate(parents):
        children.setdefault(parent, []).append(c)
    order: list[int] = []

    def group(c: int, above: int, name: str) -> Group:
        order.append(c)
        variables: list[Continuous | Categorical] = [Continuous("z")] * (dimensions[c] - above)
        if c in children:
            variables.append(Categorical("c", (Group((), "stop"), *branches(children[c], dimensions[c]))))
        return Group(tuple(variables), name)

    def branches(some: Sequence[int], above: int) -> tuple[Group, ...]:
        return tuple(group(c, above, f"branch{i}") for i, c in enumerate(some, 1))

    roots = children.get(None, [])
    if not roots:
        raise ValueError("a hierarchy needs at least one component")
    root = group(roots[0], 0, "") if len(roots) == 1 else Group((Categorical("c", branches(roots, 0)),))
    return Hierarchy(named(root, numbered())), order


def named(group: Group, fresh: Callable[[str], str]) -> Group:
    """A group whose variables, and those below them, are called what `fresh` makes of their names, in the order of
    columns."""
    variables: list[Continuous | Categorical] = []
    for variable in group.variables:
        name = fresh(variable.name)
        if isinstance(variable, Categorical):
            variables.append(Categorical(name, tuple(named(option, fresh) for option in variable.options)))
        else:
            variables.append(Continuous(name))
    return Group(tuple(variables), group.name)


def numbered() -> Callable[[str], str]:
    """Names that have not been given yet: z1, z2, ... for "z"."""
    numbers: Counter[str] = Counter()

    def fresh(name: str) -> str:
        numbers[name] += 1
        return f"{name}{numbers[name]}"

    return fresh


def in_order(
    order: Sequence[int], parents: Sequence[int | None], direct: Sequence[Sequence[int]]
) -> tuple[list[int | None], list[tuple[int, ...]]]:
    """Parents, and all components that each one encloses directly, of components numbered by their paths."""
    path_of = np.argsort(order).tolist()
    above = [parents[c] for c in order]
    return [None if p is None else path_of[p] for p in above], [
        tuple(path_of[p] for p in direct[c]) for c in order
    ]
