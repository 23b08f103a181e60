"""Rows that fit nowhere, kept until there are enough of a kind for a leaf."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from disentree.mimosa.constants import FIT
from disentree.mimosa.density.candidate import Candidate, LeafCandidate
from disentree.mimosa.explain.formatting import counted, listed
from disentree.mimosa.finders.constants import FINDERS
from disentree.mimosa.finders.protocol import Rows
from disentree.mimosa.search.rare import kinds_among
from disentree.mimosa.search.rare_pieces import Kind
from disentree.mimosa.search.search import finders_for, search, seed_of
from disentree.mimosa.search.steps import Steps


@dataclass(frozen=True)
class Kept:
    """Rows that fit nowhere, of all rows that came since the fit."""

    rows: Float[np.ndarray, "r f"]  # features of a table, else the numbers of each row
    seen: int = 0  # rows that came
    looked: int = 0  # rows that were kept when a new leaf was last looked for

    def with_more(self, rows: Float[np.ndarray, "m f"], seen: int, random_state: int | None) -> Kept:
        """With those of some rows that fit nowhere; of many some at random."""
        both, seen = np.concatenate([self.rows, rows]), self.seen + seen
        if len(both) > FINDERS.searched:
            rng = np.random.default_rng(np.random.SeedSequence(random_state, spawn_key=(8, seen)))
            both = both[np.sort(rng.choice(len(both), FINDERS.searched, replace=False))]
        return Kept(both, seen, min(self.looked, len(both)))

    @property
    def is_enough(self) -> bool:
        """Whether a leaf may have formed since one was last looked for."""
        return len(self.rows) >= max(FIT.fewest, (1 + FINDERS.counted) * self.looked)


def new_kinds(
    candidate: Candidate,
    rows: Rows,
    Z: Float[np.ndarray, "r D"],
    n: int,
    random_state: int | None,
) -> list[Kind]:
    """Kinds among rows Z that fit nowhere, of n rows; `rows` are some that were fitted."""
    seed = seed_of("rare kinds", np.random.SeedSequence(random_state))

    def inside(own: Rows) -> Candidate:
        return search(own, finders_for(own.columns is not None), seed, Steps()).candidate

    # in an order of their own, so that nothing depends on the order they came in
    order = np.lexsort(Z.T)
    leaves = LeafCandidate(candidate.finder, candidate.components, candidate.shares)
    kinds = kinds_among(leaves, rows, Z[order], n, inside, np.random.default_rng(seed))
    return [Kind(np.sort(order[kind.own]), kind.leaves) for kind in kinds]


@dataclass(frozen=True, eq=False)
class Update:
    """What rows that came later brought; `print` tells it in words.

    Attributes
    ----------
    placed : DataFrame
        Where the rows are, as `place` says, before any new leaf.
    leaves : list of str
        Names of the leaves that have formed.
    sizes : list of int
        Of how many kept rows each new kind is.
    kept : int
        Rows that fit nowhere and are kept.
    why_not : str
        Why new kinds are no leaves of this tree; "" if they are.
    """

    placed: Any
    leaves: list[str]
    sizes: list[int]
    kept: int
    why_not: str = ""

    @property
    def nowhere(self) -> Int[np.ndarray, " k"]:
        """Numbers of the rows that fit nowhere."""
        return np.flatnonzero(~self.placed["fits"])

    @property
    def sentences(self) -> list[str]:
        """The same, sentence by sentence."""
        n = len(self.nowhere)
        few = f"{n:,}" if n else "none"
        out = [f"{counted(len(self.placed), 'row')}, of which {few} {'fits' if n <= 1 else 'fit'} nowhere."]
        if self.sizes and self.why_not:
            out.append(f"{_of_a_kind(self.sizes)} of a new kind, but no leaf: {self.why_not}.")
        elif self.sizes:
            named = listed([f"“{name}”" for name in self.leaves])
            formed = "A new leaf has formed" if len(self.leaves) == 1 else "New leaves have formed"
            out.append(f"{formed}: {named} ({listed([counted(size, 'row') for size in self.sizes])}).")
        if self.kept:
            out.append(f"{counted(self.kept, 'row')} {'is' if self.kept == 1 else 'are'} kept.")
        return out

    def __str__(self) -> str:
        return "\n".join(self.sentences)


def _of_a_kind(sizes: Sequence[int]) -> str:
    return listed([f"{size:,}" for size in sizes]) + " kept rows are"
