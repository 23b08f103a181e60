"""How alike two trees of the same rows are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from disentree.hierarchy import Hierarchy
from disentree.mimosa.explain.factors import factor_likeness, jaccard
from disentree.mimosa.finders.constants import FINDERS


@dataclass(frozen=True)
class Found:
    """A tree and where its rows are, as far as two of them are compared."""

    hierarchy: Hierarchy
    labels: Int[np.ndarray, " n"]
    parents: Sequence[int | None]  # for every path the one that it encloses

    def __getitem__(self, rows: Int[np.ndarray, " m"]) -> Found:
        return Found(self.hierarchy, self.labels[rows], self.parents)

    @property
    def branches(self) -> list[tuple[int, int]]:
        """Column of a categorical and option, for every option of the tree."""
        return [(v.index, k) for v in self.hierarchy.variables for k in range(v.n_options)]

    @property
    def on_branch(self) -> Bool[np.ndarray, "paths branches"]:
        """Which paths go through which branches."""
        choices = [set(path.choices) for path in self.hierarchy.paths]
        return np.array([[b in own for b in self.branches] for own in choices], dtype=bool).reshape(
            len(choices), len(self.branches)
        )


def compare(found: Found, again: Found) -> dict[str, Any]:
    """How alike two trees of the same rows are, leaf by leaf and branch by branch."""
    known = (found.labels >= 0) & (again.labels >= 0)
    n_paths, n_again = len(found.hierarchy.paths), len(again.hierarchy.paths)
    both = np.bincount(found.labels[known] * n_again + again.labels[known], minlength=n_paths * n_again)
    both = both.reshape(n_paths, n_again).astype(float)
    leaves = jaccard(both, np.eye(n_paths, dtype=bool), np.eye(n_again, dtype=bool))
    branches = jaccard(both, found.on_branch, again.on_branch)
    likest = leaves.argmax(axis=1)
    nearest = leaves.max(axis=1)
    there = both.sum(axis=1) > 0
    back_to = {int(likest[c]): c for c in range(n_paths) if there[c] and nearest[c] >= FINDERS.most}
    parents = [again.parents[k] for k in likest]
    parents = [None if p is None else back_to.get(p, -1) for p in parents]
    dimensions = [again.hierarchy.paths[k].dimension for k in likest]
    same = (
        n_paths == n_again
        and len(back_to) == n_paths
        and parents == list(found.parents)
        and dimensions == [path.dimension for path in found.hierarchy.paths]
    )
    factors = factor_likeness(found.hierarchy, again.hierarchy, both)
    if factors:  # rare combinations do not decide whether a product is the same
        alike = all(likeness is None or likeness >= FINDERS.most for likeness in factors)
        same = alike and found.hierarchy.canonical() == again.hierarchy.canonical()
    through = both.sum(axis=1) @ found.on_branch > 0
    likest_branch = branches.max(axis=1, initial=0.0)
    return {
        "components": n_again,
        "same_tree": bool(same),
        "jaccard": [float(j) if ok else None for j, ok in zip(nearest, there, strict=True)],
        "dimensions": [int(d) if ok else None for d, ok in zip(dimensions, there, strict=True)],
        "parents": parents,
        "branches": [float(j) if ok else None for j, ok in zip(likest_branch, through, strict=True)],
        "factors": factors,
    }
