"""The constants of switches: which hyperplanes are equations, and when equations are a product."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SwitchesConstants:
    """Of the finder of products."""

    # ---- hyperplanes
    starts: int = 600  # hyperplanes through random rows that the search begins with
    widest: float = 0.3  # scatter around a hyperplane, in deviations, from which it is halved down to rounding
    # deviations of the scatter, within which rows are that those on a hyperplane are compared with; how many times
    # denser these are
    shoulder: float = 8.0
    # how much denser rows are on the shoulder than further out: the others are no slope around it
    steepest: float = 1.5
    some: float = 0.05  # share of the rows that an equation holds in, at least

    # ---- equations
    apart: float = 0.3  # sine of the angle between directions that are not the same
    # least singular value of the directions of all equations, and eigenvalue of the correlations of variables
    independent: float = 0.02
    # sets of known equations, in whose rows others are sought, and hyperplanes that are tried in each
    deeper: int = 5


SWITCHES = SwitchesConstants()
