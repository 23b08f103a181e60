"""Where variables stand: what does the same on all branches of a choice stands once, above it.

A variable of a leaf is a direction, known with errors: across the leaf those of the noise, within it those of
independent components. Two variables do the same if one direction describes both in fewer bits than two do: if
their difference is likelier to be an error than the difference of two directions of any variables. Sign and unit
do not count. Variables that no rows tell from any mixture of them (Gaussian ones) may be turned, each once.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int
from scipy.special import gammaln

from disentree.geometry.maps.bent_factors import bent_maps, is_bent
from disentree.geometry.maps.effects import same_effects
from disentree.geometry.maps.leaf_factors import ROWS_PER_DIMENSION, assign_columns
from disentree.geometry.maps.leaf_spans import clouds_of
from disentree.geometry.maps.linear_maps import BY_CHANCE, factors_of, is_tree
from disentree.geometry.maps.matched import NEGLIGIBLE
from disentree.geometry.maps.sharing import Item, Sharing, may_share
from disentree.hierarchy import Hierarchy, Move
from disentree.mimosa.tree.building import named, numbered
from disentree.mimosa.tree.constants import TREE

# From coordinates of rows to what they were made of.
ToColumns = Callable[[Float[np.ndarray, "n r"]], Float[np.ndarray, "n p"]]


@dataclass(frozen=True)
class Frame:
    """The variables of a leaf: how each moves a row per deviation, and how well that is known."""

    columns: tuple[int, ...]
    directions: Float[np.ndarray, "d r"]
    moments: Float[np.ndarray, "d 2"]  # fourth (less that of a Gaussian) and sixth
    noise: Float[np.ndarray, "r r"]  # covariance of the rows' distances from the leaf
    n_rows: int
    fixed: frozenset[int] = frozenset()  # those that are shared and may not be turned any more

    def variable(self, at: int, columns: tuple[int, ...], option: int) -> Same:
        """One of the variables, that of these columns, as an option of a choice has it."""
        length = max(float(np.linalg.norm(self.directions[at])), NEGLIGIBLE)
        return Same(columns, frozenset([option]), self.directions[at] / length, self.errors(at) / length**2)

    def errors(self, at: int) -> Float[np.ndarray, "r r"]:
        """The covariance of the error of a direction, but for its length."""
        out = self.noise / self.n_rows
        for j, other in enumerate(self.directions):
            if j != at:
                out += self._turn(at, j) * np.outer(other, other)
        return out

    def _turn(self, i: int, j: int) -> float:
        """The variance of the angle between two independent components (of symmetric FastICA with a cube), at
        most that of any turn."""
        if i in self.fixed or j in self.fixed:
            return 1 / self.n_rows
        fourth, sixth = self.moments[[i, j]].T
        told = np.where(np.abs(fourth) > BY_CHANCE * np.sqrt(24 / self.n_rows), np.abs(fourth), 0.0).sum()
        if not told:
            return 1.0
        # no less than of any numbers with these fourth moments: sixth ones are those from before a turn
        spread = float(np.maximum(sixth - (fourth + 3) ** 2, 0.0).sum() + fourth[1] ** 2)
        return min(1.0, spread / told**2 / self.n_rows)

    def turned(self, at: int, to: Float[np.ndarray, " r"]) -> Frame:
        """With one direction turned toward another within the leaf, and then fixed; those not fixed make room."""
        d = len(self.columns)
        goal = to @ np.linalg.pinv(self.directions, rcond=NEGLIGIBLE)
        goal[list(self.fixed)] = 0.0
        length, start = float(np.linalg.norm(goal)), np.eye(d)[at]
        if length <= NEGLIGIBLE:
            return replace(self, fixed=self.fixed | {at})
        goal *= (1 if goal[at] >= 0 else -1) / length
        between = start + goal  # the rotation in their plane that takes one to the other
        turn = np.eye(d) - np.outer(between, between) / (1 + goal[at]) + 2 * np.outer(goal, start)
        directions, moments = turn.T @ self.directions, self.moments.copy()
        moments[:, 0] = (turn.T**4) @ self.moments[:, 0]
        return replace(self, directions=directions, moments=moments, fixed=self.fixed | {at})


@dataclass(frozen=True, eq=False)
class Same(Item):
    """A variable by what it does to a row."""

    direction: Float[np.ndarray, " r"]
    errors: Float[np.ndarray, "r r"]


def frames_of(
    Y: Float[np.ndarray, "n r"], hierarchy: Hierarchy, paths: Int[np.ndarray, " n"], rng: np.random.Generator
) -> dict[int, Frame]:
    """The frames of leaves whose rows are enough to tell them, in coordinates in which directions of variables
    have the same extent in all ways; those in which they differ by their errors alone are left out."""
    leaves = factors_of(Y, hierarchy, clouds_of(Y, hierarchy, paths), rng)
    columns = assign_columns(hierarchy, leaves)
    found = {}
    for path, leaf in leaves.items():
        n, d = leaf.factors.shape
        spread = leaf.factors.std(axis=0)
        if not d or n < ROWS_PER_DIMENSION * d or spread.min() <= 0:
            continue
        codes = (leaf.factors - leaf.factors.mean(axis=0)) / spread
        moments = np.column_stack([(codes**4).mean(axis=0) - 3, (codes**6).mean(axis=0)])
        rows, directions = Y[paths == path], (leaf.mixing * spread).T
        off = rows - rows.mean(axis=0)
        off -= off @ np.linalg.pinv(directions, rcond=NEGLIGIBLE) @ directions
        found[path] = Frame(tuple(columns[path]), directions, moments, off.T @ off / len(off), n)
    if not found:
        return {}
    every = np.concatenate([frame.directions for frame in found.values()])
    values, vectors = np.linalg.eigh(every.T @ every / len(every))
    by_chance = np.mean([np.diag(vectors.T @ f.noise @ vectors) / f.n_rows for f in found.values()], axis=0)
    kept = values > np.maximum(BY_CHANCE**2 * by_chance, NEGLIGIBLE * values[-1])
    white = vectors[:, kept] / np.sqrt(values[kept])
    return {
        path: replace(f, directions=f.directions @ white, noise=white.T @ f.noise @ white)
        for path, f in found.items()
    }


def joined(a: Same, b: Same) -> tuple[float, Same]:
    """The nats that one direction for both saves over two, and both as one. Errors follow Student's distribution:
    of few rows they may be several times as large as is known."""
    sign = 1.0 if a.direction @ b.direction >= 0 else -1.0
    difference, errors, r = a.direction - sign * b.direction, a.errors + b.errors, len(a.direction)
    across = np.linalg.qr((a.direction + sign * b.direction)[:, None], mode="complete")[0][:, 1:]
    values, vectors = np.linalg.eigh(across.T @ errors @ across)
    # beside a large error one of nearly none is rounding, which what is divided by it would multiply
    values, axes = np.maximum(values, NEGLIGIBLE * values.max(initial=1.0)), across @ vectors
    off, either = np.square(difference @ axes), values + 2 / r  # of directions that are drawn at random
    saved = 0.5 * float((np.log(either / values) + off / either).sum()) + _student(off / values)
    of_a, of_b = (axes.T @ errors @ axes for errors in (a.errors, b.errors))  # those of lengths do not count
    weight = of_a / values
    keep = np.eye(r - 1) - weight
    direction = a.direction - axes @ weight @ (difference @ axes)
    combined = axes @ (keep @ of_a @ keep.T + weight @ of_b @ weight.T) @ axes.T
    both = a.columns + b.columns, a.options | b.options
    return saved, Same(*both, direction / max(float(np.linalg.norm(direction)), NEGLIGIBLE), combined)


def _student(squares: Float[np.ndarray, " k"]) -> float:
    """The logarithm of its density at squared deviations, over the height of a Gaussian's."""
    k, nu = len(squares), TREE.freedom
    height = gammaln((nu + k) / 2) - gammaln(nu / 2) - k / 2 * math.log(nu / 2)
    return float(height - (nu + k) / 2 * math.log1p(squares.sum() / nu))


