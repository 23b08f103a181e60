"""What a study is made of: a list of small descriptions of runs, each with a folder of its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from pydantic import BaseModel, ConfigDict

from disentree.datasets import dataset_info, load_file
from disentree.errors import UserError
from disentree.metrics.registered import check_metrics
from disentree.runs.config import RunConfig
from disentree.runs.models import find_model, names_of
from disentree.studies.running.options import FIRST_SEED, SCALES, Options, Scale, at_scale, is_file

if TYPE_CHECKING:
    from disentree.studies.running.results import Results, Row, Section

Extra = Literal["metrics", "embedding", "picture", "representation", "explanation", "placement", "dimensions"]
Until = Literal["structure", "scores", "report"]


COMPARED = ("r4c", "r4", "mig", "mcc")  # metrics of the study `compare`, unless told


def check_dataset(name: str) -> None:
    """An error if there is neither a data set of a name nor a file that has the truth of its rows."""
    if not is_file(name):
        dataset_info(name)
    elif not load_file(name).has_truth:
        raise UserError(f"{name} has no ground truth: an .npz of a study has `X`, `codes` and `hierarchy`")


class Task(BaseModel):
    """One run of a study. Repeating it, on any machine, gives the same result."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    columns: dict[str, Any]  # what identifies it among the runs of its study, as columns of the table
    config: RunConfig
    until: Until = "scores"  # the last stage of the run
    structure_from: str | None = None  # the name of the run whose structure it shares
    embedding_from: str | None = None  # the name of the run whose initial representation it shares
    extras: tuple[Extra, ...] = ()  # computed in addition to the stages of a run, see `worker` and `labeling`
    # of a task that only labels rows (see `labeling`): "mimosa", "mimosa-down", "mimosa-graph", "generator", one
    # of `rivals` or of `local_dimensions`
    method: str | None = None
    constants: dict[str, float] = {}  # for "mimosa": factors that constants are changed by, see `constants`
    without: str | None = None  # for "mimosa": a rule of the search that is left out, see `constants`
    metrics: tuple[str, ...] = ()  # in addition to those that every run has

    @property
    def needs(self) -> str | None:
        """The name of the run that has to be finished before."""
        return self.structure_from or self.embedding_from

    @property
    def name(self) -> str:
        """The folder of the run, below that of the study."""
        words = (f"seed{value}" if key == "seed" else str(value) for key, value in self.columns.items())
        return "_".join(re.sub(r"[^\w.+-]+", "-", word) for word in words)

    def __str__(self) -> str:
        return " ".join(f"seed {value}" if key == "seed" else str(value) for key, value in self.columns.items())


