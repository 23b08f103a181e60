"""Constants of the search."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SearchConstants:
    fewest: int = 30  # rows, to look for structure in
    doubt: float = 2.0  # standard errors of the paired difference that a saving must exceed
    coarse: float = 20.0  # steps of the grid that as many rows take before a heap at an end as are in it, at least
    # whether columns depend on each other by more than margins and correlations tell
    drawn: int = 2000  # rows that are compared with drawn ones
    draws: int = 12
    compared: int = 2  # draws that each draw is compared with
    nearest: int = 3  # neighbors: thin structure shows in the nearest, groups in more of them
    drawn_doubt: float = 3.0  # deviations among draws that rows must exceed
    found: float = 0.5  # overlap with what a part of the rows brings back, above which a leaf is found again
    # A candidate with more leaves must save this many times the bits of one with fewer: cutting a leaf in pieces
    # always describes a little better how dense it is along itself, which is not structure.
    more: float = 1.05
    higher: float = 1.15  # mean dimension of rows on fewer leaves relative to that on more leaves, at most
    # looking again, region by region
    regions: int = 12  # the largest ones, which are looked into
    touching: float = 0.02  # share of nearest neighbors that are in another component, for two that touch
    most_dimensions: int = 20  # of a region: in more, neighbors are too far apart to say anything
    thinner: float = 3.0  # standard errors by which rows fill fewer dimensions than a Gaussian would, if thin
    coarser: int = 4  # the part of the rows of which that is asked once more


SEARCH = SearchConstants()
