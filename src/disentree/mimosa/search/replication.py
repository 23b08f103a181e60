"""What parts of the rows bring back: leaves that are not found again in them are joined until those that are left
are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from disentree.mimosa.density.candidate import Candidate, LeafCandidate
from disentree.mimosa.density.parts import joined
from disentree.mimosa.search.constants import SEARCH
from disentree.mimosa.tree.parts import brought_overlap, found_again, shared_rows


def brought_back(
    candidate: Candidate, refits: Sequence[Candidate], n_parts: int, Z: Float[np.ndarray, "n D"]
) -> tuple[Candidate, list[Int[np.ndarray, "k _"]]] | None:
    """A candidate whose leaves are those that it is found with again in parts of the rows, the others joined, and
    the rows that they share with the leaves of each part; None if none of several comes back."""
    labels = candidate.posteriors(Z).argmax(axis=1)
    others = [other.posteriors(Z).argmax(axis=1) for other in refits]
    others += [np.zeros(len(Z), int)] * (n_parts - len(others))  # in which there was none
    again = [shared_rows(labels, other, len(candidate.components)) for other in others]
    group = coarsened(again, len(candidate.components))
    if group.max() == len(candidate.components) - 1:
        return candidate, again
    return (joined_leaves(candidate, group), in_groups(again, group)) if group.max() else None


def joined_leaves(candidate: Candidate, group: Int[np.ndarray, " k"]) -> LeafCandidate:
    """A candidate with the leaves of each group as one."""
    members = [np.flatnonzero(group == g) for g in range(group.max() + 1)]
    leaves = [joined([candidate.components[int(c)] for c in own], candidate.shares[own]) for own in members]
    return LeafCandidate(candidate.finder, leaves, np.array([candidate.shares[own].sum() for own in members]))


def coarsened(again: Sequence[Int[np.ndarray, "k _"]], k: int) -> Int[np.ndarray, " k"]:
    """The group of each of k leaves: the finest in which all are found again."""
    group = np.arange(k)
    while again and group.max():
        now = in_groups(again, group)
        overlap = brought_overlap(now)
        worst = int(overlap.argmin())
        if overlap[worst] > SEARCH.again:
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
    return _entropy(np.bincount(labels))


def told_again(again: Sequence[Int[np.ndarray, "k _"]]) -> float:
    """Bits of a division that parts of the rows tell by themselves, less those in which they differ from it: for
    all parts but one of several, which may be unlucky."""
    return sorted(map(_agreement, again))[int(len(again) > 2)]


def _agreement(both: Int[np.ndarray, "k m"]) -> float:
    """Mutual information less what either division tells beyond the other."""
    return 2 * (_entropy(both.sum(axis=1)) + _entropy(both.sum(axis=0))) - 3 * _entropy(both.ravel())


def _entropy(counts: Int[np.ndarray, "..."]) -> float:
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log2(shares)).sum())
