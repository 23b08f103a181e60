"""What can be chosen about a study: its scale, its seeds and its data sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Scale = Literal["quick", "default", "medium", "paper"]
SCALES: tuple[Scale, ...] = ("quick", "default", "medium", "paper")
# Nothing was developed on data of these seeds, so results that are reported have them.
FIRST_SEED = 2000


@dataclass(frozen=True)
class Options:
    """The choices that determine the runs of a study.

    Attributes
    ----------
    scale : {"quick", "default", "medium", "paper"}
        How much is computed.
    seeds : tuple of int
        Every run is repeated with each of them.
    datasets : tuple of str
        Names of data sets.
    """

    scale: Scale
    seeds: tuple[int, ...]
    datasets: tuple[str, ...]
