"""Algorithm 7, ConstructHierarchy: the tree of components, from which one encloses which."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from disentree.hierarchy import Hierarchy
from disentree.mimosa.tree.building import directly_enclosed, enclosure_ratios, nearest_parents, tree_from_parents


def construct_hierarchy(
    Z: Float[np.ndarray, "n D"],
    components: Sequence[Int[np.ndarray, " _"]],
    dimensions: Sequence[int],
    neighbor_lengthscale_mult: float,
    n_jobs: int = -1,
) -> tuple[Hierarchy, list[int], list[int | None], list[tuple[int, ...]]]:
    """Algorithm 7.

    A component encloses one of lower dimension if the mean distance from all points of the *lower* to their
    nearest in the higher is at most `neighbor_lengthscale_mult` times the mean distance between nearest neighbors
    in the higher. The algorithm's box measures from the higher to the lower; the paper's section on
    hyperparameters and the published code measure as here.

    Returns the hierarchy, the component of each of its paths, the parent of each component, and all components
    that each one encloses with no other between, the nearest first: its parent and others.
    """
    ratios = enclosure_ratios(Z, components, dimensions, n_jobs)
    direct = directly_enclosed(ratios, ratios <= neighbor_lengthscale_mult)
    parents = nearest_parents(direct)
    hierarchy, order = tree_from_parents(dimensions, parents)
    return hierarchy, order, parents, direct
