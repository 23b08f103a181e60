"""Constants of the search."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SearchConstants:
    coarse: float = 20.0  # steps of the grid that as many rows take before a heap at an end as are in it, at least
    # whether columns depend on each other by more than margins and correlations tell
    compared: int = 2  # draws that each draw is compared with
    nearest: int = 3  # neighbors: thin structure shows in the nearest, groups in more of them
    # A candidate with more leaves must save this many times the bits of one with fewer: cutting a leaf in pieces
    # always describes a little better how dense it is along itself, which is not structure.
    more: float = 1.05
    higher: float = 1.15  # mean dimension of rows on fewer leaves relative to that on more leaves, at most


SEARCH = SearchConstants()
