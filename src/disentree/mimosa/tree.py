"""From components to a tree: which component encloses which (the paper's Algorithm 7)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial import KDTree

from disentree.hierarchy import Hierarchy
from disentree.hierarchy.tree import Categorical, Continuous, Group

SAMPLE = 500  # points of a component whose distances are averaged


def enclosure_ratios(
    Z: Float[np.ndarray, "n D"],
    cores: Sequence[Int[np.ndarray, " _"]],
    dimensions: Sequence[int],
    noise: float = 0.0,
    n_points: int | None = SAMPLE,
    n_jobs: int = 1,
) -> Float[np.ndarray, "c c"]:
    """Entry [low, high]: the mean distance from points of `low` to their nearest points of `high`, relative to
    the mean distance between nearest neighbors within `high`, or to the noise if that is larger; infinite
    unless `high` has more dimensions. Means are over at most `n_points` points of a component, or over all."""
    some = [core if n_points is None else thinned(core, n_points) for core in cores]
    ratios = np.full((len(cores), len(cores)), np.inf)
    for high in range(len(cores)):
        lower = [low for low in range(len(cores)) if dimensions[low] < dimensions[high]]
        if not lower:
            continue
        tree = KDTree(Z[cores[high]])
        scale = np.asarray(tree.query(Z[some[high]], 2, workers=n_jobs)[0])[:, 1].mean()
        scale = max(scale, noise)
        for low in lower:
            distance = np.mean(tree.query(Z[some[low]], workers=n_jobs)[0])
            ratios[low, high] = distance / scale if scale > 0 else np.inf
    return ratios


def thinned(rows: Int[np.ndarray, " m"], n: int = SAMPLE) -> Int[np.ndarray, " s"]:
    """At most `n` rows, evenly spread."""
    return rows[np.linspace(0, len(rows) - 1, min(len(rows), n)).astype(int)]


def choose_parents(
    dimensions: Sequence[int], ratios: Float[np.ndarray, "c c"], encloses: np.ndarray
) -> list[int | None]:
    """The enclosing component becomes the child of the one it encloses. Of several candidates those with an
    intermediate component between are redundant; of the rest the one with the lowest ratio is taken."""
    parents: list[int | None] = []
    for high in range(len(dimensions)):
        inside = np.flatnonzero(encloses[:, high]).tolist()
        direct = [low for low in inside if not any(encloses[low, mid] and encloses[mid, high] for mid in inside)]
        parents.append(min(direct, key=lambda low: (ratios[low, high], low)) if direct else None)
    return parents


def tree_from_parents(dimensions: Sequence[int], parents: Sequence[int | None]) -> tuple[Hierarchy, list[int]]:
    """The dimension hierarchy of a tree of components, and the component of each of its paths.

    A component adds continuous variables until the path to it has as many as its dimension. One with children
    gets a categorical whose first option, an empty group, is the component itself.
    """
    children: dict[int | None, list[int]] = {}
    for c, parent in enumerate(parents):
        children.setdefault(parent, []).append(c)
    order: list[int] = []
    names = {"z": 0, "c": 0}

    def fresh(letter: str) -> str:
        names[letter] += 1
        return f"{letter}{names[letter]}"

    def group(c: int, above: int, name: str) -> Group:
        variables: list[Continuous | Categorical] = [Continuous(fresh("z")) for _ in range(dimensions[c] - above)]
        order.append(c)
        if c in children:
            categorical = fresh("c")
            options = [Group((), "stop")]
            options += [group(child, dimensions[c], f"branch{i}") for i, child in enumerate(children[c], 1)]
            variables.append(Categorical(categorical, tuple(options)))
        return Group(tuple(variables), name)

    roots = children.get(None, [])
    if not roots:
        raise ValueError("a hierarchy needs at least one component")
    if len(roots) == 1:
        return Hierarchy(group(roots[0], 0, "")), order
    categorical = fresh("c")
    options = tuple(group(root, 0, f"branch{i}") for i, root in enumerate(roots, 1))
    return Hierarchy(Group((Categorical(categorical, options),))), order
