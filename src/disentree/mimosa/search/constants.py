"""Constants of the search."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SearchConstants:
    coarse: float = 20.0  # steps of the grid that as many rows take before a heap at an end as are in it, at least
    # whether columns depend on each other by more than margins and correlations tell
    compared: int = 2  # draws that each draw is compared with
    nearest: int = 3  # neighbors: thin structure shows in the nearest, groups in more of them
    # A density of all rows must save this many times the bits of leaves for these not to be thin, leaves with
    # gaps those of a density to be so, and a rare kind in pieces those of one whole: pieces describe a little
    # better how dense rows are.
    more: float = 1.05
    # Jaccard overlap of a leaf with what a part of the rows has of it, for it to be found again: kinds have .7 to
    # 1, slices of one cloud .1 to .6.
    again: float = 2 / 3


SEARCH = SearchConstants()
