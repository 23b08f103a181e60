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

from disentree.mimosa.density.candidate import Candidate, LeafCandidate
from disentree.mimosa.density.constants import DENSITY
from disentree.mimosa.density.structureless import Background
from disentree.mimosa.finders.constants import FINDERS
from disentree.mimosa.finders.modes.constants import MODES
from disentree.mimosa.finders.protocol import Rows
from disentree.mimosa.search.constants import SEARCH
from disentree.mimosa.search.groups import divide
from disentree.mimosa.search.heaps import spread_heaps
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
        for start in range(0, len(Z), DENSITY.rows_at_a_time):
            some = Z[start : start + DENSITY.rows_at_a_time]
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
    first = now = Described(
        LeafCandidate(candidate.finder, candidate.components, candidate.shares),
        Background.fit(rows.Z, rows.floor),
    )
    found: list[tuple[Int[np.ndarray, " _"], Float[np.ndarray, "_ D"]]] = []
    for _ in range(FINDERS.rounds):
        groups = _groups(now, rows, some, everything, rng)
        if not groups:
            break
        leaves = now.candidate
        for _, Z in groups:
            new = inside(replace(rows, Z=Z))
            share = len(Z) / n
            shares = np.concatenate([(1 - share) * leaves.shares, share * new.shares])
            leaves = replace(leaves, components=[*leaves.components, *new.components], shares=shares)
        found += groups
        now = replace(now, candidate=leaves)
    if not found:
        return None
    named = replace(now.candidate, finder=f"{now.candidate.finder} + rare kinds")
    total, squares = np.sum(list(everything.map(partial(_saved, first, now))), axis=0) / n
    doubt = np.sqrt(max(squares - total**2, 0.0) / n)
    own, Z = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return Rare(named, own, Z, float(total), float(doubt))


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
) -> list[tuple[Int[np.ndarray, " _"], Float[np.ndarray, "_ D"]]]:
    """Groups of rows that are described worst, between which and all others valleys lie."""
    n = len(everything)
    # what is more than the least share of the landmarks was theirs to show
    most = min(FINDERS.searched, int(FINDERS.least_share * n))
    if most < SEARCH.fewest:
        return []
    own = now.bits(some)
    # the sample tells how many bits twice as many rows take, or more of them where it has few that are so rare
    least = np.quantile(own, 1 - min(1.0, max(2 * most / n, SEARCH.fewest / len(own))))
    found = everything.map(partial(_worst, now, least))
    numbers, bits, worst = (np.concatenate(parts) for parts in zip(*found, strict=True))
    most = min(most, len(bits))
    chosen = np.sort(np.argpartition(-bits, most - 1)[:most])
    usual = np.flatnonzero(own < bits[chosen].min())
    usual = np.sort(rng.choice(usual, min(FINDERS.searched, len(usual)), replace=False))
    numbers, worst = numbers[chosen], worst[chosen]
    points = np.concatenate([worst, some[usual]])
    weights = np.ones(len(points))
    weights[most:] = (n - most) / len(usual)
    points = points if rows.columns is None else spread_heaps(points, rows.columns, rng)
    groups = divide(replace(rows, Z=points, weights=weights), [], rng, MODES.scales[:2])
    if groups is None:
        return []
    is_worst = np.arange(len(points)) < most
    out = []
    for label in range(int(groups.labels.max()) + 1):
        inside = groups.labels == label
        # a row of the rest stands for many
        if weights[inside & is_worst].sum() > weights[inside & ~is_worst].sum() and inside.sum() >= SEARCH.fewest:
            of_group = np.flatnonzero(inside[:most])
            out.append((numbers[of_group], worst[of_group]))
    return out
