"""Constants of the search."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SearchConstants:
    fewest: int = 30  # rows, to look for structure in
    folds: int = 5  # of few rows; of many one part is held out, whose own doubt is small
    held_out: float = 0.3  # share of that part
    doubt: float = 2.0  # standard errors of the paired difference that a saving must exceed
    tested_doubt: float = 1.0  # the same for leaves that rows have confirmed already by the valleys between them
    # A candidate with more leaves must save this many times the bits of one with fewer: cutting a leaf in pieces
    # always describes a little better how dense it is along itself, which is not structure.
    more: float = 1.05
    higher: float = 1.15  # mean dimension of rows on fewer leaves relative to that on more leaves, at most
    # looking again, region by region
    regions: int = 12  # the largest ones, which are looked into
    touching: float = 0.02  # share of nearest neighbors that are in another component, for two that touch
    most_dimensions: int = 20  # of a region: in more, neighbors are too far apart to say anything
    wider: float = (
        3.0  # ratio of deviations: of a flat component along and across, of a coordinate and its precision
    )
    thinner: float = 3.0  # standard errors by which rows fill fewer dimensions than a Gaussian would, if thin
    coarser: int = 4  # the part of the rows of which that is asked once more


SEARCH = SearchConstants()
