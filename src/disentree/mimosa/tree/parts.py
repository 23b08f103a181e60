"""Parts of the rows: those that are held out, and what parts bring back of a division of all rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from disentree.mimosa.constants import FIT


def splits(Z: Float[np.ndarray, "n D"], rng: np.random.Generator) -> list[Int[np.ndarray, " _"]]:
    """Rows to hold out: folds for few rows, one part for many. Equal rows are held out together, since a row is
    no test of a model that was fitted to its copy."""
    copies = np.unique(Z, axis=0, return_inverse=True)[1].reshape(-1)
    place = rng.permutation(copies.max(initial=-1) + 1)[copies]
    n, distinct = len(Z), copies.max(initial=-1) + 1
    if n < FIT.few:
        return [np.flatnonzero(place % FIT.folds == f) for f in range(min(FIT.folds, distinct))]
    last = np.sort(place)[int(FIT.held_out * n) - 1]
    return [np.flatnonzero(place <= last)]


def parts_of(n: int, rng: np.random.Generator) -> list[Int[np.ndarray, " _"]]:
    """Rows of each part: what is left without one of several folds, fewer of more rows, in the end halves."""
    order = rng.permutation(n)
    folds = FIT.folds if n < FIT.few else 3 if n < FIT.plenty else 2
    return [np.sort(np.delete(order, np.s_[fold::folds])) for fold in range(folds)]


def other_half(n: int, held: Int[np.ndarray, " m"], rng: np.random.Generator) -> Int[np.ndarray, " h"]:
    """Half of n rows, to find again in them what was found without those that were held out: these, and as many of
    the others as it takes."""
    rest = np.setdiff1d(np.arange(n), held)
    return np.sort(np.concatenate([held, rng.choice(rest, max(0, n // 2 - len(held)), replace=False)]))


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
