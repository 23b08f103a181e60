"""The choices that reasons, names and sentences depend on. None of them changes a tree."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ExplainConstants:
    """Read as `EXPLAIN.name` when it is needed, so that a study that sets a field reaches every use."""

    # Which rows
    held_out_every: int = 3  # row of a path: reasons are searched in the others and measured on these

    # What may be said. Large and small differences are of shares of rows, or parts of a deviation or variance.
    contrast: float = 0.3  # least difference worth a sentence; also the most by which two moves are alike
    # By which a category is more frequent to be named, and an exact fact may be weaker; of a column's deviation,
    # for it to be told that a variable moves it.
    small_share: float = 0.05
    rule: float = 0.8  # least precision of what is called a rule; for a name the least recall too
    fewest_rows: int = 3  # in which a relation can be seen; held-out ones of each side for a rule
    largest_denominator: int = 12  # of the factor between two columns, as in "y = 3/2 x"

    # What is said about single rows
    other_rows: int = 16  # whose values stand in for those of a row, to see what a column decides
    least_bits: float = 0.1  # that a column must have decided to be named
    most_bits: float = 100.0  # that are told, of a column or of a leaf ahead of another

    # How long it may be
    listed: int = 4  # facts, relations or options in a sentence or name; directions of a leaf: twice as many
    # More nobody reads: columns, and lines of the tree, on a model card; leaves that are described, the largest.
    # Rows in which pairs of columns are compared first, and columns among which sums are searched.
    many: int = 64
    screen: int = 40  # lines of a tree in a terminal
    longest_name: int = 24  # letters of what a categorical or variable is called; of a category twice as many
    shortest_word: int = 3  # letters of a word that columns may share

    @property
    def listed_short(self) -> int:
        """Categories or columns in one phrase of a sentence."""
        return self.listed - 1


EXPLAIN = ExplainConstants()
