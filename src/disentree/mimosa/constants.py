"""Constants of the fit as a whole; each room has those of its own."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FitConstants:
    """What `fit` does with rows before and after the search."""

    # Rows of a table that the structure is found on, in which grids of columns and reasons are looked for: more
    # take longer and show the same. Ten times as many of the latent of an autoencoder, where sheets need dense
    # neighborhoods.
    landmarks: int = 20_000
    fewest_complete: int = 100  # rows of a table without an empty number, for the others to be left out
    core: float = 0.9  # probability of a row's path, for the row to be in the core of its component

    few: int = 1000  # rows below which structure is found on all, and judged by folds
    folds: int = 5  # of few rows; of many one part is held out, whose own doubt is small
    held_out: float = 0.3  # share of that part
    # what parts of the rows bring back: folds that are left out one by one below so many rows, halves above
    # (digits, 1,797 rows: halves bring back 7 of 13 leaves, two thirds all of them)
    parts: tuple[tuple[int, int], ...] = ((5, 1000), (3, 5000))


FIT = FitConstants()
