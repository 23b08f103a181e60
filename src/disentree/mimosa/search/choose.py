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
    n_leaves: int
    n_connected: int  # the same, but a leaf whose rows fall apart counts as several
    mean_dimension: float  # of rows
    is_plain: bool = False  # a model without structure
    is_cloud: bool = False  # one leaf that fills all coordinates
    is_exact: bool = False  # most rows lie on leaves to rounding
    is_density: bool = False  # of all rows, as flexible as leaves are along themselves
    n_options: int = 0  # of all choices of a product; 0 for leaves one by one

    @property
    def mean(self) -> float:
        """Bits per held-out row."""
        return float(np.nanmean(self.bits))

    @property
    def is_product(self) -> bool:
        return self.n_options > 0


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
    """The decision.

    1. Without structure beyond doubt: the best model without structure.
    2. Else of the candidates with structure that of fewest bits, unless one after it (in the order of bits) is
       exact and loses no more than `thin` bits, or has fewer connected leaves and saves nearly as much.
    3. A product takes the place of leaves that save hardly more, and few leaves that of a product.
    4. Leaves are not thin, and the best model without structure stays, where a density of all rows saves more; how
       dense rows are along a leaf is no structure.
    """
    order = sorted(scores, key=lambda s: s.mean)
    plain = best_plain(order)
    structured = [s for s in order if has_structure(s, plain, rigor)]
    saved = {s.finder: saving(s.bits, plain.bits)[0] for s in [plain, *structured]}
    best = structured[0] if structured else plain
    for other in structured[1:]:
        if not (best.is_product or other.is_product) and (
            _holds_exactly(other, best) or _is_simpler(other, best, saved, structured[0])
        ):
            best = other
    best = _product_or_leaves(best, structured, saved)
    density = next((s for s in order if s.is_density), plain)
    if _tells_more(density, best, plain, saved):
        best = plain
    reasons = {s.finder: _why_not(s, best, structured) for s in order if s is not best and s.mean < best.mean}
    return Decision(best, plain, *saving(best.bits, plain.bits), reasons)


def _holds_exactly(other: Score, best: Score) -> bool:
    """Leaves that rows lie on exactly are no chance: what they lose is density along leaves."""
    return other.is_exact and saving(best.bits, other.bits)[0] <= FINDERS.thin


def _is_simpler(other: Score, best: Score, saved: dict[str, float], first: Score) -> bool:
    """Fewer connected leaves that save nearly as much as the candidate of fewest bits; one leaf of three
    dimensions is not simpler than three of one and two."""
    fewer = other.n_connected < best.n_connected
    higher = other.mean_dimension > SEARCH.higher * best.mean_dimension
    return fewer and not higher and saved[other.finder] * SEARCH.more >= saved[first.finder]


def _tells_more(density: Score, best: Score, plain: Score, saved: dict[str, float]) -> bool:
    """Whether a density of all rows saves more than leaves do, which are then not thin."""
    if saving(density.bits, plain.bits)[0] <= SEARCH.more * saved.get(best.finder, 0.0):
        return False
    return not _holds_exactly(best, density)


def _product_or_leaves(best: Score, structured: Sequence[Score], saved: dict[str, float]) -> Score:
    """A product that saves nearly as much as leaves one by one says the same, and why there are so many. Where it
    saves more, leaves must be fewer than its options to be preferred."""
    product = next((s for s in structured if s.is_product), None)
    if product is None:
        return best
    if best is product:
        fewer = [s for s in structured if s is not product and s.n_leaves < product.n_options]
        return next((s for s in fewer if saved[s.finder] * SEARCH.more >= saved[product.finder]), product)
    loses = saving(best.bits, product.bits)[0]
    return product if loses <= min(FINDERS.thin, (1 - 1 / SEARCH.more) * saved[best.finder]) else best


def _why_not(score: Score, best: Score, structured: Sequence[Score]) -> str:
    """Why a candidate of fewer bits than the chosen one was not chosen."""
    if score.is_cloud:
        return "it is one cloud too"
    if not any(score is s for s in structured):
        return "what it saves may be chance"
    if best.is_product:
        return "independent choices say nearly the same"
    if best.is_exact:
        return "the chosen leaves hold exactly"
    return "fewer leaves do nearly as well"
