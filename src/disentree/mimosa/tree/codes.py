"""Codes within the leaves of a tree, in closed form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from disentree.geometry.maps.choosing import choose_map, fit_codes
from disentree.hierarchy import Hierarchy
from disentree.mimosa.constants import FIT
from disentree.mimosa.tree.matching import match_variables
from disentree.mimosa.tree.placing import ToColumns, same_variables

# From rows and their paths to codes.
Encode = Callable[[Float[np.ndarray, "n D"], Int[np.ndarray, " n"]], Float[np.ndarray, "n v"]]


@dataclass(frozen=True, eq=False)
class LeafMaps:
    """Codes of rows that are on given paths, by affine maps of the leaves: fitted to labeled rows in the
    embedding, or to the features of a table, when they are first asked for."""

    Z: Float[np.ndarray, "n D"]
    hierarchy: Hierarchy
    labels: Int[np.ndarray, " n"]
    matches: Sequence[Sequence[int]]

    @cached_property
    def encode(self) -> Encode:
        rows, rng = _some_rows(self.labels)
        return fit_codes(self.Z[rows], self.hierarchy, self.labels[rows], rng, self.matches).encode


def find_matches(
    hierarchy: Hierarchy,
    lost: Sequence[dict[str, Any]],
    Z: Float[np.ndarray, "n D"],
    labels: Int[np.ndarray, " n"],
) -> list[list[int]]:
    """Variables of different branches that are the same, where leaves enclose several others."""
    if not lost or choose_map(hierarchy, Z.shape[1]) == "additive":
        return []
    rows, rng = _some_rows(labels)
    return match_variables(hierarchy, lost, Z[rows], labels[rows], rng)


def find_same(
    hierarchy: Hierarchy, Z: Float[np.ndarray, "n D"], labels: Int[np.ndarray, " n"], columns_of: ToColumns
) -> tuple[list[list[int]], list[list[int]]]:
    """Variables that do the same on all branches of a choice, and those that do on some of them."""
    if choose_map(hierarchy, Z.shape[1]) == "additive":
        return [], []
    rows, rng = _some_rows(labels)
    return same_variables(hierarchy, Z[rows], labels[rows], rng, columns_of)


def _some_rows(labels: Int[np.ndarray, " n"]) -> tuple[Int[np.ndarray, " m"], np.random.Generator]:
    """Rows that maps are fitted to, and the generator that has chosen them."""
    rng, rows = np.random.default_rng(0), np.flatnonzero(labels >= 0)
    return rows if len(rows) <= FIT.landmarks else np.sort(rng.choice(rows, FIT.landmarks, replace=False)), rng
