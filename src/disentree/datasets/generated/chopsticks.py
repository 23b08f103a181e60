"""Chopsticks: line segments that are chopped in half again and again, each piece with a slope, an intercept,
both, or either.

A stick of level 1 spans the whole series. With probability ``1 - 2^-(levels left - 1)`` it is chopped: its
right half gets a stick of the next level, whose slope and intercept are added to what was there (`offset`) or
replace it (`overwrite`). How many variables a sample has depends on where the chopping stopped.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from jaxtyping import Float

from disentree.hierarchy import Hierarchy
from disentree.hierarchy.tree import Categorical, Continuous, Group

VARIANTS = ("inter", "slope", "both", "either")
MODES = ("offset", "overwrite", "overwrite-slope", "overwrite-inter")
BOUND = {"slope": 0.01, "inter": 0.2}  # factors are uniform on (-bound, bound)


@dataclass(frozen=True)
class Chopsticks:
    """One member of the family: how codes are drawn and how they become series.

    Parameters
    ----------
    depth : int
        Levels of chopping, 1 or more.
    variant : {"inter", "slope", "both", "either"}
        Which of intercept and slope a stick has.
    length : int, default=64
        Samples per series, at least 2^depth.
    min_offset : float, default=0.0
        Factors keep at least this fraction of their bound away from 0, which leaves gaps in the manifolds.
    mode : {"offset", "overwrite", "overwrite-slope", "overwrite-inter"}, default="offset"
        ``"offset"`` adds a new stick to the old one; ``"overwrite"`` replaces the slope and/or intercept that
        the new stick has, ``"overwrite-slope"`` and ``"overwrite-inter"`` only the one named.
    distribution : {"uniform", "gaussian"}, default="uniform"
        ``"uniform"``, or ``"gaussian"`` with the bound as standard deviation.
    stop : {"paper", "equal"}, default="paper"
        ``"paper"`` chops with probability 1 - 2^-(levels left - 1), so depth 3 ends at its levels with
        probabilities 1/4, 3/8, 3/8; ``"equal"`` gives every level the same share.

    Examples
    --------
    >>> import numpy as np
    >>> sticks = Chopsticks(2, "inter")
    >>> codes = sticks.sample_codes(5, np.random.default_rng(0))
    >>> sticks.render(codes).shape
    (5, 64)
    """

    depth: int
    variant: Literal["inter", "slope", "both", "either"]
    length: int = 64
    min_offset: float = 0.0
    mode: Literal["offset", "overwrite", "overwrite-slope", "overwrite-inter"] = "offset"
    distribution: Literal["uniform", "gaussian"] = "uniform"
    stop: Literal["paper", "equal"] = "paper"

    def __post_init__(self) -> None:
        _one_of("variant", self.variant, VARIANTS)
        _one_of("mode", self.mode, MODES)
        _one_of("distribution", self.distribution, ("uniform", "gaussian"))
        _one_of("stop", self.stop, ("paper", "equal"))
        if self.depth < 1:
            raise ValueError(f"depth must be 1 or more, got {self.depth}")
        if not isinstance(self.length, int | np.integer) or self.length < 2**self.depth:
            raise ValueError(
                f"length must be a whole number, at least 2^depth = {2**self.depth} so that the last stick "
                f"has two samples, got {self.length!r}"
            )
        if not isinstance(self.min_offset, int | float | np.number) or not 0 <= self.min_offset < 1:
            raise ValueError(f"min_offset must be a number in [0, 1), got {self.min_offset!r}")

    @cached_property
    def hierarchy(self) -> Hierarchy:
        """The tree that the codes follow."""
        if self.variant != "either":
            return Hierarchy(self._stick_group(1, ""))
        options = (self._kind_group("inter", 1, ""), self._kind_group("slope", 1, ""))
        return Hierarchy(Group((Categorical("stick1", options),)))

    def _stick_group(self, level: int, name: str) -> Group:
        kinds = ("slope", "inter") if self.variant == "both" else (self.variant,)
        variables: tuple[Continuous | Categorical, ...] = tuple(Continuous(f"{k}{level}") for k in kinds)
        if level < self.depth:
            options = (Group((), "stop"), self._stick_group(level + 1, "chop"))
            variables += (Categorical(f"chop{level}", options),)
        return Group(variables, name)

    def _kind_group(self, kind: str, level: int, before: str) -> Group:
        """`either`: a stick of one kind, and below it the choice to stop or to go on with either kind."""
        mark = f"[{before}]" if before else ""
        variables: tuple[Continuous | Categorical, ...] = (Continuous(f"{kind}{level}{mark}"),)
        if level < self.depth:
            sofar = before + kind[0]
            deeper = (self._kind_group(k, level + 1, sofar) for k in ("inter", "slope"))
            variables += (Categorical(f"stick{level + 1}[{sofar}]", (Group((), "stop"), *deeper)),)
        return Group(variables, kind)

    def chop_probability(self, level: int) -> float:
        """The probability that a stick is chopped.

        Parameters
        ----------
        level : int
            Level of the stick, from 1.

        Returns
        -------
        float
        """
        left = self.depth - level + 1
        return 1 - 2.0 ** -(left - 1) if self.stop == "paper" else (left - 1) / left

    def sample_codes(self, n_samples: int, rng: np.random.Generator) -> Float[np.ndarray, "n v"]:
        """Draw codes.

        Parameters
        ----------
        n_samples : int
            How many.
        rng : numpy.random.Generator
            The source of randomness.

        Returns
        -------
        array of shape (n_samples, v)
            Codes for `hierarchy`.
        """
        codes = np.full((n_samples, self.hierarchy.n_variables), np.nan)
        # One draw per level and kind of decision, whatever the path: rows do not depend on one another.
        chop = rng.random((n_samples, self.depth))
        is_slope = rng.random((n_samples, self.depth)) < 0.5
        values = {kind: self._draw(kind, (n_samples, self.depth), rng) for kind in ("slope", "inter")}
        for v in self.hierarchy.variables:
            on = np.ones(n_samples, bool) if v.parent is None else codes[:, v.parent] == v.option
            if v.kind == "continuous":
                kind, level = _kind_and_level(v.name)
                codes[on, v.index] = values[kind][on, level - 1]
            elif v.name.startswith("chop"):
                level = _kind_and_level(v.name)[1]
                codes[on, v.index] = chop[on, level - 1] < self.chop_probability(level)
            elif v.parent is None:  # either, first stick: inter or slope
                codes[on, v.index] = is_slope[on, 0]
            else:  # either, later sticks: stop, inter or slope
                level = _kind_and_level(v.name)[1]
                chopped = chop[on, level - 2] < self.chop_probability(level - 1)
                codes[on, v.index] = np.where(chopped, 1 + is_slope[on, level - 1], 0)
        return codes

    def _draw(self, kind: str, shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
        bound, gap = BOUND[kind], self.min_offset * BOUND[kind]
        if self.distribution == "gaussian":
            value = rng.normal(scale=bound, size=shape)
            return value + np.copysign(gap, value)
        value = rng.uniform(-1, 1, size=shape)
        return np.copysign(gap + np.abs(value) * (bound - gap), value)

    def render(self, codes: Float[np.ndarray, "n v"]) -> Float[np.ndarray, "n t"]:
        """Series for codes, level by level: each stick is a line from its own start to the end.

        Parameters
        ----------
        codes : array of shape (n, v)
            Codes that are valid for `hierarchy`.

        Returns
        -------
        array of shape (n, length)
        """
        n = len(codes)
        X = np.empty((n, self.length))
        start, height, slope = 0, np.zeros(n), np.zeros(n)
        for level in range(1, self.depth + 1):
            given = {"slope": np.full(n, np.nan), "inter": np.full(n, np.nan)}
            for v in self.hierarchy.variables:
                if v.kind == "continuous" and _kind_and_level(v.name)[1] == level:
                    here = ~np.isnan(codes[:, v.index])
                    given[_kind_and_level(v.name)[0]][here] = codes[here, v.index]
            has_slope, has_inter = ~np.isnan(given["slope"]), ~np.isnan(given["inter"])
            rows = np.flatnonzero(has_slope | has_inter)
            keep_slope = ~(has_slope & (self.mode in ("overwrite", "overwrite-slope")))
            keep_inter = ~(has_inter & (self.mode in ("overwrite", "overwrite-inter")))
            slope = slope * keep_slope + np.nan_to_num(given["slope"])
            height = height * keep_inter + np.nan_to_num(given["inter"])
            ramp = np.arange(self.length - start)
            X[rows, start:] = height[rows, None] + slope[rows, None] * ramp
            step = (self.length - start) // 2
            height, start = height + slope * step, start + step
        return X


def _kind_and_level(name: str) -> tuple[str, int]:
    """'slope3[is]' -> ('slope', 3)"""
    base = name.split("[")[0]
    kind = base.rstrip("0123456789")
    return kind, int(base[len(kind) :])


def _one_of(argument: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"{argument} must be one of {', '.join(allowed)}; got {value!r}")
