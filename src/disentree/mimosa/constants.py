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
    # Rows, to look for structure in; different whole numbers in a column that is searched; neighbors of a row, for
    # links across a gap: on a curve all of fewer are on one side by chance.
    fewest: int = 30
    # Rows of a table without an empty number, for the others to be left out; whole numbers that all differ, for
    # them to be numbers of the rows; rows in which groups that differ in categories are looked for.
    enough: int = 100
    # rows that show what all do: whether a subspace or a border is there, how far leaves are from each other
    sample: int = 500
    # Nearly all: probability of a row's path, for the row to be in the core of its component; share of rows that
    # two equations have in common, if they are one, or that a relation holds in at first, to compare all.
    core: float = 0.9
    # Share of rows that is too small to be a leaf that charts are laid on, or a heap, and large enough for what is
    # rare; of those that an equation or relation may fail in.
    least_share: float = 0.01
    # Of rows, cells or columns, for most of them to do the same: to be empty; of all rows, in a resample; of the
    # largest contrast, distance or peak, for another to be beside it.
    half: float = 0.5

    few: int = 1000  # rows below which structure is found on all, and judged by folds
    # Of few rows; of many one part is held out, whose own doubt is small. The part of a region in which neighbors
    # are looked at once more.
    folds: int = 5
    # standard errors, or deviations among draws, that are beyond doubt; that are, where several were tried
    doubt: float = 2.0
    sure: float = 3.0
    held_out: float = 0.3  # share of that part

    @property
    def exceptions(self) -> float:
        """Share of rows to which a rule may not apply, on both sides of it: beyond the reach of a leaf, in another
        leaf of two that do not touch, on no flat, empty where a thing exists."""
        return 2 * self.least_share

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
