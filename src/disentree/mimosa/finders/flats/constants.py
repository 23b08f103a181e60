"""The constants of flat leaves and sheets, with their reasons."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FlatsConstants:
    # How far neighbors may lie off a flat, relative to their distance: rounding (exact), then noise or curvature.
    flat_tolerances: tuple[float, ...] = (1e-6, 1e-4, 1e-2, 0.03, 0.06, 0.1, 0.15, 0.2)
    # The same for a quadratic sheet, whose residuals are judged by leave-one-out.
    sheet_tolerances: tuple[float, ...] = (0.001, 0.003, 0.01, 0.03, 0.06, 0.1, 0.14, 0.18, 0.22, 0.26, 0.3)
    fine: float = 0.03  # residuals below half of it are by chance, unless the tolerance itself is lower
    min_share: float = 0.003  # of the rows, that a component has at least
    chance: float = 1e-4  # how often chance may put the required number of points on a flat, per trial
    # Neighbors on a flat beyond those that it was drawn through, at least; a point spreads its component only with
    # this many links of its own.
    min_links: int = 3
    # Nearest points of a component that links lead to, and from which density in noise is estimated; neighbors
    # that connect rows without a gap.
    nearby: int = 15
    achieved: float = 0.8  # components achieve at least this fraction of an estimated saving
    mostly: float = 0.3  # share of rows on exact subspaces, for data that is exact at all
    # Flats in noise; lengths in units of the noise.
    max_explained: float = 0.2  # of the variance across a flat, by the position along it; above, it is curved


FLATS = FlatsConstants()
