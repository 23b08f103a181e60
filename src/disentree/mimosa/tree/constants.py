"""Constants of the tree."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TreeConstants:
    most_paths: int = 1024  # of all switches together: more nobody reads
    # which leaf encloses which
    within: float = 0.6  # share of the smaller leaf's rows in reach of the larger one
    # Rows of the larger leaf that are this near to the smaller one, in deviations of its noise, look as if on it
    # (the density of noise falls to 1e-8 of its peak), so that a leaf along an edge has a strip of its own.
    strip: float = 6.0
    # Degrees of freedom of the errors of directions. With fewer, slopes and intercepts of Chopsticks are taken for
    # one; a Gaussian misses three trees of ten of 500 rows, this one and a half.
    freedom: int = 32
    # products
    inside: float = 0.1  # exceptions to a rule between two switches, relative to what chance would give, at most
    # Rows that chance would give, for their absence, or a combination, to be no error; rows with and without a
    # thing, for it to be a branch.
    expected: float = 5.0
    # Of the bits of a choice that another one beside it tells, and of the rows that combinations which do not
    # occur would have by chance, at most.
    dependent: float = 0.2

    @property
    def most_combined(self) -> int:
        """Paths of switches times leaves among the numbers. Trees that are compared with each other: of more, one
        is made better step by step."""
        return 4 * self.most_paths


TREE = TreeConstants()
