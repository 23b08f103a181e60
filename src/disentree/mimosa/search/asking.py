"""Finders are asked, and what they propose is scored: one record for each candidate."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from disentree.mimosa.constants import FIT
from disentree.mimosa.density.candidate import Candidate
from disentree.mimosa.density.mixture_leaf import MixtureCandidate
from disentree.mimosa.finders.budget import Budget, unbounded
from disentree.mimosa.finders.connected import has_gaps
from disentree.mimosa.finders.protocol import Finder, Rows
from disentree.mimosa.search.choose import Score
from disentree.mimosa.search.judge import STRUCTURELESS, held_out_bits, structureless

Parts = Sequence[Int[np.ndarray, " _"]]


@dataclass(frozen=True)
class Tried:
    """A candidate and all that is known about it."""

    candidate: Candidate
    score: Score
    seconds: float
    finder: Finder | None = None  # that proposed it; None for models without structure
    refits: tuple[Candidate, ...] = ()  # what it is in parts of the rows: folds, at first
    budget: Budget = field(default_factory=unbounded)  # of its finder

    @property
    def row(self) -> dict[str, Any]:
        return row_of(self.candidate, self.score.mean, self.seconds, self.budget)


def without_structure(rows: Rows, held: Parts) -> list[Tried]:
    began = time.perf_counter()
    seen = _seen(rows, held)
    plain = structureless(seen.Z, rows.floor, rows.columns)

    def fits(part: Float[np.ndarray, "m D"]) -> Sequence[Candidate]:
        return structureless(part, rows.floor, rows.columns) if len(rows.Z) < FIT.few else plain

    return _judged(plain, fits, rows, held, began)


def proposed(finder: Finder, rows: Rows, held: Parts, seed: np.random.SeedSequence) -> list[Tried]:
    """What a finder proposes, and the bits of that on held-out rows."""
    began = time.perf_counter()
    propose, refit = map(np.random.default_rng, seed.spawn(2))
    whole = len(rows.Z) < finder.whole_below
    new = finder.propose(rows if whole else _seen(rows, held), propose)
    refits: list[Candidate] = []

    def fits(part: Float[np.ndarray, "m D"]) -> Sequence[Candidate]:
        if not whole:
            return new
        own = finder.refit(replace(rows, Z=part), refit, new)
        refits.extend(own)
        return own

    scored = _judged(new, fits, rows, held, began) if new else []
    return [
        replace(one, finder=finder, refits=named(one.candidate.finder, refits), budget=rows.budget)
        for one in scored
    ]


def _seen(rows: Rows, held: Parts) -> Rows:
    """Rows that finders see: all of few."""
    return rows if len(rows.Z) < FIT.few else replace(rows, Z=np.delete(rows.Z, held[0], axis=0))


def named(name: str, candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    return tuple(one for one in candidates if one.finder == name)


def _judged(
    new: Sequence[Candidate],
    fits: Callable[[np.ndarray], Sequence[Candidate]],
    rows: Rows,
    held: Parts,
    began: float,
) -> list[Tried]:
    """Candidates with their scores, given how they are fitted to a part of the rows."""
    took = time.perf_counter() - began
    bits = held_out_bits(fits, rows.Z, rows.floor, held)
    out = []
    for candidate in new:
        own = bits.get(candidate.finder)
        if own is not None:
            score = _scored(candidate, own.bits, rows.Z)
            out.append(Tried(candidate, score, took + own.seconds))
    return out


def _scored(candidate: Candidate, bits: Float[np.ndarray, " n"], Z: Float[np.ndarray, "n D"]) -> Score:
    """A candidate's row in the table of scores."""
    score = Score(
        candidate.finder,
        bits,
        is_plain=candidate.finder in STRUCTURELESS,
        is_cloud=candidate.dimensions == [Z.shape[1]],
        is_exact=candidate.is_exact,
        is_product=candidate.product is not None,
        is_density=_is_density(candidate),
    )
    if score.is_plain or score.is_density or score.is_product:
        return score
    return replace(score, has_gaps=has_gaps(candidate, Z))


def _is_density(candidate: Candidate) -> bool:
    """Whether a candidate is a mixture. One whose leaves all differ in dimension, as a line in a plane, is no
    density in pieces."""
    dimensions = candidate.dimensions
    return isinstance(candidate, MixtureCandidate) and not 1 < len(dimensions) == len(set(dimensions))


def row_of(candidate: Candidate, bits: float, seconds: float, budget: Budget | None = None) -> dict[str, Any]:
    left_out = "" if budget is None else ", ".join(budget.left_out)
    dimensions = sorted(candidate.dimensions)
    row = {"finder": candidate.finder, "components": len(dimensions), "dimensions": dimensions}
    return row | {"bits": bits, "seconds": seconds, "why_not": "", "left_out": left_out}
