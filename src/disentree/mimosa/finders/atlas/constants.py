"""Constants of the atlas."""

from __future__ import annotations

from dataclasses import dataclass

from disentree.mimosa.finders.constants import FINDERS


@dataclass(frozen=True)
class AtlasConstants:
    """What the search for charts depends on. The width of a chart is the deviation of its rows where they spread
    least along it, relative to the largest residual; from `FINDERS.narrow` on, it tells leaves side by side."""

    first_tolerance: float = 0.006  # relative to the spread of the data, unless noise is larger
    above_noise: float = 2.0  # tolerance relative to the noise
    # per row: bits that do not decide between two tolerances, rows on no chart that are no leaf of full dimension
    negligible: float = 0.03
    places: int = 10  # on a leaf or on the border of two, that decide by majority
    ball_rows: int = 300  # rows of a ball that flats are judged by; charts are fitted to twice as many
    glance: int = 32  # a flat without support among so many rows is not looked at further
    trials: int = 30  # RANSAC tuples per dimension
    # deviations of chance by which a chart stands out; times the residual of its neighbors that is clearly more
    clear: float = 4.0
    similar: float = 1.4  # ratio of two lengths that count as equal; growth of a radius per step
    rough: float = 1.15  # residuals of a chart relative to the tolerance, at most: a larger one is too large
    bridged: float = 1.25  # residual of a bridge relative to those of what it joins, at most
    border_rows: int = 240  # rows that a chart over a border is fitted to, of all in its ball
    growth: float = 1.5  # of the number of rows in such a chart, per step
    side: float = 0.15  # share of its rows on either side; twice that of a leaf that a piece may be a part of
    far: float = 6.0  # rows of a chart over such a piece relative to those of the leaf's charts, at most
    # width of one that tells leaves that cross; residuals of a leaf's charts by which a row is off it
    medium: float = 5.0

    @property
    def wide(self) -> float:
        """Width of a chart that tells a fold from a smooth border."""
        return FINDERS.narrow**2

    @property
    def very_wide(self) -> float:
        """Width of a chart that is smooth, whatever is beside it."""
        return self.wide**2

    @property
    def ball(self) -> float:
        """Radius of the first ball in units of the tolerance: clearly more than twice of it, within which rows lie
        around a flat, or there is nothing to see."""
        return 2 * self.clear


ATLAS = AtlasConstants()
