"""From the leaves that were chosen to the tree whose paths they are: a product of choices, or which leaf encloses
which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from disentree.hierarchy import Hierarchy
from disentree.mimosa.density.candidate import Candidate, LeafCandidate, NoLeaf, contiguous
from disentree.mimosa.tree.building import directly_enclosed, fewest_lost, in_order, tree_from_parents
from disentree.mimosa.tree.enclosure import enclosures
from disentree.mimosa.tree.products import direct_parents, factored_leaves, hierarchy_of


@dataclass(frozen=True)
class Arrangement:
    """A tree, and leaves that are numbered by its paths."""

    hierarchy: Hierarchy
    candidate: Candidate  # its arrays lie in memory as those of a loaded model, which predicts the same to the bit
    parents: list[int | None]  # for each leaf the one that it encloses and is a child of
    enclosed: list[tuple[int, ...]]  # for each leaf all that it encloses with no other between
    order: Sequence[int] = ()  # of the leaves as they were found; none for a product


def arrange_leaves(found: Candidate, Z: Float[np.ndarray, "n D"]) -> Arrangement:
    """The tree of the chosen leaves, given the rows that they were found on."""
    if found.product is not None:
        return _as_product(hierarchy_of(found.product.choices, found.product.base, found.product.sizes)[0], found)
    dimensions = found.dimensions
    labels = found.posteriors(Z).argmax(axis=1)
    encloses, distance = enclosures(found, Z, labels)
    product = factored_leaves(dimensions, encloses, labels, Z.shape[1])
    if product is not None:
        hierarchy, leaf_of = product
        # the leaves in the order of the paths of the product that they are combinations of
        leaves = [
            found.components[c] if c >= 0 else NoLeaf(path.dimension)
            for c, path in zip(leaf_of, hierarchy.paths, strict=True)
        ]
        shares = np.where(leaf_of >= 0, found.shares[leaf_of], 0.0)
        return _as_product(hierarchy, LeafCandidate(found.finder, leaves, shares))
    direct = directly_enclosed(distance, encloses)
    parents = fewest_lost(dimensions, direct)
    hierarchy, order = tree_from_parents(dimensions, parents)
    leaves = [found.components[c] for c in order]
    chosen = LeafCandidate(found.finder, leaves, found.shares[order], is_apart=found.is_apart)
    return Arrangement(hierarchy, contiguous(chosen), *in_order(order, parents, direct), order)


def _as_product(hierarchy: Hierarchy, found: Candidate) -> Arrangement:
    enclosed = direct_parents(hierarchy)
    parents = [above[0] if above else None for above in enclosed]
    return Arrangement(hierarchy, contiguous(found), parents, enclosed)
