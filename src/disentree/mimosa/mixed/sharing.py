"""Which columns say the same of rows: one switch for those whose values exist together, in the fewest bits.

Each column says in which rows it has a value of its own. It is a switch, or it belongs to one, up to mistakes that
are told one by one. A switch is told among all rows, or among those of a larger one that it is nested in. Mistakes
are few or there are none: their number is told by an integer code that takes fewer bits for smaller ones (Elias
1975), that of a switch's rows by one that takes the same for all. So a chain of columns that are empty in nested
sets of rows is a chain of switches, however similar these sets are, if they differ by more than some mistakes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import entr, gammaln

from disentree.mimosa.constants import FIT
from disentree.mimosa.mixed.constants import MIXED
from disentree.mimosa.tree.constants import TREE


@dataclass(frozen=True)
class Shared:
    """Columns that share a switch, and how many of them must have a value where it has."""

    columns: list[int]
    least: int


def share_switches(active: Bool[np.ndarray, "n m"]) -> list[Shared]:
    """Columns in groups that say the same, those that have values in most rows first."""
    found = _Groups.of(active)
    joined = found.best_joined()
    while joined is not None:
        found, joined = joined, joined.best_joined()
    return [found.groups[g] for g in np.argsort(-np.diag(found.of_masks), kind="stable")]


def repeat(one: Bool[np.ndarray, " n"], other: Bool[np.ndarray, " n"]) -> bool:
    """Whether two sets of rows are the same, but for mistakes: hardly any bits of either are left if the other is
    known."""
    n, a, b, both = len(one), float(one.sum()), float(other.sum()), float((one & other).sum())
    left = max(
        _left(both, b, a, n) / max(n * _bits(b, n), 1e-9), _left(both, a, b, n) / max(n * _bits(a, n), 1e-9)
    )
    return bool(both * n > a * b and left <= TREE.dependent)


@dataclass
class _Groups:
    """Columns in groups, each with a switch."""

    groups: list[Shared]
    columns: Float[np.ndarray, "n m"]
    of_columns: Float[np.ndarray, "m g"]  # rows in which a column and a switch have a value
    of_masks: Float[np.ndarray, "g g"]  # and those in which two switches have
    masks: Float[np.ndarray, "n g"]

    @classmethod
    def of(cls, active: Bool[np.ndarray, "n m"]) -> _Groups:
        """Columns that say the same of all rows."""
        copies: dict[bytes, list[int]] = {}
        for j, rows in enumerate(active.T):
            copies.setdefault(np.packbits(rows).tobytes(), []).append(j)
        A = active.astype(np.float32)
        masks = A[:, [same[0] for same in copies.values()]]
        both, of_masks = np.asarray(A.T @ masks, float), np.asarray(masks.T @ masks, float)
        return cls([Shared(same, 1) for same in copies.values()], A, both, of_masks, masks)

    def joined(self, one: int, other: int) -> _Groups:
        """With the columns of a group in another: a value in one of them shows that there is something, so that
        others are not known, or it takes the majority, so that one may be wrong."""
        own = self.groups[other].columns + self.groups[one].columns
        rest = [g for g in range(len(self.groups)) if g not in (one, other)]
        votes = self.columns[:, own].sum(axis=1)

        def with_least(least: int) -> _Groups:
            mask = (votes >= least).astype(np.float32)
            masks = np.concatenate([self.masks[:, rest], mask[:, None]], axis=1)
            of_columns = np.concatenate([self.of_columns[:, rest], (self.columns.T @ mask)[:, None]], axis=1)
            row = np.asarray(masks.T @ mask, float)
            of_masks = np.block([[self.of_masks[np.ix_(rest, rest)], row[:-1, None]], [row[None]]])
            groups = [*(self.groups[g] for g in rest), Shared(own, least)]
            return _Groups(groups, self.columns, of_columns, of_masks, masks)

        return min((with_least(least) for least in {1, (len(own) + 1) // 2}), key=lambda tried: tried.bits)

    def best_joined(self) -> _Groups | None:
        """With two groups as one, where that takes fewer bits; None if it does nowhere."""
        saved = self._saved()
        bits = self.bits
        for place in np.argsort(-saved, axis=None):
            if saved.flat[place] < -_integer(len(self.columns)):
                return None
            tried = self.joined(*divmod(int(place), len(saved)))
            if tried.bits < bits and tried.last_is_told:
                return tried
        return None

    @property
    def bits(self) -> float:
        """Of all columns."""
        return float(self._of_switches().min(axis=1).sum() + self._mistakes_inside().sum())

    def _of_switches(self) -> Float[np.ndarray, "g g+1"]:
        """Bits of each switch (the first index) nested in another, and among all rows; infinite where it is not
        nested."""
        n, size = len(self.columns), np.diag(self.of_masks)
        missing, more = size[None] - self.of_masks, size[:, None] - self.of_masks
        name = np.log2(self.columns.shape[1] + 1)  # of what it is nested in, or of nothing
        nested = _choice(missing, size[None]) + _choice(more, n - size[None])
        nested += np.log2(size[None] + 1) + _integer(more) + name
        nested[(size[None] <= size[:, None]) | (more > TREE.inside * missing)] = np.inf
        alone = _choice(size, n) + np.log2(n + 1) + name
        return np.concatenate([nested, alone[:, None]], axis=1)

    def _differences(self) -> tuple[Float[np.ndarray, "m g"], Float[np.ndarray, "m g"]]:
        """Rows in which a switch has a value and a column has none, and the other way round."""
        own = np.asarray(self.columns.sum(axis=0), float)
        return np.diag(self.of_masks)[None] - self.of_columns, own[:, None] - self.of_columns

    def _mistakes_inside(self) -> Float[np.ndarray, " g"]:
        """Bits of the mistakes of the columns of each group, of each column, or of all with one rate."""
        (missing, more), n, size = self._differences(), len(self.columns), np.diag(self.of_masks)
        out = np.zeros(len(self.groups))
        for g, own in enumerate([group.columns for group in self.groups]):
            for k, rows in ((missing[own, g], size[g]), (more[own, g], n - size[g])):
                separate = (_choice(k, rows) + _integer(k)).sum()
                out[g] += min(separate, _choice(k.sum(), rows * len(own)) + _integer(k.sum()))
        return out

    @property
    def last_is_told(self) -> bool:
        """Whether the switch of the last group says most of the bits of its columns, and these have a value in
        most rows in which it has, and in few others."""
        own, n, size = self.groups[-1].columns, len(self.columns), self.of_masks[-1, -1]
        missing, more = (rows[own, -1] for rows in self._differences())
        left = _left(size - missing, size - missing + more, size, n)
        says_most = left <= FIT.half * n * _bits(size - missing + more, n)
        few = (missing <= MIXED.most_empty * size) & (more <= MIXED.most_empty * (n - size))
        return bool((says_most & few).all())

    def _saved(self) -> Float[np.ndarray, "g g"]:
        """Bits that about are saved if all columns of a group (the first index) belong to the switch of another;
        minus infinity where the two are hardly together."""
        (missing, more), n, size = self._differences(), len(self.columns), np.diag(self.of_masks)[None]
        mistakes = _choice(missing, size) + _choice(more, n - size) + _integer(missing) + _integer(more)
        own = (self.of_columns + more)[:, :1]
        mistakes[self.of_columns * n <= own * size] = np.inf
        there = np.stack([mistakes[group.columns].sum(axis=0) for group in self.groups])
        costs = self._of_switches()
        least, next_least = np.sort(costs, axis=1)[:, :2].T
        losses = np.zeros(len(costs) + 1)  # of those that are nested in a group, without it
        np.add.at(losses, costs.argmin(axis=1), next_least - least)
        saved = (least + self._mistakes_inside() - losses[:-1])[:, None] - there
        np.fill_diagonal(saved, -np.inf)
        return saved


def _left(
    both: Float[np.ndarray, "..."] | float,
    column: Float[np.ndarray, "..."] | float,
    switch: Float[np.ndarray, "..."] | float,
    n: int,
) -> Any:
    """Bits of a column if a switch is known, from the numbers of rows of both, of the column and of the switch."""
    more = np.subtract(column, both)
    return switch * _bits(both, switch) + np.subtract(n, switch) * _bits(more, np.subtract(n, switch))


def _integer(k: Float[np.ndarray, "..."] | float) -> Any:
    """Bits of a whole number from 0, fewer for smaller ones."""
    return 2 * np.floor(np.log2(k + 1)) + 1


def _choice(k: Float[np.ndarray, "..."] | float, n: Float[np.ndarray, "..."] | float) -> Any:
    """Bits of which k of n rows it is."""
    return (gammaln(np.add(n, 1)) - gammaln(np.add(k, 1)) - gammaln(np.subtract(n, k) + 1)) / np.log(2)


def _bits(k: Float[np.ndarray, "..."] | float, n: Float[np.ndarray, "..."] | float) -> Any:
    """Bits per row of whether it is one of k of n."""
    p = np.divide(k, np.maximum(n, 1))
    return (entr(p) + entr(1 - p)) / np.log(2)
