"""Constants of resampling."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class StabilityConstants:
    """Which rows a resample has, and when a leaf has come back."""

    # Least Jaccard overlap of the same leaf: half of a leaf that was cut in two, or a leaf that was joined with
    # one of half its size, is not the same.
    same: float = 0.75
    fraction: float = 0.5  # of the rows, in each resample
    in_process: float = 2.0  # seconds of all fits, below which starting processes takes longer than they save


STABILITY = StabilityConstants()
