"""What can be chosen about a study: its scale, its seeds and its data sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from disentree.datasets.files.arrays import ARRAYS

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
    models: tuple[str, ...] = ()  # of the study `compare`
    metrics: tuple[str, ...] = ()  # likewise
    samples: int | None = None  # of every data set, instead of the scale's
    settings: Mapping[str, Any] = field(default_factory=dict)  # of the models of `compare`

    @property
    def preset(self) -> str:
        """That of COFHAE: its default at all scales but quick."""
        return "quick" if self.scale == "quick" else "default"

    def n_samples(self, dataset: str) -> Any:
        """Samples of a data set; None for all rows of a file."""
        if self.samples is not None or is_file(dataset):
            return self.samples
        return at_scale(SPACESHAPES_SAMPLES if dataset == "spaceshapes" else N_SAMPLES, self.scale)

    def describe_samples(self) -> str:
        """The number of samples of each data set, in words."""
        numbers = {dataset: self.n_samples(dataset) for dataset in self.datasets if not is_file(dataset)}
        if not numbers:
            return "all rows"
        most = max(numbers.values())
        fewer = [f"{n:,} of {dataset}" for dataset, n in numbers.items() if n < most]
        return f"{most:,} samples" + (f" ({', '.join(fewer)})" if fewer else "")


def is_file(dataset: str) -> bool:
    """Whether a data set of a study is a file of the user's."""
    return Path(dataset).suffix.lower() in ARRAYS


def at_scale(by_scale: Mapping[Scale, T], scale: Scale) -> T:
    """What a study has for a scale: where it is left out, that of the next larger scale that is given."""
    return next(by_scale[larger] for larger in SCALES[SCALES.index(scale) :] if larger in by_scale)
