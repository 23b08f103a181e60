"""What a tree does not hold: components that enclose several others, of which a branch follows one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


def lost_in_words(
    hierarchy: Hierarchy,
    lost: Sequence[dict[str, Any]],
    matches: Sequence[Sequence[int]],
    name_of: Callable[[int], str],
) -> list[str]:
    """Sentences about enclosures that a hierarchy does not hold, one for each component that encloses more than it
    shows, and one for each match: columns that are the same variable on different branches. `name_of` gives the
    name of a path."""
    out = []
    for component in dict.fromkeys(one["component"] for one in lost):
        others = [name_of(one["parent"]) for one in lost if one["component"] == component]
        more = f"{name_of(component)} also encloses {_listed(others)}"
        out.append(
            f"{more[:1].upper()}{more[1:]}, which the tree cannot show: a branch of it grows from one leaf."
        )
    for columns in matches:
        names = _listed([hierarchy.variables[column].name for column in columns])
        out.append(f"{names} are the same variable on different branches.")
    return out


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