@dataclass(frozen=True)
class Study:
    """A table or a figure of the paper, and what is computed for it at each scale (see `at_scale`)."""

    name: str  # on the command line
    title: str  # of its report
    reproduces: str  # the table or figure of the paper
    datasets: Mapping[Scale, Sequence[str]]
    seeds: Mapping[Scale, int]  # how many
    scale_descriptions: Mapping[Scale, str]  # what is computed; {samples} stands for their number
    plan: Callable[[Options], list[Task]]
    report: Callable[[Results], list[Section]]
    derive: Callable[[list[Row]], list[Row]] = list  # adds columns that documents quote to rows of its table
    check_name: Callable[[str], object] = check_dataset  # fails if there is no data set of a name
    names_in: Callable[[Path], Sequence[str]] | None = None  # data sets in the folder of --data, if it reads one
    compares: bool = False  # whether its models and metrics are chosen

    def options(
        self,
        scale: str = "default",
        seeds: int | None = None,
        datasets: Sequence[str] | None = None,
        first_seed: int | None = None,
        data: Path | None = None,
        *,
        models: Sequence[str] | None = None,
        metrics: Sequence[str] | None = None,
        n_samples: int | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> Options:
        """Check choices from the command line and fill in the others.

        Parameters
        ----------
        scale : {"quick", "default", "medium", "paper"}, default="default"
            How much is computed.
        seeds : int, default=None
            How many; None for the scale's number.
        datasets : sequence of str, default=None
            Names of data sets, or files with ground truth; None for the scale's.
        first_seed : int, default=None
            The first of the seeds; None for 2000.
        data : path, default=None
            The folder of a study that reads one.
        models, metrics : sequence of str, default=None
            Of the study `compare`: names, or ``package.module:name``. None for COFHAE and all baselines, and for
            R4c, R4, MIG and MCC.
        n_samples : int, default=None
            Samples of each data set; None for the scale's.
        settings : mapping, default=None
            Of the study `compare`: parameters of its models.

        Returns
        -------
        Options
        """
        if scale not in SCALES:
            raise UserError(f"--scale must be quick, default, medium or paper, got {scale!r}")
        if seeds is not None and seeds < 1:
            raise UserError(f"--seeds must be 1 or more, got {seeds}")
        first = FIRST_SEED if first_seed is None else first_seed
        if first < 0:
            raise UserError(f"--first-seed must be 0 or more, got {first}")
        known = cast(Scale, scale)
        usual = self.usual_datasets(known, data)
        for name in datasets or ():
            if self.names_in is None:
                self.check_name(name)
            elif name not in usual:
                raise UserError(f"there is no data set {name!r} in {data}; there are {', '.join(usual)}")
        chosen = tuple(dict.fromkeys(datasets or usual))
        numbers = tuple(range(first, first + (seeds or at_scale(self.seeds, known))))
        if n_samples is not None and n_samples < 1:
            raise UserError(f"--n-samples must be 1 or more, got {n_samples}")
        if not self.compares and (models or metrics or settings):
            raise UserError(
                f"the study {self.name} has its own models: --model, --metrics and --set are for `compare`"
            )
        if self.compares:
            models = models or ("cofhae", *names_of("baseline"))
        for model in models or ():
            find_model(model)
        scores = tuple(dict.fromkeys(metrics or (COMPARED if self.compares else ())))
        try:
            check_metrics(list(scores))
        except ValueError as error:
            raise UserError(f"--{error}") from None
        given = tuple(dict.fromkeys(models or ())), scores, n_samples, dict(settings or {})
        return Options(known, numbers, chosen, data, *given)

    def usual_datasets(self, scale: Scale, data: Path | None) -> tuple[str, ...]:
        """The data sets of a scale, or those in the folder of a study that reads one."""
        if self.names_in is None:
            if data is not None:
                raise UserError(f"the study {self.name} reads no folder: leave --data out")
            return tuple(at_scale(self.datasets, scale))
        if data is None:
            raise UserError(f"the study {self.name} needs --data, the folder of its data sets")
        return tuple(self.names_in(data))

    def scale_means(self, options: Options) -> str:
        """What is computed with these options, in a sentence."""
        said = at_scale(self.scale_descriptions, options.scale)
        return said.replace("{samples}", options.describe_samples()) if "{samples}" in said else said


def make_task(
    columns: Mapping[str, Any],
    *,
    dataset: str,
    seed: int,
    until: Until = "scores",
    structure_from: Task | None = None,
    embedding_from: Task | None = None,
    extras: Sequence[Extra] = (),
    method: str | None = None,
    constants: Mapping[str, float] | None = None,
    without: str | None = None,
    metrics: Sequence[str] = (),
    **settings: Any,
) -> Task:
    """A run of `dataset`, with further settings of `RunConfig`; see `Task`."""
    return Task(
        columns={**columns, "seed": seed},
        config=RunConfig.of(dataset, seed=seed, **settings),
        until=until,
        structure_from=structure_from.name if structure_from else None,
        embedding_from=embedding_from.name if embedding_from else None,
        extras=tuple(extras),
        method=method,
        constants=dict(constants or {}),
        without=without,
        metrics=tuple(metrics),
    )
