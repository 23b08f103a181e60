"""Rare kinds of rows, which the landmarks do not show.

The hundredth of all rows that the chosen leaves describe worst is divided in groups, with rows of the rest, each
of which stands for many. A group of them that parts of these rows bring back is one leaf or more, since a valley
lies between it and everything else: tails, however heavy, have none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from disentree.mimosa.constants import FIT
from disentree.mimosa.density.candidate import Candidate, LeafCandidate
from disentree.mimosa.density.structureless import Background
from disentree.mimosa.finders.constants import FINDERS
from disentree.mimosa.finders.modes.constants import MODES
from disentree.mimosa.finders.protocol import Rows
from disentree.mimosa.search.choose import saving
from disentree.mimosa.search.groups import divide
from disentree.mimosa.search.heaps import spread_heaps
from disentree.mimosa.search.kinds import Kind, Odd, with_kinds


@dataclass(frozen=True)
class Rare:
    """The leaves of all rows, and those of them that are rare kinds."""

    candidate: LeafCandidate
    rows: Int[np.ndarray, " r"]  # that the rare ones were found in
    saved_bits: float  # by them, per row
    doubt: float  # its standard error


def find_rare(
    candidate: Candidate,
    rows: Rows,
    Z: Float[np.ndarray, "n D"],
    inside: Callable[[Rows], Candidate],
    rng: np.random.Generator,
) -> Rare | None:
    """The leaves of the landmarks, `rows`, and those of rare kinds among all rows Z; None if there are none.
    `inside` is the search within a group."""
    now = LeafCandidate(candidate.finder, candidate.components, candidate.shares)
    broad = Background.fit(rows.Z, rows.floor)
    first = bits = _bits(now, broad, Z)
    pool, known, kinds = np.zeros(0, np.int64), {}, []
    for _ in range(FINDERS.rounds):
        worst, groups = _groups(bits, rows, Z, rng)
        if not groups:
            break
        # what was found before may be a piece of this
        groups = [*(pool[kind.own] for kind in kinds), *groups]
        pool = np.unique(np.concatenate([worst, *groups]))
        odd = Odd(replace(rows, Z=Z[pool]), pool, first[pool], len(Z), inside, known)
        kinds = odd.settled([np.searchsorted(pool, own) for own in groups])
        bits = _bits(with_kinds(now, kinds, len(Z)), broad, Z)
    if not kinds:
        return None
    found = with_kinds(now, kinds, len(Z))
    named = replace(found, finder=f"{now.finder} + rare kinds")
    return Rare(named, pool[np.concatenate([kind.own for kind in kinds])], *saving(bits, first))


def _bits(now: Candidate, broad: Background, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, " n"]:
    out = np.empty(len(Z))
    for start in range(0, len(Z), FIT.landmarks):
        some = Z[start : start + FIT.landmarks]
        out[start : start + len(some)] = -broad.mixed(now.log_density(some), some) / np.log(2)
    return out


def _groups(
    bits: Float[np.ndarray, " n"], rows: Rows, Z: Float[np.ndarray, "n D"], rng: np.random.Generator
) -> tuple[Int[np.ndarray, " w"], list[Int[np.ndarray, " _"]]]:
    """The rows that are described worst, and groups of them between which and all others valleys lie."""
    # What is more than the least share of the landmarks was theirs to show; and no more is searched than they are.
    most = min(FINDERS.searched, len(rows.Z) // 2, int(FIT.least_share * len(Z)))
    if most < FIT.fewest:
        return np.zeros(0, np.int64), []
    worst = np.sort(np.argpartition(-bits, most)[:most])
    rest = np.delete(np.arange(len(Z)), worst)
    some = np.sort(rng.choice(rest, min(FINDERS.searched, len(rest)), replace=False))
    return worst, [worst[own] for own in groups_of(Z[worst], Z[some], len(rest), rows, rng)]


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
    bits = _bits(leaves, Background.fit(rows.Z, rows.floor), odd)
    return Odd(replace(rows, Z=odd), np.arange(len(odd)), bits, n, inside).settled(groups)
