"""Constants of the search."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SearchConstants:
    coarse: float = 20.0  # steps of the grid that as many rows take before a heap at an end as are in it, at least
    # whether columns depend on each other by more than margins and correlations tell
    draws: int = 12
    compared: int = 2  # draws that rows, and each draw, are compared with
    nearest: int = 3  # neighbors: thin structure shows in the nearest, groups in more of them
    found: float = 0.5  # overlap with what a part of the rows brings back, above which a leaf is found again
    # A candidate with more leaves must save this many times the bits of one with fewer: cutting a leaf in pieces
    # always describes a little better how dense it is along itself, which is not structure.
    more: float = 1.05
    higher: float = 1.15  # mean dimension of rows on fewer leaves relative to that on more leaves, at most
    # looking again, region by region
    touching: float = 0.02  # share of nearest neighbors that are in another component, for two that touch
    coarser: int = 4  # the part of the rows of which that is asked once more


SEARCH = SearchConstants()
