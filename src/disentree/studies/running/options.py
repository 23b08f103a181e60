"""What can be chosen about a study: its scale, its seeds and its data sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

T = TypeVar("T")
Scale = Literal["quick", "default", "medium", "paper"]
SCALES: tuple[Scale, ...] = ("quick", "default", "medium", "paper")
# Nothing was developed on data of these seeds, so results that are reported have them.
FIRST_SEED = 2000

N_SAMPLES: dict[Scale, int] = {"quick": 20_000, "paper": 100_000}
SPACESHAPES_SAMPLES: dict[Scale, int] = {"quick": 20_000, "medium": 60_000, "paper": 100_000}


@dataclass(frozen=True)
class Options:
    """The choices that determine the runs of a study."""

    scale: Scale  # how much is computed
    seeds: tuple[int, ...]  # every run is repeated with each of them
    datasets: tuple[str, ...]
    data: Path | None = None  # the folder of a study whose data sets are files

    @property
    def preset(self) -> str:
        """That of COFHAE: its default at all scales but quick."""
        return "quick" if self.scale == "quick" else "default"

    def n_samples(self, dataset: str) -> int:
        """Samples of a benchmark."""
        return at_scale(SPACESHAPES_SAMPLES if dataset == "spaceshapes" else N_SAMPLES, self.scale)

    def describe_samples(self) -> str:
        """The number of samples of each data set, in words."""
        numbers = {dataset: self.n_samples(dataset) for dataset in self.datasets}
        most = max(numbers.values())
        fewer = [f"{n:,} of {dataset}" for dataset, n in numbers.items() if n < most]
        return f"{most:,} samples" + (f" ({', '.join(fewer)})" if fewer else "")


def at_scale(by_scale: Mapping[Scale, T], scale: Scale) -> T:
    """What a study has for a scale: where it is left out, that of the next larger scale that is given."""
    return next(by_scale[larger] for larger in SCALES[SCALES.index(scale) :] if larger in by_scale)
