"""One variable on two branches: linear maps whose codes agree where a leaf encloses a leaf of another branch.

A tree gives a leaf one parent. A leaf that encloses others beside it shares variables with them, which the tree
has twice: once on each branch. Where two of them are known to be the same variable, the codes can be given the
same zero, sign and unit, so that a row of the enclosed leaf has the same code on both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from disentree.geometry.maps.additive import AdditiveMap
from disentree.geometry.maps.linear_maps import LinearMaps

NEGLIGIBLE = 1e-9  # of a variable's extent: there is no direction to agree on


@dataclass(frozen=True)
class Course:
    """How a variable of an enclosed leaf runs within a leaf that encloses it."""

    # What the enclosing leaf's variables, in the order of their columns, change by for a unit of it.
    slopes: Float[np.ndarray, " d"]
    start: Float[np.ndarray, " d"]  # their values where the variables of the enclosed leaf are 0
    missed: float  # the part of its extent that is not within the span of the enclosing leaf
    apart: float  # how far from that span the enclosed leaf lies, by the extent of the variable


def course(maps: LinearMaps, outer: int, inner: int, column: int) -> Course:
    """How a variable of the path of the enclosed leaf runs in the coordinates of that of the enclosing one."""
    columns, active = maps.items.columns, maps.items.continuous[outer]
    direction = maps.directions[inner, np.searchsorted(columns, column)]
    own = maps.directions[outer][active]
    inverse = np.linalg.pinv(own, rcond=1e-9)
    slopes = direction @ inverse
    extent = max(float(np.linalg.norm(direction)), 1e-300)
    missed = float(np.linalg.norm(direction - slopes @ own)) / extent
    gap = maps.means[inner] - maps.means[outer]
    start = gap @ inverse
    return Course(slopes, start, missed, float(np.linalg.norm(gap - start @ own)) / extent)


def aligned(maps: LinearMaps, matches: Sequence[Sequence[int]]) -> LinearMaps:
    """The same maps with other codes: variables that are the same on different branches have the same values.

    A match is the column of a variable of a leaf that encloses others, then columns of variables of those.
    Reconstructions do not change. The first variable keeps its codes. If it begins in the leaf that encloses the
    others, it is turned to run along the second variable, and other variables of that leaf make up for it; then
    all others take its zero, sign and unit. On leaves that lie apart they take its sign: zero and unit are those
    of their rows.
    """
    for reference, *others in matches:
        for i, column in enumerate(others):
            outer, inner = enclosing_path(maps, reference, column), first_path(maps, column)
            if outer is None or inner is None:
                continue
            found = course(maps, outer, inner, column)
            if found.apart > 1:
                at = _place(maps, outer, reference)
                maps = _rescaled(maps, column, -1.0 if found.slopes[at] < 0 else 1.0, 0.0)
                continue
            if i == 0 and outer == first_path(maps, reference):
                maps = turned(maps, outer, inner, reference, column)
            found = course(maps, outer, inner, column)
            at = _place(maps, outer, reference)
            if abs(found.slopes[at]) > NEGLIGIBLE:
                maps = _rescaled(maps, column, float(found.slopes[at]), float(found.start[at]))
    return maps


def first_path(maps: LinearMaps, column: int) -> int | None:
    """The path of fewest variables that has this one."""
    having = [path for path in maps.hierarchy.paths if column in path.continuous]
    return min(having, key=lambda path: (path.dimension, path.index)).index if having else None


def enclosing_path(maps: LinearMaps, reference: int, column: int) -> int | None:
    """The path that has one variable, lacks another and best holds its direction; of fewest variables, if several
    hold it about as well."""
    inner = first_path(maps, column)
    having = [p for p in maps.hierarchy.paths if reference in p.continuous and column not in p.continuous]
    if inner is None or not having:
        return None
    missed = {p.index: course(maps, p.index, inner, column).missed for p in having}
    limit = min(missed.values()) + 0.1
    near = [p for p in having if missed[p.index] <= limit]
    return min(near, key=lambda p: (p.dimension, p.index)).index


def turned(maps: LinearMaps, outer: int, inner: int, reference: int, column: int) -> LinearMaps:
    """The same maps with a variable of an enclosing leaf turned to run along that of an enclosed one.

    Its codes stay. Those of the leaf's other variables change by what it no longer does, and not at all on the
    leaf that the tree has above it.
    """
    found = course(maps, outer, inner, column)
    at, columns = _place(maps, outer, reference), maps.items.columns
    if abs(found.slopes[at]) <= NEGLIGIBLE:
        return maps
    tilt = found.slopes / found.slopes[at]
    tilt[at] = 0.0
    weights = np.zeros(len(columns))
    weights[maps.items.continuous[outer]] = tilt
    pivot = _pivot(maps, outer, reference)
    own = int(np.searchsorted(columns, reference))
    means, directions = maps.means.copy(), maps.directions.copy()
    for path in np.flatnonzero(maps.items.continuous[:, own]):
        step = weights @ maps.directions[path]
        means[path] -= pivot * step
        directions[path, own] += step
    additive = maps.additive
    if additive is not None:
        step = weights @ additive.directions
        own_directions = additive.directions.copy()
        own_directions[own] += step
        base, effects = additive.base.copy(), additive.effects.copy()
        opener = maps.items.opener[own]
        (base if opener < 0 else effects[opener])[:] -= pivot * step
        additive = AdditiveMap(base, effects, own_directions)
    return replace(maps, means=means, directions=directions, additive=additive)


def _pivot(maps: LinearMaps, outer: int, reference: int) -> float:
    """The value of a variable on the leaf above the one that it begins in; 0 if there is none."""
    own = set(maps.hierarchy.paths[outer].continuous)
    above = [p for p in maps.hierarchy.paths if set(p.continuous) < own and p.dimension]
    if not above:
        return 0.0
    nearest = max(above, key=lambda p: (p.dimension, -p.index)).index
    inverse = np.linalg.pinv(maps.directions[outer][maps.items.continuous[outer]], rcond=1e-9)
    return float(((maps.means[nearest] - maps.means[outer]) @ inverse)[_place(maps, outer, reference)])


def _place(maps: LinearMaps, path: int, column: int) -> int:
    """Which of the variables of a path, in the order of their columns, is this one."""
    return int(np.searchsorted(maps.items.columns[maps.items.continuous[path]], column))


def _rescaled(maps: LinearMaps, column: int, slope: float, start: float) -> LinearMaps:
    """The same maps of a variable that was multiplied by `slope`, and to which `start` was then added."""
    own = int(np.searchsorted(maps.items.columns, column))
    on = maps.items.continuous[:, own]
    means, directions = maps.means.copy(), maps.directions.copy()
    means[on] -= start / slope * directions[on, own]
    directions[on, own] /= slope
    additive = maps.additive
    if additive is not None:
        n = len(maps.items.columns)
        mean, scale = np.zeros(n), np.ones(n)
        mean[own], scale[own] = -start / slope, 1 / slope
        additive = additive.rescaled(maps.items, mean, scale)
    return replace(maps, means=means, directions=directions, additive=additive)
