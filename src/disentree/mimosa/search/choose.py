"""The rule that chooses among candidates, and why the others were not: one function of one table of scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from disentree.mimosa.constants import FIT
from disentree.mimosa.finders.constants import FINDERS
from disentree.mimosa.search.constants import SEARCH


@dataclass(frozen=True, eq=False)
class Score:
    """A row of the table: what the rule knows about a candidate."""

    finder: str
    bits: Float[np.ndarray, " n"]  # of each held-out row; NaN for rows that were never held out
    is_plain: bool = False  # a model without structure
    is_cloud: bool = False  # one leaf that fills all coordinates
    is_exact: bool = False  # most rows lie on leaves to rounding
    is_product: bool = False
    is_density: bool = False  # of all rows, as flexible as leaves are along themselves
    has_gaps: bool = False  # the rows of some thin leaf fall apart

    @property
    def mean(self) -> float:
        """Bits per held-out row."""
        return float(np.nanmean(self.bits))


@dataclass(frozen=True)
class Decision:
    """The candidate that was chosen, the best model without structure, and what it saves over that."""

    chosen: Score
    plain: Score
    saved_bits: float  # per row
    doubt: float  # its standard error
    why_not: dict[str, str]  # for each other of fewer bits the reason why it was not chosen


def saving(a: Float[np.ndarray, " n"], b: Float[np.ndarray, " n"]) -> tuple[float, float]:
    """Bits per row that `a` saves over `b`, and the standard error of that: rows are paired."""
    difference = b - a
    difference = difference[~np.isnan(difference)]
    return float(difference.mean()), float(difference.std() / np.sqrt(max(len(difference), 1)))


def beyond_doubt(a: Float[np.ndarray, " n"], b: Float[np.ndarray, " n"], errors: float) -> bool:
    """Whether `a` saves bits over `b`, by more than so many standard errors."""
    mean, error = saving(a, b)
    return mean > errors * error


def best_plain(scores: Sequence[Score]) -> Score:
    """The model without structure of fewest bits."""
    return min((s for s in scores if s.is_plain), key=lambda s: s.mean)


def has_structure(score: Score, plain: Score, rigor: float = 1.0) -> bool:
    """Whether a candidate has leaves that are thin: it is more than one cloud, and saves bits over the best model
    without structure, beyond doubt."""
    thin = not score.is_cloud and not score.is_density
    return thin and beyond_doubt(score.bits, plain.bits, rigor * FIT.doubt)


def choose(scores: Sequence[Score], rigor: float = 1.0) -> Decision:
    """Of the candidates with structure that of fewest bits. The best model without structure stays if there is
    none, or if a density of all rows saves clearly more: how dense rows are along a leaf is no structure. Leaves
    with gaps must save clearly more than a density, since clouds may lie in a row by chance. Leaves that rows lie
    on exactly are no chance: what they lose, but to a product, is density along them."""
    order = sorted(scores, key=lambda s: s.mean)
    plain = best_plain(order)
    structured = [s for s in order if has_structure(s, plain, rigor)]
    best = next(iter(structured), plain)
    exact = next((s for s in structured if s.is_exact), None)
    if exact is not None and _hold_exactly(exact, best):
        best = exact
    density = next((s for s in order if s.is_density), plain)
    saved = [saving(s.bits, plain.bits)[0] for s in (density, best)]
    more = 1 / SEARCH.more if best.has_gaps else SEARCH.more
    if saved[0] > more * saved[1] and not (best.is_exact and _hold_exactly(best, density)):
        best = plain
    reasons = {s.finder: _why_not(s, best, plain, rigor) for s in order if s is not best and s.mean < best.mean}
    return Decision(best, plain, *saving(best.bits, plain.bits), reasons)


def _hold_exactly(exact: Score, best: Score) -> bool:
    return not best.is_product and saving(best.bits, exact.bits)[0] <= FINDERS.thin


def _why_not(score: Score, best: Score, plain: Score, rigor: float) -> str:
    """Why a candidate of fewer bits than the chosen one was not chosen."""
    if score.is_cloud:
        return "it is one cloud too"
    if score.is_density:
        return "density is no structure"
    if not has_structure(score, plain, rigor):
        return "what it saves may be chance"
    return "the chosen leaves hold exactly" if best.is_exact else "a density saves more"