class Placing(Sharing[Same]):
    """By the directions of flat leaves."""

    def __init__(self, hierarchy: Hierarchy, frames: dict[int, Frame]):
        super().__init__(hierarchy)
        self.frames = frames
        smallest = sorted(hierarchy.paths, key=lambda path: (-path.dimension, -path.index))
        self.home = {column: path.index for path in smallest for column in path.continuous}

    def item(self, columns: tuple[int, ...], option: int) -> Same | None:
        """A variable as its leaf of fewest variables has it."""
        path = self.home[columns[0]]
        if path not in self.frames:  # too few rows
            return None
        frame = self.frames[path]
        return frame.variable(frame.columns.index(columns[0]), columns, option)

    def grouped(self, items: list[Same]) -> list[Same]:
        """The variables of the options of a choice, those that do the same as one; the surest first."""
        tried: dict[tuple[Same, Same], tuple[float, Same]] = {}
        while True:
            pairs = [(a, b) for a, b in itertools.combinations(items, 2) if not a.options & b.options]
            tried |= {pair: joined(*pair) for pair in pairs if pair not in tried}
            best = max(pairs, key=lambda pair: tried[pair][0], default=None)
            if best is None or tried[best][0] <= 0:
                return items
            new = tried[best][1]
            changed = set()
            for one in best:
                if len(one.options) == 1:
                    path = self.home[one.columns[0]]
                    frame = self.frames[path]
                    self.frames[path] = frame.turned(frame.columns.index(one.columns[0]), new.direction)
                    changed.add(path)
            items = [self.anew(item, changed) for item in items if item not in best] + [new]

    def anew(self, item: Same, changed: set[int | None]) -> Same:
        if len(item.options) > 1 or self.home[item.columns[0]] not in changed:
            return item
        return self.item(item.columns, *item.options) or item


def same_variables(
    hierarchy: Hierarchy,
    Y: Float[np.ndarray, "n r"],
    paths: Int[np.ndarray, " n"],
    rng: np.random.Generator,
    columns_of: ToColumns = lambda Y: Y,
) -> tuple[list[list[int]], list[list[int]]]:
    """Columns that are one variable on all branches of a choice, and those that are one on some of them. From rows
    and their paths; curved leaves by what their variables do to the columns that rows were made of."""
    if not is_tree(hierarchy.root) or not may_share(hierarchy.root):
        return [], []
    if any(is_bent(Y[paths == path.index], path.dimension) for path in hierarchy.paths):
        rows = columns_of(Y)
        unit = rows.std(axis=0)
        rows = (rows - rows.mean(axis=0)) / np.where(unit > NEGLIGIBLE * unit.max(), unit, 1.0)
        return same_effects(hierarchy, *bent_maps(hierarchy, rows, paths, rng), rng)[:2]
    return Placing(hierarchy, frames_of(Y, hierarchy, paths, rng)).found()


def moved(hierarchy: Hierarchy, same: Sequence[Sequence[int]]) -> Move:
    """The hierarchy with these variables moved up, and those without a name of their own numbered anew."""
    move = hierarchy.move_up(same)
    fresh = numbered()

    def name(old: str) -> str:
        return fresh("z") if re.fullmatch(r"z\d+(/z\d+)*", old) else old

    return replace(move, after=Hierarchy(named(move.after.root, name)))
