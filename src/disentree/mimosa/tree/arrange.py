"""From the leaves that were chosen to the tree whose paths they are: a product of choices, or which leaf encloses
which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from disentree.hierarchy import Hierarchy
from disentree.mimosa.density.candidate import Candidate, NoLeaf
from disentree.mimosa.saving.folder import as_loaded
from disentree.mimosa.search.search import is_product
from disentree.mimosa.tree.building import directly_enclosed, fewest_lost, in_order, tree_from_parents
from disentree.mimosa.tree.enclosure import enclosures
from disentree.mimosa.tree.products import Factored, direct_parents, factored_leaves


@dataclass(frozen=True)
class Arrangement:
    """A tree, and leaves that are numbered by its paths.

    Attributes
    ----------
    hierarchy : Hierarchy
    candidate : Candidate
        The leaves, as they will be when a saved model is loaded: it predicts the same to the last bit.
    parents : list of int or None
        For each leaf the one that it encloses and is a child of.
    enclosed : list of tuple of int
        For each leaf all that it encloses with no other between.
    """

    hierarchy: Hierarchy
    candidate: Any
    parents: list[int | None]
    enclosed: list[tuple[int, ...]]


def arrange_leaves(found: Any, Z: Float[np.ndarray, "n D"]) -> Arrangement:
    """The tree of the chosen leaves.

    Parameters
    ----------
    found : Candidate or product
        What the judge chose.
    Z : array of shape (n, D)
        The rows that it was found on.

    Returns
    -------
    Arrangement
    """
    if is_product(found):
        return _as_product(found.hierarchy, found)
    dimensions = found.dimensions
    labels = found.posteriors(Z).argmax(axis=1)
    encloses, distance = enclosures(found, Z, labels)
    product = factored_leaves(dimensions, encloses, labels, Z.shape[1])
    if product is not None:
        return _as_product(product.hierarchy, _on_paths(product, found))
    direct = directly_enclosed(distance, encloses)
    parents = fewest_lost(dimensions, direct)
    hierarchy, order = tree_from_parents(dimensions, parents)
    chosen = Candidate(found.finder, [found.components[c] for c in order], found.shares[order], found.details)
    return Arrangement(hierarchy, as_loaded(chosen), *in_order(order, parents, direct))


def _as_product(hierarchy: Hierarchy, found: Any) -> Arrangement:
    enclosed = direct_parents(hierarchy)
    parents = [above[0] if above else None for above in enclosed]
    return Arrangement(hierarchy, as_loaded(found), parents, enclosed)


def _on_paths(product: Factored, found: Any) -> Candidate:
    """The leaves in the order of the paths of the product that they are combinations of."""
    leaves = [
        found.components[c] if c >= 0 else NoLeaf(path.dimension)
        for c, path in zip(product.leaf_of, product.hierarchy.paths, strict=True)
    ]
    shares = np.where(product.leaf_of >= 0, found.shares[product.leaf_of], 0.0)
    return Candidate(found.finder, leaves, shares, found.details)
