"""Constants of the atlas."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class AtlasConstants:
    """What the search for charts depends on. The width of a chart is the deviation of its rows where they spread
    least along it, relative to the largest residual."""

    searched: int = 12_000  # rows among which leaves are looked for; a quarter as many others judge a tolerance
    exact: float = 1e-6  # tolerance for exact manifolds, in units of each direction's own deviation
    first_tolerance: float = 0.006  # relative to the spread of the data, unless noise is larger
    above_noise: float = 2.0  # tolerance relative to the noise
    thinnest: float = 0.1  # share of rows on the thinnest leaves, which measure noise: a cloud around them is none
    # per row: bits that do not decide between two tolerances, rows on no chart that are no leaf of full dimension
    negligible: float = 0.03
    # what is tried before giving up: tolerances, rounds of anchors without a chart, bridges over a border; rounds
    # of assigning rows to charts and fitting charts to rows
    rounds: int = 4
    # looked at at a time: anchors, neighbors that show which leaves touch, and per dimension (and for two more)
    # rows of the first ball
    looks: int = 12
    places: int = 10  # on a leaf or on the border of two, that decide by majority
    min_share: float = 0.01  # of rows, for a leaf
    # of rows, for agreement of two charts, a cut between leaves, or a border without others; of the coordinates,
    # the dimensions that rows on no chart must fill for a leaf of full dimension
    most: float = 0.75
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
    narrow: float = 3.0  # width of a chart that tells leaves side by side; of any chart, at least
    # width of one that tells leaves that cross; residuals of a leaf's charts by which a row is off it
    medium: float = 5.0

    @property
    def wide(self) -> float:
        """Width of a chart that tells a fold from a smooth border."""
        return self.narrow**2

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
