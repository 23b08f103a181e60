"""The constants of switches: which hyperplanes are equations, and when equations are a product."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SwitchesConstants:
    """Of the finder of products."""

    fewest: int = 400  # rows that are searched, at least
    most_dimensions: int = 20
    most_paths: int = 512
    fewest_inside: int = 100  # rows of a combination that tell whether they fill its dimensions

    # ---- hyperplanes
    checked: int = 6000  # rows that equations are fitted to
    rows: int = 2000  # of these, rows that hyperplanes are sought on
    rows_per_axis: int = 4  # on a hyperplane, at least
    starts: int = 600  # hyperplanes through random rows that the search begins with
    widest: float = 0.3  # scatter around a hyperplane, in deviations of the data, from which it is halved
    narrowest: float = 1e-8  # down to this one
    steps: int = 2  # reweighted fits at each scatter
    reach: float = 3.0  # deviations of the scatter, within which rows are on a hyperplane
    shoulder: float = 8.0  # the same, within which the others are that it is compared with
    denser: float = 8.0  # how many times denser rows are on a hyperplane than beside it
    # how much denser rows are on the shoulder than further out: the others are no slope around it
    steepest: float = 1.5
    some: float = 0.05  # share of the rows that an equation holds in, at least
    free: float = 0.01  # share in which it does not

    # ---- equations
    same: float = 0.9  # of the rows of two equations in common, if they are one
    apart: float = 0.3  # sine of the angle between directions that are not the same
    # least singular value of the directions of all equations, and eigenvalue of the correlations of variables
    independent: float = 0.02
    # sets of known equations, in whose rows others are sought, and hyperplanes that are tried in each
    deeper: int = 5


SWITCHES = SwitchesConstants()
