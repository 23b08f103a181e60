"""Constants of the tree."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TreeConstants:
    # Of all switches together, with leaves among the numbers four times as many: more nobody reads. Trees that are
    # compared with each other: of more, one is made better step by step.
    most_paths: int = 1024
    # which leaf encloses which
    within: float = 0.6  # share of the smaller leaf's rows in reach of the larger one
    # Rows of the larger leaf that are this near to the smaller one, in deviations of its noise, look as if on it
    # (the density of noise falls to 1e-8 of its peak), so that a leaf along an edge has a strip of its own.
    strip: float = 6.0
    # products
    inside: float = 0.1  # exceptions to a rule between two switches, relative to what chance would give, at most
    # Rows that chance would give, for their absence, or a combination, to be no error; rows with and without a
    # thing, for it to be a branch.
    expected: float = 5.0
    # Of the bits of a choice that another one beside it tells, and of the rows that combinations which do not
    # occur would have by chance, at most.
    dependent: float = 0.2


TREE = TreeConstants()
