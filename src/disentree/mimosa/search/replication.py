"""What parts of the rows bring back: leaves that are not found again in them are joined until those that are left
are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from disentree.mimosa.density.candidate import Candidate, LeafCandidate
from disentree.mimosa.density.parts import joined
from disentree.mimosa.search.constants import SEARCH


def parts_of(n: int, rng: np.random.Generator, least: int = 2) -> list[Int[np.ndarray, " _"]]:
    """Rows of each part: what is left without one of several folds, fewer of more rows, in the end halves."""
    order = rng.permutation(n)
    folds = max(next((k for k, most in SEARCH.parts if n < most), 2), least)
    return [np.sort(np.delete(order, np.s_[fold::folds])) for fold in range(folds)]


def brought_back(
    candidate: Candidate, refits: Sequence[Candidate], n_parts: int, Z: Float[np.ndarray, "n D"]
) -> tuple[Candidate, list[Int[np.ndarray, "k _"]]] | None:
    """A candidate whose leaves are those that it is found with again in parts of the rows, the others joined, and
    the rows that they share with the leaves of each part; None if none of several comes back."""
    labels = candidate.posteriors(Z).argmax(axis=1)
    others = [other.posteriors(Z).argmax(axis=1) for other in refits]
    others += [np.zeros(len(Z), int)] * (n_parts - len(others))  # in which there was none
    again = [shared_rows(labels, other, len(candidate.components)) for other in others]
    group = coarsened(again)
    if group.max() == len(candidate.components) - 1:
        return candidate, again
    return (joined_leaves(candidate, group), in_groups(again, group)) if group.max() else None


def joined_leaves(candidate: Candidate, group: Int[np.ndarray, " k"]) -> LeafCandidate:
    """A candidate with the leaves of each group as one."""
    members = [np.flatnonzero(group == g) for g in range(group.max() + 1)]
    leaves = [joined([candidate.components[int(c)] for c in own], candidate.shares[own]) for own in members]
    return LeafCandidate(candidate.finder, leaves, np.array([candidate.shares[own].sum() for own in members]))


def shared_rows(labels: Int[np.ndarray, " n"], other: Int[np.ndarray, " n"], k: int) -> Int[np.ndarray, "k _"]:
    """How many rows each of k leaves shares with each of another division of the rows."""
    both = np.zeros((k, other.max() + 1), np.int64)
    np.add.at(both, (labels, other), 1)
    return both


def found_again(both: Int[np.ndarray, "k m"]) -> tuple[Float[np.ndarray, " k"], Int[np.ndarray, " k"]]:
    """How far another division of the rows brings each leaf back: the Jaccard overlap with the union of those
    leaves of it that are mostly in this one. And the leaf that each one shares most rows of those with."""
    k, owner = len(both), both.argmax(axis=0)
    overlap, mixed = np.ones(k), np.zeros(k, int)
    for leaf in range(k):
        own = owner == leaf
        inside = both[leaf, own].sum()
        overlap[leaf] = inside / max(both[leaf].sum() + both[:, own].sum() - inside, 1)
        shared = both[:, own].sum(axis=1)
        np.add.at(shared, owner[~own], both[leaf, ~own])
        shared[leaf] = -1
        mixed[leaf] = shared.argmax()
    return overlap, mixed


def brought_overlap(again: Sequence[Int[np.ndarray, "k _"]]) -> Float[np.ndarray, " k"]:
    """How far parts of the rows bring each leaf back: the least overlap, but for one of several folds, which may
    be unlucky."""
    overlaps = np.sort([found_again(both)[0] for both in again], axis=0)
    return np.asarray(overlaps[int(len(again) > 2)])


def coarsened(again: Sequence[Int[np.ndarray, "k _"]]) -> Int[np.ndarray, " k"]:
    """The group of each of k leaves: the finest in which all are found again, by more than half of them."""
    group = np.arange(len(again[0]))
    while group.max():
        now = in_groups(again, group)
        overlap = brought_overlap(now)
        worst = int(overlap.argmin())
        if overlap[worst] > SEARCH.found:
            break
        least = min((found_again(both) for both in now), key=lambda one: one[0][worst])
        group[group == worst] = least[1][worst]
        group = np.unique(group, return_inverse=True)[1]
    return group


def in_groups(
    again: Sequence[Int[np.ndarray, "k _"]], group: Int[np.ndarray, " k"]
) -> list[Int[np.ndarray, "g _"]]:
    """The rows that groups of leaves share."""
    one = np.eye(int(group.max()) + 1, dtype=np.int64)[group]
    return [one.T @ both for both in again]


def told(labels: Int[np.ndarray, " n"]) -> float:
    """Bits that the leaf of a row tells."""
    shares = np.bincount(labels) / len(labels)
    shares = shares[shares > 0]
    return float(-(shares * np.log2(shares)).sum())
