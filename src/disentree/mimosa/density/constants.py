"""The constants of densities."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DensityConstants:
    """Of Gaussians, of columns with normal margins, and of leaves that charts tile."""

    # a direction is wide if its variance is so many times that of residual ones, which differ less
    gap: float = 10.0

    # normal margins
    knots: tuple[int, ...] = (0, 3, 6, 12, 24)  # tried for each column; none is a straight line (normal as it is)
    score_floor: float = 1e-3  # standard deviation of normal scores in any direction, at least

    # nearest rows that tell which part of a density a row is in, and that rows climb along to a mode
    near: int = 5

    # charts
    # A quadratic needs so many rows per coefficient, with fewer the chart is flat; a hyperplane as many per axis.
    rows_per_term: int = 4
    edge: float = 1.1  # the edge of what noise gives is blurred
    background: float = 0.005  # share of the background
    # of rows, round by round: at first many rows near a meeting are on the wrong leaf
    trims: tuple[float, ...] = (0.05, 0.02, 0.01)
    settled: float = 0.002  # share of rows that change leaf when rounds may end
    rows_per_tile: int = 25  # rows behind each tile of the density along a chart
    max_tiles: int = 24
    # Times the covariance within a cell, of which the likeliest is taken: Gaussians as narrow as their cells leave
    # ripples of .1 to .3 bits per row.
    wider: tuple[float, ...] = (1.5, 2.0, 3.0)


DENSITY = DensityConstants()
