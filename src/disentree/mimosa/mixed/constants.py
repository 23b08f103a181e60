"""Constants of tables with categories and empty cells."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MixedConstants:
    """What exists where, latent classes, and what categories say about leaves."""

    # which columns are searched as numbers
    most_empty: float = 0.2  # share of cells that are not known, of a column that is searched or of a thing
    few_values: int = 10  # a column with no more different numbers has codes or counts, no measurements
    rows_per_value: int = 20  # in the mean; a column with fewer names persons, models or places

    # presence
    accident_bits: float = 20.0  # saved by chance, or the surprise at it, by no accident

    # latent classes and their rivals
    class_numbers: tuple[int, ...] = (2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 18, 22, 26, 30)  # the last: no groups
    more_tried: int = 2  # of these, when one is no better
    steps: int = 100  # of it, and of the fit of traits
    settled: float = 1e-5  # nats per row that a step must gain
    most_parents: int = 2  # of a column in a network of columns
    traits: tuple[tuple[float, int], ...] = ((3.5, 25), (3.0, 9), (3.0, 6))  # of 1, 2, 3: reach, places on each
    loading_precision: float = 0.5  # of the prior of what a trait does to the odds of a value

    shuffles: int = 3  # of the rows of each column, for parallel analysis
    powers: tuple[float, ...] = (0.0, 0.5, 1.0)  # of the categories' likelihood: columns that repeat count less


MIXED = MixedConstants()
