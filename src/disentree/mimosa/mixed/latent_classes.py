"""Groups of rows that differ in categories alone: kinds of mushrooms, of answers to a questionnaire.

Classes must describe held-out rows better than anything without groups does: columns that depend on up to two
others each, and one to three traits along which all answers change (an attitude, a severity).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from disentree.mimosa.constants import FIT
from disentree.mimosa.mixed.category_models import Answers, Classes, Network, fit_classes, fit_network, fit_traits
from disentree.mimosa.mixed.constants import MIXED


@dataclass(frozen=True)
class LatentClasses:
    """Classes of rows."""

    shares: Float[np.ndarray, " k"]
    # For each column the log of each value's share in a class, relative to its share in all rows; in the last row
    # 0, for empty cells.
    tables: list[Float[np.ndarray, "_ k"]]
    saved: float  # bits per row over the best model without groups
    doubt: float  # the standard error of that

    def posteriors(self, columns: Sequence[Int[np.ndarray, " n"]]) -> Float[np.ndarray, "n k"]:
        """The probability of each class."""
        joint = np.log(self.shares) + sum(t[c] for t, c in zip(self.tables, columns, strict=True))
        return np.exp(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True))


def find_classes(
    columns: Sequence[Int[np.ndarray, " n"]], n_levels: Sequence[int], rng: np.random.Generator
) -> LatentClasses | None:
    """Classes, the largest first, if they describe rows better than everything without groups. Columns have
    positions among their levels, -1 where a cell is empty."""
    # classes of two columns are not identified
    if len(columns) < 3 or len(columns[0]) < FIT.enough:
        return None
    answers = Answers.of(columns, n_levels)
    some = answers.take(np.sort(rng.permutation(len(answers))[: FIT.most]))
    parts = rng.permutation(len(some)) % (FIT.folds if len(some) < FIT.few else 2)
    without = _held_out(some, parts, fit_network)
    k, bits = _best_number(some, parts, rng)
    saved, doubt = _saving(without, bits)
    for d in range(1, len(MIXED.traits) + 1):
        if saved <= FIT.sure * doubt or k == MIXED.class_numbers[-1]:
            return None
        with_traits = _held_out(some, parts, lambda training, d=d: fit_traits(training, d))
        without = min(without, with_traits, key=np.mean)
        saved, doubt = _saving(without, bits)
    # groups in which most rows may as well be in another are none
    model = fit_classes(answers.take(np.sort(rng.permutation(len(answers))[: FIT.landmarks])), k, rng)
    certain = model.posteriors(some).max(axis=1).mean() >= FIT.core
    return _in_order(model, answers, saved, doubt) if certain and saved > FIT.sure * doubt else None


def _best_number(
    answers: Answers, parts: Int[np.ndarray, " n"], rng: np.random.Generator
) -> tuple[int, Float[np.ndarray, " n"]]:
    """The number of classes that describes held-out rows best, and their bits."""
    tried: list[tuple[int, Float[np.ndarray, " n"]]] = []
    for k in MIXED.class_numbers:
        tried.append((k, _held_out(answers, parts, lambda training, k=k: fit_classes(training, k, rng))))
        means = [bits.mean() for _, bits in tried]
        if len(tried) - np.argmin(means) > MIXED.more_tried:
            break
    return min(tried, key=lambda one: float(one[1].mean()))


def _saving(without: Float[np.ndarray, " n"], bits: Float[np.ndarray, " n"]) -> tuple[float, float]:
    """Bits per row, and the standard error."""
    gain = without - bits
    return float(gain.mean()), float(gain.std() / np.sqrt(len(gain)))


def _held_out(
    answers: Answers, parts: Int[np.ndarray, " n"], fit: Callable[[Answers], Classes | Network]
) -> Float[np.ndarray, " n"]:
    """Bits of every row by a model that was fitted to the other parts."""
    out = np.zeros(len(answers))
    for part in np.unique(parts):
        held: Bool[np.ndarray, " n"] = parts == part
        out[held] = -fit(answers.take(~held)).log_likelihood(answers.take(held)) / np.log(2)
    return out


def _in_order(model: Classes, answers: Answers, saved: float, doubt: float) -> LatentClasses:
    order = np.argsort(-model.log_shares, kind="stable")
    relative = (model.log_tables - np.log(answers.shares()))[order]
    none = np.zeros((1, len(order)))
    tables = [np.concatenate([relative[:, b].T, none]) for b in answers.blocks]
    shares = np.exp(model.log_shares[order])
    return LatentClasses(shares / shares.sum(), tables, saved, doubt)
