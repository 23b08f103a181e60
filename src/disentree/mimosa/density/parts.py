"""Leaves that are parts of another density, and leaves that are several as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Any, TypeVar, cast

import numpy as np
from jaxtyping import Float, Int
from sklearn.neighbors import NearestNeighbors

from disentree.mimosa.density.candidate import Leaf, Undirected
from disentree.mimosa.density.constants import DENSITY
from disentree.mimosa.density.logs import log_sum

M = TypeVar("M")


def remembered(method: M) -> M:
    """A method that knows its last answer: leaves with parts in common are asked for the same rows in turn."""
    name, ask = f"_last_{getattr(method, '__name__', '')}", cast(Any, method)

    @wraps(ask)
    def known(self: Any, Z: Float[np.ndarray, "n D"]) -> np.ndarray:
        last = self.__dict__.get(name)
        if last is None or not np.array_equal(last[0], Z):
            last = self.__dict__[name] = Z.copy(), ask(self, Z)
            last[1].setflags(write=False)
        return last[1]

    return cast(M, known)


class Remembers:
    """What has such methods, whose answers stay behind when it is copied or sent."""

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if not name.startswith("_last_")}


@dataclass(frozen=True)
class Parts(Remembers):
    """Rows whose part is known: others are in a part as far as the rows nearest to them are."""

    rows: Float[np.ndarray, "m q"]
    labels: Int[np.ndarray, " m"]
    axes: Float[np.ndarray, "D q"]  # of the coordinates in which rows are near to each other

    @cached_property
    def _nearest(self) -> NearestNeighbors:
        k = min(DENSITY.near, len(self.rows))
        return NearestNeighbors(n_neighbors=k).fit(self.rows)  # no tree of them in many dimensions

    @remembered
    def _votes(self, Z: Float[np.ndarray, "n D"]) -> Int[np.ndarray, "n k"]:
        nearest = self._nearest.kneighbors(Z @ self.axes, return_distance=False)
        return self.labels[np.asarray(nearest)]

    def share(self, Z: Float[np.ndarray, "n D"], part: int) -> Float[np.ndarray, " n"]:
        """The probability of a part, for each row: one row of all votes for every part."""
        votes, one = self._votes(Z), 1 / len(self.rows)
        return ((votes == part).sum(axis=1) + one / (self.labels.max() + 1)) / (votes.shape[1] + one)


@dataclass(frozen=True)
class PartLeaf(Undirected):
    """A part of a density that describes all rows: p(z, part) = p(part | z) p(z)."""

    density: Leaf
    parts: Parts
    part: int
    share: float  # of rows in it
    dimension: int

    def log_density(self, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, " n"]:
        return self.density.log_density(Z) + np.log(self.parts.share(Z, self.part)) - np.log(self.share)


@dataclass(frozen=True)
class JoinedLeaf(Remembers, Undirected):
    """Several leaves as one, of the dimension that all of them fill."""

    leaves: Sequence[Leaf]
    shares: Float[np.ndarray, " k"]
    dimension: int

    @remembered
    def log_density(self, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, " n"]:
        shares = np.log(np.maximum(self.shares / self.shares.sum(), 1e-300))
        return log_sum(np.stack([leaf.log_density(Z) for leaf in self.leaves], axis=1) + shares)


def joined(leaves: Sequence[Leaf], shares: Float[np.ndarray, " k"]) -> Leaf:
    """Several leaves as one; a single one as it is."""
    if len(leaves) == 1:
        return leaves[0]
    return JoinedLeaf(list(leaves), np.asarray(shares), max(int(leaf.dimension) for leaf in leaves))
