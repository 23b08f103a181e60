"""Variables of curved leaves and images that do the same on different branches, by what a decoder makes of them.

The variables of leaves are paired by their main effects: the course of the mean decoded row along each. Then the
leaves are decoded at the same ranks of the paired variables, and it is compared how rows change with each. Two
variables do the same if their changes point the same way by more than those of variables that are no pair: if the
one direction tells the other in more nats than it takes to say which two of all pairs, with either sign, it are.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from scipy.optimize import linear_sum_assignment

from disentree.geometry.maps.leaf_factors import ROWS_PER_DIMENSION
from disentree.geometry.maps.sharing import Item, Sharing, may_share
from disentree.hierarchy import Hierarchy

Decode = Callable[[Float[np.ndarray, "n v"]], Float[np.ndarray, "n p"]]
Effect = Float[np.ndarray, "n p"]  # at some points, as vectors of length 1
ORDERS = np.arange(1, 5)  # cosines of the ranks, that main effects are made of
ROWS = 384  # decoded rows of a leaf for its main effects
POINTS, STEP = 128, 0.04  # where changes are compared, over so much of the ranks to either side
NUMBERS = 2e7  # decoded for a leaf at once: fewer points for large rows
PAIRS = 4000  # of changes, to measure in how many dimensions they lie


@dataclass(frozen=True, eq=False)
class Moving(Item):
    """A variable by the changes of rows that it makes; `signs` of its columns, relative to each other."""

    signs: tuple[int, ...]
    effect: Effect | None = None
    n_beside: int = 1  # variables of its branch

    def with_(self, other: Moving) -> Moving:
        """Both as one, which have the same sign."""
        assert self.effect is not None
        assert other.effect is not None
        both = self.columns + other.columns, self.options | other.options, self.signs + other.signs
        return Moving(*both, _units(self.effect + other.effect), min(self.n_beside, other.n_beside))


class Effects(Sharing[Moving]):
    """By the effects of a decoder."""

    def __init__(
        self, hierarchy: Hierarchy, codes: Float[np.ndarray, "n v"], decode: Decode, rng: np.random.Generator
    ):
        super().__init__(hierarchy)
        self.decode, self.rng = decode, rng
        on = hierarchy.path_of(codes)
        self.rows = {path.index: codes[on == path.index] for path in hierarchy.paths}
        self.signs: dict[int, int] = {}  # of columns, relative to others of the same variable

    def leaf_of(self, choices: Sequence[Moving]) -> int | None:
        """The smallest leaf with all of these variables, of those with rows enough."""
        for path in sorted(self.hierarchy.paths, key=lambda path: (path.dimension, path.index)):
            has = all(set(item.columns) & set(path.continuous) for item in choices)
            if has and len(self.rows[path.index]) >= ROWS_PER_DIMENSION * max(path.dimension, 1):
                return path.index
        return None

    def item(self, columns: tuple[int, ...], option: int) -> Moving:
        return Moving(columns, frozenset([option]), tuple(self.signs.get(c, 1) for c in columns))

    def grouped(self, items: list[Moving]) -> list[Moving]:
        options = sorted({k for item in items for k in item.options})
        own = {k: [item for item in items if k in item.options] for k in options}
        leaves = {k: self.leaf_of(own[k]) for k in options}
        known = [k for k in options if leaves[k] is not None]
        if len(known) < 2:
            return items
        views = [View(self, leaves[k], own[k]) for k in known]
        slots = paired(views)
        joined = self._joined(views, slots, len(options))
        for item in joined:
            self.signs |= dict(zip(item.columns, item.signs, strict=True))
        return [item for k in options if k not in known for item in own[k]] + joined

    def _joined(self, views: list[View], slots: list[list[tuple[int, int]]], n_options: int) -> list[Moving]:
        """Variables of the same slot as one, if they do the same."""
        widest = max(view.n_numbers for view in views)
        n = max(2, min(POINTS, int(NUMBERS / max(widest, 1))))
        edge = STEP
        n_slots = 1 + max(slot for own in slots for slot, _ in own)
        points = self.rng.uniform(edge, 1 - edge, (n, n_slots))
        effects = [view.effects(points, own) for view, own in zip(views, slots, strict=True)]
        likely, most = _freedom(effects, slots, self.rng)
        members: list[list[Moving]] = [[] for _ in range(n_slots)]
        for view, own, found in zip(views, slots, effects, strict=True):
            for item, (slot, sign), effect in zip(view.items, own, found, strict=True):
                signs = tuple(sign * item.signs[0] * s for s in item.signs)
                members[slot].append(replace(item, effect=effect, signs=signs, n_beside=len(view.items)))
        out = []
        for slot in members:
            joined = _agglomerated(slot, likely)
            if (
                len(joined) > 1 or len(slot) < n_options
            ):  # on some branches only: more of them look alike by chance
                joined = _agglomerated(slot, min(likely, most))
            out += [replace(item, effect=None) for item in joined]
        return out


def _agglomerated(items: list[Moving], freedom: float) -> list[Moving]:
    """Those that do the same as one, the surest first."""
    while True:
        saved = {pair: _saved(*pair, freedom) for pair in itertools.combinations(items, 2)}
        best = max(saved, key=lambda pair: saved[pair], default=None)
        if best is None or saved[best] <= 0:
            return items
        items = [item for item in items if item not in best] + [best[0].with_(best[1])]


class View:
    """A leaf by ranks of the values of its variables."""

    def __init__(self, effects: Effects, path: int | None, items: list[Moving]):
        assert path is not None
        self.items, self.rng, self.decode = items, effects.rng, effects.decode
        self.active = list(effects.hierarchy.paths[path].continuous)
        self.rows = np.sort(effects.rows[path][:, self.active], axis=0)
        self.start = effects.rows[path][0]  # its options
        self.at = [self.active.index(next(c for c in item.columns if c in self.active)) for item in items]
        # A variable has the sign of its first column, of which the leaf may have another.
        self.sign = np.array([
            item.signs[item.columns.index(self.active[at])] * item.signs[0]
            for item, at in zip(items, self.at, strict=True)
        ])  # fmt: skip
        ranks = effects.rng.uniform(size=(ROWS, len(self.active)))
        Y = self.rows_at(ranks)
        terms = np.cos(np.pi * ranks[:, :, None] * ORDERS).reshape(len(ranks), -1)
        design = np.column_stack([np.ones(len(ranks)), terms])
        found = np.linalg.lstsq(design, Y, rcond=None)[0][1:].reshape(len(self.active), len(ORDERS), -1)[self.at]
        found[self.sign < 0] *= ((-1.0) ** ORDERS)[:, None]
        self.main = found / np.maximum(np.linalg.norm(found, axis=(1, 2), keepdims=True), 1e-300)
        self.n_numbers = 2 * len(items) * Y.shape[1]

    def rows_at(self, ranks: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n p"]:
        """Decoded rows."""
        codes = np.tile(self.start, (len(ranks), 1))
        grid = (np.arange(len(self.rows)) + 0.5) / len(self.rows)
        for j, column in enumerate(self.active):
            codes[:, column] = np.interp(ranks[:, j], grid, self.rows[:, j])
        return self.decode(codes)

    def effects(
        self, points: Float[np.ndarray, "n slots"], slots: Sequence[tuple[int, int]]
    ) -> Float[np.ndarray, "k n p"]:
        """How rows change with each variable where variables have the ranks of their slots."""
        n, step = len(points), STEP
        signs = self.sign * [sign for _, sign in slots]
        ranks = self.rng.uniform(step, 1 - step, (n, len(self.active)))
        for at, (slot, _), sign in zip(self.at, slots, signs, strict=True):
            ranks[:, at] = points[:, slot] if sign > 0 else 1 - points[:, slot]
        moves = np.repeat(ranks[None], 2 * len(self.at), axis=0)
        for i, (at, sign) in enumerate(zip(self.at, signs, strict=True)):
            moves[2 * i, :, at] += sign * step
            moves[2 * i + 1, :, at] -= sign * step
        Y = self.rows_at(moves.reshape(-1, len(self.active))).reshape(len(self.at), 2, n, -1)
        return _units(Y[:, 0] - Y[:, 1])


def paired(views: Sequence[View]) -> list[list[tuple[int, int]]]:
    """For each variable of each leaf a slot and a sign: variables of one slot have main effects that are alike."""
    slots: list[list[Float[np.ndarray, "orders p"]]] = []
    out = []
    for view in views:
        turned = view.main * ((-1.0) ** ORDERS)[:, None]
        alike = np.zeros((2, len(view.items), len(slots)))
        for j, slot in enumerate(slots):
            middle = np.mean(slot, axis=0)
            alike[:, :, j] = [np.tensordot(main, middle, 2) for main in (view.main, turned)]
        rows, columns = linear_sum_assignment(-alike.max(axis=0))
        own = dict(zip(rows.tolist(), columns.tolist(), strict=True))
        found = []
        for i in range(len(view.items)):
            if i not in own:
                own[i] = len(slots)
                slots.append([])
                sign = 1
            else:
                sign = 1 if alike[0, i, own[i]] >= alike[1, i, own[i]] else -1
            slots[own[i]].append(view.main[i] if sign > 0 else turned[i])
            found.append((own[i], sign))
        out.append(found)
    return out


def _saved(a: Moving, b: Moving, freedom: float) -> float:
    """The nats that one direction for both saves over two. Of as many numbers as directions are free in, one
    direction tells a part; and to say which it is takes the choice between all pairs of either sign, and none."""
    assert a.effect is not None
    assert b.effect is not None
    cosine = float(np.einsum("np,np->n", a.effect, b.effect).mean())
    told = -0.5 * freedom * math.log(max(1 - max(cosine, 0.0) ** 2, 1e-300))
    return told - math.log(1 + 2 * a.n_beside * b.n_beside)


def _freedom(
    effects: Sequence[Float[np.ndarray, "_ n p"]], slots: Sequence[list[tuple[int, int]]], rng: np.random.Generator
) -> tuple[float, float]:
    """In how many numbers directions are free: by what chance leaves of the cosine of two that are no pair, and by
    the dimensions that changes of rows have."""
    vectors = np.concatenate([found.reshape(-1, found.shape[2]) for found in effects])
    i, j = rng.integers(len(vectors), size=(2, PAIRS))
    some = i != j
    overlap = np.square(np.einsum("np,np->n", vectors[i[some]], vectors[j[some]]))
    most = 1 / max(float(overlap.mean()), 1e-300)
    squares = [1 / most]  # what is expected, for where there are few pairs
    for (a, own_a), (b, own_b) in itertools.combinations(zip(effects, slots, strict=True), 2):
        cosines = np.einsum("inp,jnp->ij", a, b) / a.shape[1]
        other = np.array([s for s, _ in own_a])[:, None] != np.array([s for s, _ in own_b])
        squares += np.square(cosines[other]).tolist()
    return float(1 / max(np.mean(squares), 1e-300)), float(most)


def _units(rows: Float[np.ndarray, "... p"]) -> Float[np.ndarray, "... p"]:
    return rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-300)


def same_effects(
    hierarchy: Hierarchy, codes: Float[np.ndarray, "n v"], decode: Decode, rng: np.random.Generator
) -> tuple[list[list[int]], list[list[int]], dict[int, int]]:
    """Columns that are one variable on all branches of a choice, those that are one on some of them, and the signs
    of such columns. From codes of rows and what decodes codes to rows, whose columns are in units that compare."""
    if not may_share(hierarchy.root):
        return [], [], {}
    effects = Effects(hierarchy, codes, decode, rng)
    above, partly = effects.found()
    return above, partly, effects.signs
