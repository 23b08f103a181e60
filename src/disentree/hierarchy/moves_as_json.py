"""Moves as JSON has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from disentree.hierarchy.hierarchy import Hierarchy
from disentree.hierarchy.moving import Move


def move_to_dict(move: Move) -> dict[str, Any]:
    """A move, ready for JSON."""
    trees = {"before": move.before.to_dict(), "after": move.after.to_dict()}
    return {**trees, "sources": [list(own) for own in move.sources]}


def move_from_dict(about: Mapping[str, Any]) -> Move:
    """What `move_to_dict` was given."""
    trees = Hierarchy.from_dict(about["before"]), Hierarchy.from_dict(about["after"])
    return Move(*trees, tuple(tuple(map(int, own)) for own in about["sources"]))
