"""Constants of resampling."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class StabilityConstants:
    """Which rows a resample has, and when a leaf has come back."""

    in_process: float = 2.0  # seconds of all fits, below which starting processes takes longer than they save


STABILITY = StabilityConstants()
