"""Which variables of a tree are the same: a leaf that encloses leaves of other branches shares theirs.

Judged by linear maps of the leaves. Along a variable of the enclosed leaf, those of the enclosing leaf change;
where one of them alone does, both are the same. A variable that begins in the enclosing leaf has a direction of
its own only as far as codes are independent, and may be turned if that does not make them more dependent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from disentree.geometry.maps.linear_maps import LinearMaps
from disentree.geometry.maps.matched import course, first_path, turned
from disentree.mimosa.tree.constants import TREE


def match_variables(
    maps: LinearMaps,
    lost: Sequence[dict[str, Any]],
    Y: Float[np.ndarray, "n r"],
    paths: Int[np.ndarray, " n"],
) -> list[list[int]]:
    """Columns that are the same variable: one of an enclosing leaf, then those of enclosed leaves. From maps of
    the leaves, enclosures that the tree does not hold (`lost_enclosures`), rows and their paths."""
    matches: dict[int, list[int]] = {}
    used: set[int] = set()
    for one in lost:
        outer, inner = one["component"], one["parent"]
        rows = Y[paths == outer]
        own = np.flatnonzero(maps.items.continuous[outer])
        if len(rows) < 2 * TREE.bins**2 or not len(own):
            continue
        for column in one["variables"]:
            if column in used or column in matches:
                continue
            found = course(maps, outer, inner, column)
            codes = maps.encode(rows, np.full(len(rows), outer))[:, maps.items.columns[own]]
            change = np.square(found.slopes / np.maximum(codes.std(axis=0), 1e-300))
            shares = change / max(float(change.sum()), 1e-300)
            if found.missed > TREE.some or not change.sum() > 0:
                continue
            at = int(shares.argmax())
            reference = int(maps.items.columns[own[at]])
            if shares[at] < TREE.alone or reference in used:
                turn = _turn(maps, outer, shares, matches, used)
                if turn is None or _more_dependent(codes, found.slopes, turn) > TREE.turned:
                    continue
                at, reference = turn, int(maps.items.columns[own[turn]])
            if first_path(maps, reference) == outer and reference not in matches:
                maps = turned(maps, outer, inner, reference, column)
            matches.setdefault(reference, [reference]).append(column)
            used.add(column)
    return list(matches.values())


def _turn(
    maps: LinearMaps, outer: int, shares: Float[np.ndarray, " d"], matches: dict[int, list[int]], used: set[int]
) -> int | None:
    """The variable that begins in a leaf and may be turned: of those that do, it alone changes."""
    columns = maps.items.columns[maps.items.continuous[outer]]
    begins = np.array([first_path(maps, int(c)) == outer for c in columns])
    free = np.array([int(c) not in matches and int(c) not in used for c in columns])
    among = np.where(begins, shares, 0.0)
    at = int(among.argmax())
    is_alone = among[at] >= TREE.alone * among.sum() and among[at] >= TREE.some
    return at if is_alone and begins[at] and free[at] else None


def _more_dependent(codes: Float[np.ndarray, "n d"], slopes: Float[np.ndarray, " d"], at: int) -> float:
    """By how many nats the other variables of a leaf would be more dependent on one that is turned."""
    total = 0.0
    for k in np.flatnonzero(np.arange(codes.shape[1]) != at):
        after = codes[:, k] - slopes[k] / slopes[at] * codes[:, at]
        total += information(after, codes[:, at]) - information(codes[:, k], codes[:, at])
    return total


def information(x: Float[np.ndarray, " n"], y: Float[np.ndarray, " n"]) -> float:
    """Mutual information in nats of two variables, each in bins of equally many rows."""
    ranks = [np.argsort(np.argsort(v, kind="stable"), kind="stable") * TREE.bins // len(v) for v in (x, y)]
    counts = np.zeros((TREE.bins, TREE.bins))
    np.add.at(counts, tuple(ranks), 1.0)
    p = counts / counts.sum()
    independent = p.sum(axis=1, keepdims=True) * p.sum(axis=0, keepdims=True)
    some = p > 0
    return float((p[some] * np.log(p[some] / independent[some])).sum())
