"""What can be chosen about a study: its scale, its seeds and its data sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Scale = Literal["quick", "default", "paper"]
SCALES: tuple[Scale, ...] = ("quick", "default", "paper")


@dataclass(frozen=True)
class Options:
    """The choices that determine the runs of a study.

    Attributes
    ----------
    scale : {"quick", "default", "paper"}
        How much is computed.
    seeds : tuple of int
        Every run is repeated with each of them.
    datasets : tuple of str
        Names of data sets.
    """

    scale: Scale
    seeds: tuple[int, ...]
    datasets: tuple[str, ...]
