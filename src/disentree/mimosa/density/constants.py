"""The constants of densities."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GaussiansConstants:
    """Of the dimension of a Gaussian."""

    gap: float = (
        10.0  # a direction is wide if its variance is so many times that of residual ones, which differ less
    )


@dataclass(frozen=True)
class MarginsConstants:
    """Of columns with normal margins."""

    knots: tuple[int, ...] = (0, 3, 6, 12, 24)  # tried for each column; none is a straight line (normal as it is)
    folds: int = 4  # that the number of knots is chosen by
    choosing: int = 4000  # rows that it is chosen on


GAUSSIANS = GaussiansConstants()
MARGINS = MarginsConstants()
