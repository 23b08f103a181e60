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
    fewest: int = 30  # rows, to look for structure in; different whole numbers in a column that is searched
    # Rows of a table without an empty number, for the others to be left out; whole numbers that all differ, for
    # them to be numbers of the rows; rows in which groups that differ in categories are looked for.
    enough: int = 100
    # rows that show what all do: whether a subspace or a border is there, how far leaves are from each other
    sample: int = 500
    core: float = 0.9  # probability of a row's path, for the row to be in the core of its component

    few: int = 1000  # rows below which structure is found on all, and judged by folds
    folds: int = 5  # of few rows; of many one part is held out, whose own doubt is small
    # standard errors, or deviations among draws, that are beyond doubt; that are, where several were tried
    doubt: float = 2.0
    sure: float = 3.0
    held_out: float = 0.3  # share of that part

    @property
    def many(self) -> int:
        """Rows that show what all do where more is fitted to them: a chart, an equation, a split, dependence."""
        return 4 * self.sample

    @property
    def most(self) -> int:
        """Rows that a region, latent classes or the margin of a column are looked for in."""
        return 2 * self.many

    @property
    def plenty(self) -> int:
        """Rows whose halves are enough to bring back what is found in all (digits, 1,797 rows: halves bring back 7
        of 13 leaves, two thirds all of them)."""
        return self.folds * self.few


FIT = FitConstants()
