"""Rare kinds of rows, which the landmarks do not show.

The hundredth of all rows that the chosen leaves describe worst is divided in groups, with rows of the rest, each
of which stands for many. A group of them that parts of these rows bring back is one leaf or more, since a valley
lies between it and everything else: tails, however heavy, have none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from jaxtyping import Float, Int

from disentree.mimosa.constants import FIT
from disentree.mimosa.density.candidate import Candidate, LeafCandidate
from disentree.mimosa.density.structureless import Background
from disentree.mimosa.finders.constants import FINDERS
from disentree.mimosa.finders.modes.constants import MODES
from disentree.mimosa.finders.protocol import Rows
from disentree.mimosa.search.groups import divide
from disentree.mimosa.search.heaps import spread_heaps
from disentree.mimosa.search.rare_pieces import Kind, Odd, with_kinds
from disentree.rows import Blocks


@dataclass(frozen=True)
class Rare:
    """The leaves of all rows, and those of them that are rare kinds."""

    candidate: LeafCandidate
    rows: Int[np.ndarray, " r"]  # that the rare ones were found in, of all
    Z: Float[np.ndarray, "r D"]  # the same in the coordinates
    saved_bits: float  # by them, per row
    doubt: float  # its standard error


@dataclass(frozen=True)
class Described:
    """What rows are described by: leaves, and a broad density."""

    candidate: LeafCandidate
    broad: Background

    def bits(self, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, " n"]:
        """Of each row."""
        out = np.empty(len(Z))
        for start in range(0, len(Z), FIT.landmarks):
            some = Z[start : start + FIT.landmarks]
            out[start : start + len(some)] = -self.broad.mixed(self.candidate.log_density(some), some) / np.log(2)
        return out


def find_rare(
    candidate: Candidate,
    rows: Rows,
    some: Float[np.ndarray, "m D"],
    everything: Blocks,
    inside: Callable[[Rows], Candidate],
    rng: np.random.Generator,
) -> Rare | None:
    """The leaves of the landmarks, `rows`, and those of rare kinds among all rows, of which `some` are a sample;
    None if there are none. `inside` is the search within a group."""
    n = len(everything)
    leaves = LeafCandidate(candidate.finder, candidate.components, candidate.shares)
    first = now = Described(leaves, Background.fit(rows.Z, rows.floor))
    pool, known, kinds = Some(np.zeros(0, np.int64), rows.Z[:0]), {}, list[Kind]()
    for _ in range(FINDERS.rounds):
        worst, groups = _groups(now, rows, some, everything, rng)
        if not groups:
            break
        # what was found before may be a piece of this
        groups = [*(pool.numbers[kind.own] for kind in kinds), *groups]
        pool = pool.and_of(worst, np.unique(np.concatenate([worst.numbers, *groups])))
        odd = Odd(replace(rows, Z=pool.Z), pool.numbers, first.bits(pool.Z), n, inside, known)
        kinds = odd.settled([np.searchsorted(pool.numbers, own) for own in groups])
        now = replace(now, candidate=with_kinds(leaves, kinds, n))
    if not kinds:
        return None
    named = replace(now.candidate, finder=f"{leaves.finder} + rare kinds")
    total, squares = np.sum(list(everything.map(partial(_saved, first, now))), axis=0) / n
    doubt = np.sqrt(max(squares - total**2, 0.0) / n)
    own = np.concatenate([kind.own for kind in kinds])
    return Rare(named, pool.numbers[own], pool.Z[own], float(total), float(doubt))


@dataclass(frozen=True)
class Some:
    """Some of all rows: their numbers, in ascending order, and coordinates."""

    numbers: Int[np.ndarray, " k"]
    Z: Float[np.ndarray, "k D"]

    def and_of(self, other: Some, numbers: Int[np.ndarray, " m"]) -> Some:
        """Those of these and others that have certain numbers."""
        both, first = np.unique(np.concatenate([self.numbers, other.numbers]), return_index=True)
        return Some(numbers, np.concatenate([self.Z, other.Z])[first[np.searchsorted(both, numbers)]])


def _saved(before: Described, after: Described, Z: Float[np.ndarray, "n D"], start: int) -> tuple[float, float]:
    """The sum of the bits that rows save, and of their squares."""
    saved = before.bits(Z) - after.bits(Z)
    return float(saved.sum()), float((saved**2).sum())


def _worst(
    now: Described, least: float, Z: Float[np.ndarray, "n D"], start: int
) -> tuple[Int[np.ndarray, " k"], Float[np.ndarray, " k"], Float[np.ndarray, "k D"]]:
    """Rows of a block that take so many bits or more: their numbers, bits and coordinates."""
    bits = now.bits(Z)
    own = np.flatnonzero(bits >= least)
    return start + own, bits[own], Z[own]


def _groups(
    now: Described,
    rows: Rows,
    some: Float[np.ndarray, "m D"],
    everything: Blocks,
    rng: np.random.Generator,
) -> tuple[Some, list[Int[np.ndarray, " _"]]]:
    """The rows that are described worst, and groups of them between which and all others valleys lie."""
    n = len(everything)
    # What is more than the least share of the landmarks was theirs to show; and no more is searched than they are.
    most = min(FINDERS.searched, len(rows.Z) // 2, int(FIT.least_share * n))
    if most < FIT.fewest:
        return Some(np.zeros(0, np.int64), some[:0]), []
    own = now.bits(some)
    # the sample tells how many bits twice as many rows take, or more of them where it has few that are so rare
    least = np.quantile(own, 1 - min(1.0, max(2 * most / n, FIT.fewest / len(own))))
    found = everything.map(partial(_worst, now, least))
    numbers, bits, Z = (np.concatenate(parts) for parts in zip(*found, strict=True))
    most = min(most, len(bits))
    chosen = np.sort(np.argpartition(-bits, most - 1)[:most])
    usual = np.flatnonzero(own < bits[chosen].min())
    usual = np.sort(rng.choice(usual, min(FINDERS.searched, len(usual)), replace=False))
    worst = Some(numbers[chosen], Z[chosen])
    return worst, [worst.numbers[own] for own in groups_of(worst.Z, some[usual], n - most, rows, rng)]


def groups_of(
    odd: Float[np.ndarray, "m D"], rest: Float[np.ndarray, "k D"], n: int, rows: Rows, rng: np.random.Generator
) -> list[Int[np.ndarray, " _"]]:
    """Groups of odd rows between which and all others, of which there are n and some are given, valleys lie."""
    points = np.concatenate([odd, rest])
    weights = np.ones(len(points))
    weights[len(odd) :] = n / max(len(rest), 1)
    points = points if rows.columns is None else spread_heaps(points, rows.columns, rng)
    groups = divide(replace(rows, Z=points, weights=weights), [], rng, MODES.scales[:2])
    labels = np.zeros(0, np.int64) if groups is None else groups.labels
    out = []
    for label in range(int(labels.max(initial=-1)) + 1):
        own = labels == label
        # a row of the rest stands for many
        if weights[: len(odd)][own[: len(odd)]].sum() > weights[len(odd) :][own[len(odd) :]].sum():
            out.append(np.flatnonzero(own[: len(odd)]))
    return [own for own in out if len(own) >= FIT.fewest]


def kinds_among(
    leaves: LeafCandidate,
    rows: Rows,
    odd: Float[np.ndarray, "m D"],
    n: int,
    inside: Callable[[Rows], Candidate],
    rng: np.random.Generator,
) -> list[Kind]:
    """Rare kinds among odd rows of n in all; `rows` are some of the others, as which they are described badly."""
    groups = groups_of(odd, rows.Z, max(n - len(odd), 1), rows, rng)
    bits = Described(leaves, Background.fit(rows.Z, rows.floor)).bits(odd)
    return Odd(replace(rows, Z=odd), np.arange(len(odd)), bits, n, inside).settled(groups)
