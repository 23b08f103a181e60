"""The constants of switches: which hyperplanes are equations, and when equations are a product."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SwitchesConstants:
    """Of the finder of products."""

    most_paths: int = 512
    # Rows of a combination that tell whether they fill its dimensions; the least product has four of them.
    fewest_inside: int = 100

    # ---- hyperplanes
    rows: int = 2000  # that hyperplanes are sought on, of those that equations are fitted to
    starts: int = 600  # hyperplanes through random rows that the search begins with
    widest: float = 0.3  # scatter around a hyperplane, in deviations of the data, from which it is halved
    narrowest: float = 1e-8  # down to this one
    reach: float = 3.0  # deviations of the scatter, within which rows are on a hyperplane
    shoulder: float = 8.0  # the same, within which the others are that it is compared with
    denser: float = 8.0  # how many times denser rows are on a hyperplane than beside it
    # how much denser rows are on the shoulder than further out: the others are no slope around it
    steepest: float = 1.5
    some: float = 0.05  # share of the rows that an equation holds in, at least

    # ---- equations
    same: float = 0.9  # of the rows of two equations in common, if they are one
    apart: float = 0.3  # sine of the angle between directions that are not the same
    # least singular value of the directions of all equations, and eigenvalue of the correlations of variables
    independent: float = 0.02
    # sets of known equations, in whose rows others are sought, and hyperplanes that are tried in each
    deeper: int = 5


SWITCHES = SwitchesConstants()
