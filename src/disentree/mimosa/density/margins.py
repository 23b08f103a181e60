"""Columns with normal margins: a smooth monotone map for each column, and its Jacobian."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr, ndtri

from disentree.mimosa.constants import FIT
from disentree.mimosa.density.constants import DENSITY
from disentree.mimosa.density.logs import LOG_2PI


@dataclass(frozen=True)
class MonotoneMap:
    """Scores of values: a monotone cubic through quantiles and their normal scores, straight beyond the
    outermost."""

    at: Float[np.ndarray, " k"]
    scores: Float[np.ndarray, " k"]
    below: float  # slopes outside
    above: float

    @property
    def straight(self) -> bool:
        """One line, through one point."""
        return len(self.at) == 1

    @cached_property
    def slopes(self) -> Float[np.ndarray, " k"]:
        return pchip_slopes(self.at, self.scores)

    def inside(self, x: Float[np.ndarray, " n"]) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """The cubic and its slope, between the outermost knots."""
        piece = np.clip(np.searchsorted(self.at, x, side="right") - 1, 0, len(self.at) - 2)
        width, rise = np.diff(self.at)[piece], np.diff(self.scores)[piece]
        t = (x - self.at[piece]) / width
        left, right = self.slopes[piece] * width, self.slopes[piece + 1] * width
        bend = left - rise, rise - right  # of a cubic with these ends and slopes, beside the straight line
        off = (1 - t) * t * ((1 - t) * bend[0] + t * bend[1])
        slope = (rise + (1 - 3 * t) * (1 - t) * bend[0] + (2 - 3 * t) * t * bend[1]) / width
        return self.scores[piece] + t * rise + off, slope

    def __call__(self, x: Float[np.ndarray, " n"]) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """Scores and the log of the slope."""
        if self.straight:
            return self.scores[0] + self.below * (x - self.at[0]), np.full(len(x), np.log(self.below))
        low, high = self.at[0], self.at[-1]
        scores, slope = self.inside(np.clip(x, low, high))
        slope = np.where(x < low, self.below, np.where(x > high, self.above, slope))
        scores = (
            scores + np.where(x < low, self.below * (x - low), 0) + np.where(x > high, self.above * (x - high), 0)
        )
        # a slope of zero would be a density of zero
        return scores, np.log(np.maximum(slope, 1e-3 * (self.scores[-1] - self.scores[0]) / (high - low)))


def pchip_slopes(at: Float[np.ndarray, " k"], values: Float[np.ndarray, " k"]) -> Float[np.ndarray, " k"]:
    """Slopes of the monotone cubic through rising points (Fritsch and Butland), as those of scipy, which takes ten
    times as long to make one of few knots."""
    width = np.diff(at)
    chord = np.diff(values) / width
    after, before = 2 * width[1:] + width[:-1], width[1:] + 2 * width[:-1]
    inner = (after + before) / (after / chord[:-1] + before / chord[1:])
    ends = [_end_slope(width, chord), _end_slope(width[::-1], chord[::-1])]
    return np.concatenate([ends[:1], inner, ends[1:]])


def _end_slope(width: Float[np.ndarray, " k"], chord: Float[np.ndarray, " k"]) -> float:
    """Of the parabola through the outer three points, and not falling."""
    slope = ((2 * width[0] + width[1]) * chord[0] - width[0] * chord[1]) / (width[0] + width[1])
    return float(max(slope, 0.0))


def monotone_map(x: Float[np.ndarray, " n"], knots: int, precision: float) -> MonotoneMap:
    """The map through `knots` quantiles, spaced evenly in normal scores between those of the outer rows."""
    n = len(x)
    if knots == 0:
        deviation = max(float(x.std()), precision, 1e-300)
        return MonotoneMap(np.array([x.mean()]), np.array([0.0]), 1 / deviation, 1 / deviation)
    outer = -ndtri(max(2.0 / n, 0.005))
    scores = np.linspace(-outer, outer, knots + 2)
    at = np.quantile(x, ndtr(scores))
    keep = np.concatenate([[True], np.diff(at) > max(precision * 0.2, 1e-9 * (at[-1] - at[0]))])
    at, scores = at[keep], scores[keep]
    if len(at) < 3:
        return monotone_map(x, 0, precision)
    chords = np.diff(scores) / np.diff(at)
    # Straight tails as steep as the outer rows say: score of the mean excess beyond the outer knots.
    below, above = at[0] - x[x < at[0]], x[x > at[-1]] - at[-1]
    low = min(chords[0], 0.35 / max(below.mean(), precision)) if len(below) else chords[0]
    high = min(chords[-1], 0.35 / max(above.mean(), precision)) if len(above) else chords[-1]
    return MonotoneMap(at, scores, float(low), float(high))


def log_margin(x, m: MonotoneMap) -> Float[np.ndarray, " n"]:
    scores, log_slope = m(x)
    return -0.5 * (scores**2 + LOG_2PI) + log_slope


def chosen_map(x: Float[np.ndarray, " n"], precision: float) -> MonotoneMap:
    """The map with the number of knots that describes held-out rows best; a straight line unless another
    clearly does."""
    some = x[:: max(1, len(x) // FIT.most)]
    n = len(some)
    fold = np.arange(n) % FIT.folds
    each = {}
    for knots in DENSITY.knots:
        if knots * 8 > n:
            continue
        each[knots] = np.empty(n)
        for f in range(FIT.folds):
            m = monotone_map(some[fold != f], knots, precision)
            each[knots][fold == f] = log_margin(some[fold == f], m)
    best = 0
    for knots in each:
        gain = each[knots] - each[best]
        if gain.mean() > gain.std() / np.sqrt(n):
            best = knots
    return monotone_map(x, best, precision)


@dataclass(frozen=True)
class Margins:
    """Maps of all columns."""

    maps: list[MonotoneMap]

    @classmethod
    def fit(cls, X: Float[np.ndarray, "n p"], precision: Float[np.ndarray, " p"]) -> Margins:
        return cls([chosen_map(X[:, j], precision[j]) for j in range(X.shape[1])])

    @property
    def straight(self) -> bool:
        return all(m.straight for m in self.maps)

    def __call__(self, X: Float[np.ndarray, "n p"]) -> tuple[Float[np.ndarray, "n p"], Float[np.ndarray, " n"]]:
        """Scores, and the log of the Jacobian of each row."""
        S = np.empty_like(X)
        jacobian = np.zeros(len(X))
        for j, m in enumerate(self.maps):
            S[:, j], slope = m(X[:, j])
            jacobian += slope
        return S, jacobian
