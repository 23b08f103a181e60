"""Rare kinds that were found in pieces, made whole: each takes the rows that it describes better than anything
else does, and two whose rows are described as well by one are one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np
from jaxtyping import Float, Int

from disentree.mimosa.constants import FIT
from disentree.mimosa.density.candidate import Candidate, LeafCandidate
from disentree.mimosa.density.structureless import fit_ppca
from disentree.mimosa.finders.connected import connected_leaves
from disentree.mimosa.finders.constants import FINDERS
from disentree.mimosa.finders.protocol import Rows
from disentree.mimosa.search.constants import SEARCH


@dataclass(frozen=True, eq=False)
class Kind:
    """A rare kind."""

    own: Int[np.ndarray, " k"]  # its rows, among those that are described badly
    leaves: Candidate  # that they are on


@dataclass(frozen=True)
class Odd:
    """Rows that are described badly."""

    rows: Rows
    numbers: Int[np.ndarray, " m"]  # which of all rows they are
    bits: Float[np.ndarray, " m"]  # that each takes without the kinds
    n: int  # rows in all
    inside: Callable[[Rows], Candidate]  # the search within a group
    known: dict[bytes, Candidate] = field(default_factory=dict)  # what was found in groups

    def settled(self, groups: Sequence[Int[np.ndarray, " _"]]) -> list[Kind]:
        """The kinds that begin as some groups of these rows."""
        kinds = [self._kind(own) for own in groups]
        for _ in range(FINDERS.rounds):
            grown = self._grown(kinds)
            merged = self._merged(grown)
            if self._all(merged) == self._all(kinds):
                break
            if len(merged) == len(grown) == len(kinds) and self._total(grown) >= self._total(kinds):
                break
            kinds = merged
        return kinds

    def _kind(self, own: Int[np.ndarray, " k"]) -> Kind:
        key = self.numbers[own].tobytes()
        if key not in self.known:
            self.known[key] = self._leaves(own)
        return Kind(own, self.known[key])

    def _leaves(self, own: Int[np.ndarray, " k"]) -> Candidate:
        """The leaves of a group: one, if it is flat, without a gap, and describes the rows nearly as well. How
        dense few rows are along a leaf divides it by chance."""
        rows = replace(self.rows, Z=self.rows.Z[own])
        found, flat = self.inside(rows), fit_ppca(rows.Z, rows.floor)
        one = LeafCandidate("ppca", [flat], np.ones(1))
        if len(found.dimensions) == 1 or flat.dimension > min(found.dimensions):
            return found
        saved, whole = (
            float((self.bits[own] - self._taken(Kind(own, leaves))[own]).sum()) for leaves in (found, one)
        )
        return one if SEARCH.more * whole >= saved and connected_leaves(one, rows.Z) == 1 else found

    def _taken(self, kind: Kind) -> Float[np.ndarray, " m"]:
        """Bits that each row takes as one of a kind."""
        share = np.log2(len(kind.own) / self.n)
        return -share - kind.leaves.log_density(self.rows.Z) / np.log(2)

    def _grown(self, kinds: Sequence[Kind]) -> list[Kind]:
        """Kinds with all rows that they describe best."""
        best = np.argmin([self.bits, *(self._taken(kind) for kind in kinds)], axis=0)
        out = []
        for k, kind in enumerate(kinds):
            own = np.flatnonzero(best == k + 1)
            if len(own) >= FIT.fewest:
                out.append(kind if np.array_equal(own, kind.own) else self._kind(own))
        return out

    def _merged(self, kinds: Sequence[Kind]) -> list[Kind]:
        """Kinds of which no two are better described as one."""
        kinds, apart = list(kinds), set[tuple[Kind, Kind]]()
        while pair := next((pair for pair in combinations(kinds, 2) if pair not in apart), None):
            apart.add(pair)
            if not self._touch(*pair):
                continue
            both = self._kind(np.sort(np.concatenate([pair[0].own, pair[1].own])))
            fewer = len(both.leaves.components) < sum(len(kind.leaves.components) for kind in pair)
            # pieces always describe a little better how dense rows are along a leaf
            if fewer and SEARCH.more * self._saved([both], both.own) >= self._saved(pair, both.own):
                kinds = [*(kind for kind in kinds if all(kind is not one for one in pair)), both]
        return kinds

    def _touch(self, a: Kind, b: Kind) -> bool:
        """Whether most rows of one are better described as the other than by what there was before."""
        return any(
            np.mean(self._taken(one)[other.own] < self.bits[other.own]) > FIT.half
            for one, other in ((a, b), (b, a))
        )

    def _saved(self, kinds: Sequence[Kind], own: Int[np.ndarray, " k"]) -> float:
        taken = np.min([self._taken(kind)[own] for kind in kinds], axis=0)
        return float((self.bits[own] - taken).sum())

    def _total(self, kinds: Sequence[Kind]) -> float:
        """Bits of all these rows."""
        return float(np.min([self.bits, *(self._taken(kind) for kind in kinds)], axis=0).sum())

    def _all(self, kinds: Sequence[Kind]) -> list[list[int]]:
        return [kind.own.tolist() for kind in kinds]


def with_kinds(leaves: LeafCandidate, kinds: Sequence[Kind], n: int) -> LeafCandidate:
    """Leaves and those of rare kinds, by their shares of n rows."""
    shares = np.array([len(kind.own) / n for kind in kinds])
    return replace(
        leaves,
        components=[*leaves.components, *(leaf for kind in kinds for leaf in kind.leaves.components)],
        shares=np.concatenate(
            [
                (1 - shares.sum()) * leaves.shares,
                *(s * k.leaves.shares for s, k in zip(shares, kinds, strict=True)),
            ]
        ),
    )
