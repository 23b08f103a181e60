"""Constants of charts and of mixtures of them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ChartConstants:
    """What the density of leaves that charts tile depends on."""

    rows_per_term: int = 4  # a quadratic needs so many rows per coefficient; with fewer rows the chart is flat
    edge: float = 1.1  # the edge of what noise gives is blurred
    background: float = 0.005  # share of the background
    # of rows, round by round: at first many rows near a meeting are on the wrong leaf
    trims: tuple[float, ...] = (0.05, 0.02, 0.01)
    settled: float = 0.002  # share of rows that change leaf when that may end
    fit_rows: int = 2400  # rows that a chart is fitted to, at most: more do not change it
    rows_per_tile: int = 25  # rows behind each tile of the density along a chart
    max_tiles: int = 24
    # Times the covariance within a cell, of which the likeliest is taken: Gaussians as narrow as their cells leave
    # ripples of .1 to .3 bits per row.
    wider: tuple[float, ...] = (1.5, 2.0, 3.0)


CHART = ChartConstants()
