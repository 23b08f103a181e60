"""Moves as JSON has them, beside the tree that they lead to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from disentree.hierarchy.hierarchy import Hierarchy
from disentree.hierarchy.moving import Move


def move_to_dict(move: Move) -> dict[str, Any]:
    """A move, ready for JSON."""
    return {"before": move.before.to_dict(), "sources": [list(own) for own in move.sources]}


def move_from_dict(about: Mapping[str, Any], after: Hierarchy) -> Move:
    """What `move_to_dict` was given; ValueError if it cannot be a move to this tree."""
    before = Hierarchy.from_dict(about["before"])
    sources = tuple(tuple(map(int, own)) for own in about["sources"])
    columns = {column for own in sources for column in own}
    kinds = [
        {before.variables[column].kind for column in own}
        for own in sources
        if columns <= {*range(before.n_variables)}
    ]
    if kinds != [{v.kind} for v in after.variables] or len(columns) != before.n_variables:
        raise ValueError("sources must be columns of the tree before, of the same kind, each of them once or more")
    if [p.choices for p in after.paths] != [_moved(p.choices, sources) for p in before.paths]:
        raise ValueError("before must be a tree of the same paths")
    return Move(before, after, sources)


def _moved(
    choices: tuple[tuple[int, int], ...], sources: tuple[tuple[int, ...], ...]
) -> tuple[tuple[int, int], ...]:
    return tuple((next(i for i, own in enumerate(sources) if column in own), k) for column, k in choices)
