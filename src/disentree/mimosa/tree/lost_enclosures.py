"""What a tree does not hold: components that enclose several others, of which a branch follows one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from disentree.hierarchy import Hierarchy


def lost_variables(hierarchy: Hierarchy, component: int, parent: int) -> list[int]:
    """Variables of a path that another one, which encloses it, does not have in the hierarchy."""
    shared = hierarchy.paths[component].continuous
    return [column for column in hierarchy.paths[parent].continuous if column not in shared]


def lost_enclosures(hierarchy: Hierarchy, parents: Sequence[Sequence[int]]) -> list[dict[str, Any]]:
    """Enclosures that a hierarchy does not hold, given for each of its paths those that it encloses directly."""
    pairs = ((i, parent) for i, own in enumerate(parents) for parent in own)
    lost = ((i, parent, lost_variables(hierarchy, i, parent)) for i, parent in pairs)
    return [{"component": i, "parent": p, "variables": variables} for i, p, variables in lost if variables]
