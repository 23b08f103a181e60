"""Which variables of different branches are the same: a leaf that encloses leaves of other branches shares theirs.

They are compared like variables that may stand above a choice (`placing.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from disentree.hierarchy import Hierarchy
from disentree.mimosa.tree.placing import frames_of, joined


def match_variables(
    hierarchy: Hierarchy,
    lost: Sequence[dict[str, Any]],
    Y: Float[np.ndarray, "n r"],
    paths: Int[np.ndarray, " n"],
    rng: np.random.Generator,
) -> list[list[int]]:
    """Columns that are the same variable: one of an enclosing leaf, then those of enclosed leaves. From enclosures
    that the tree does not hold (`lost_enclosures`), rows and their paths."""
    frames = frames_of(Y, hierarchy, paths, rng)
    matches: dict[int, list[int]] = {}
    used: set[int] = set()
    for one in lost:
        if not {one["component"], one["parent"]} <= frames.keys():  # too few rows
            continue
        outer, inner = frames[one["component"]], frames[one["parent"]]
        for column in one["variables"]:
            if column in used or column in matches:
                continue
            theirs = inner.variable(inner.columns.index(column), (column,), 0)
            tried = {}
            for own in outer.columns:
                if own not in used:
                    # as the smallest leaf has it, which knows its direction best
                    has = (frame for frame in frames.values() if own in frame.columns)
                    smallest = min(has, key=lambda frame: len(frame.columns))
                    tried[own] = joined(theirs, smallest.variable(smallest.columns.index(own), (own,), 1))
            reference = max(tried, key=lambda own: tried[own][0], default=None)
            if reference is not None and tried[reference][0] > 0:
                matches.setdefault(reference, [reference]).append(column)
                used.add(column)
                # what rows alone did not tell about its direction is known now
                outer = outer.turned(outer.columns.index(reference), tried[reference][1].direction)
                frames[one["component"]] = outer
    return list(matches.values())
