"""The choices that reasons, names and sentences depend on. None of them changes a tree."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ExplainConstants:
    """Read as `EXPLAIN.name` when it is needed, so that a study that sets a field reaches every use."""

    # Which rows
    held_out_every: int = 3  # row of a path: reasons are searched in the others and measured on these
    first_rows: int = 64  # in which pairs of columns are compared first, before all rows are

    # What may be said
    contrast: float = 0.3  # least difference worth a sentence: of shares of rows, or as a part of a variance
    standard_errors: float = 2.6  # by which held-out shares must differ: 1 in 100 for each of a few facts
    beside: float = 0.5  # of the first fact's contrast that further facts of a branch must have
    exceptions: float = 0.01  # share of rows that a relation may fail in, and that a shorter rule may lose
    small_share: float = 0.05  # by which a category is more frequent to be named, and an exact fact may be weaker
    nearly_all: float = 0.9  # of first rows that a relation holds in, to compare all
    mostly: float = 0.6  # of columns that share a word
    nearly_exact: float = 0.98  # precision and recall of a rule from which on the shortest is taken
    condition: float = 0.02  # by which a condition more must raise the mean of precision and recall
    rule: float = 0.8  # least precision of what is called a rule; for a name the least recall too
    moved: float = 0.05  # of a column's deviation, for it to be told that a variable moves it
    alike: float = 0.7  # of the largest move, for a column to be in the variable's name too
    coarse: float = 0.1  # of a column's deviation: the precision above which equal cannot be told from near
    fewest_rows: int = 3  # in which a relation can be seen; held-out ones of each side for a rule
    largest_denominator: int = 12  # of the factor between two columns, as in "y = 3/2 x"
    small: float = 0.02  # share of rows below which several branches are one line of a tree on a screen

    # What is said about single rows
    other_rows: int = 16  # whose values stand in for those of a row, to see what a column decides
    least_bits: float = 0.1  # that a column must have decided to be named
    most_bits: float = 100.0  # that are told, of a column or of a leaf ahead of another

    # How long it may be
    listed: int = 4  # facts, relations or options in a sentence or name; directions of a leaf: twice as many
    listed_short: int = 3  # categories or columns in one phrase of it
    described_leaves: int = 64  # the largest
    # Columns, and lines of the tree, on a model card: more nobody reads; columns among which sums are searched.
    most_listed: int = 100
    screen: int = 40  # lines of a tree in a terminal
    longest_name: int = (
        24  # letters of what a categorical or variable is called; a category may have twice as many
    )
    shortest_word: int = 3  # letters of a word that columns may share


EXPLAIN = ExplainConstants()
