"""What a study is made of: a list of small descriptions of runs, each with a folder of its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict

from disentree.datasets import dataset_info
from disentree.errors import UserError
from disentree.runs.config import RunConfig
from disentree.studies.options import FIRST_SEED, SCALES, Options
from disentree.studies.published import describe_samples

if TYPE_CHECKING:
    from disentree.studies.results import Results, Section

T = TypeVar("T")
Extra = Literal["metrics", "embedding", "picture", "representation", "explanation"]


class Task(BaseModel):
    """One run of a study. Repeating it, on any machine, gives the same result.

    Attributes
    ----------
    columns : dict
        What distinguishes it from the other runs of its study, as columns of the table.
    config : RunConfig
        The settings of the run.
    until : {"structure", "scores", "report"}
        The last stage of the run.
    structure_from, embedding_from : str or None
        Names of the runs whose structure or initial representation it shares.
    extras : tuple of str
        What is computed in addition to the stages of a run; see `worker` and `labeling`.
    method : str or None
        Of a task that only labels rows (see `labeling`): "mimosa" or one of `rivals`; None for a run.
    constants : dict of float
        For the method "mimosa": factors that constants are changed by, see `constants`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    columns: dict[str, Any]  # what identifies it among the runs of its study, as columns of the table
    config: RunConfig
    until: Literal["structure", "scores", "report"] = "scores"
    structure_from: str | None = None  # the name of the run whose structure it shares
    embedding_from: str | None = None  # the name of the run whose initial representation it shares
    extras: tuple[Extra, ...] = ()  # more than a run does, see `worker`
    method: str | None = None
    constants: dict[str, float] = {}

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
    """A table or a figure of the paper, and what is computed for it at each scale.

    Attributes
    ----------
    name, title : str
        Its name on the command line, and the title of its report.
    reproduces : str
        The table or figure of the paper.
    datasets : mapping of str to sequence of str
        Data sets by scale; medium is as paper where it is left out, here and below.
    seeds : mapping of str to int
        Number of seeds by scale.
    scale_descriptions : mapping of str to str
        What is computed at each scale; ``{samples}`` stands for the number of samples.
    plan : callable
        From `Options` to the list of `Task`.
    report : callable
        From `Results` to the list of `Section`.
    derive : callable
        From the rows of its table to rows with columns that are computed from them, for documents.
    """

    name: str
    title: str
    reproduces: str
    datasets: Mapping[str, Sequence[str]]  # by scale
    seeds: Mapping[str, int]
    scale_descriptions: Mapping[str, str]  # what is computed at each scale; {samples} stands for their number
    plan: Callable[[Options], list[Task]]
    report: Callable[[Results], list[Section]]
    derive: Callable[[list[dict[str, Any]]], list[dict[str, Any]]] = list

    def options(
        self,
        scale: str = "default",
        seeds: int | None = None,
        datasets: Sequence[str] | None = None,
        first_seed: int | None = None,
    ) -> Options:
        """Check choices from the command line and fill in the others.

        Parameters
        ----------
        scale : str, default="default"
            quick, default, medium or paper.
        seeds : int, default=None
            Number of seeds; None takes that of the scale.
        datasets : sequence of str, default=None
            Names of data sets; None takes those of the scale.
        first_seed : int, default=None
            The first of the seeds; None takes 2000, from which on nothing was developed.

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
        for name in datasets or ():
            dataset_info(name)
        chosen = tuple(dict.fromkeys(datasets or at_scale(self.datasets, scale)))
        return Options(scale, tuple(range(first, first + (seeds or at_scale(self.seeds, scale)))), chosen)

    def scale_means(self, options: Options) -> str:
        """What is computed with these options, in a sentence."""
        said = at_scale(self.scale_descriptions, options.scale)
        return said.replace("{samples}", describe_samples(options))


def at_scale(by_scale: Mapping[str, T], scale: str) -> T:
    """What a study has for a scale; medium is as paper unless it is given."""
    return by_scale[scale] if scale in by_scale or scale != "medium" else by_scale["paper"]


def make_task(
    columns: Mapping[str, Any],
    *,
    dataset: str,
    seed: int,
    until: Literal["structure", "scores", "report"] = "scores",
    structure_from: Task | None = None,
    embedding_from: Task | None = None,
    extras: Sequence[Extra] = (),
    method: str | None = None,
    constants: Mapping[str, float] | None = None,
    **settings: Any,
) -> Task:
    """A run of `dataset`, with further settings of `RunConfig`.

    Parameters
    ----------
    columns : mapping
        What distinguishes it from the other runs of the study.
    dataset : str
        Name of a data set.
    seed : int
        Seed of data and models.
    until : {"structure", "scores", "report"}, default="scores"
        The last stage.
    structure_from, embedding_from : Task, default=None
        Runs whose structure or initial representation it shares.
    extras : sequence of str, default=()
        What is computed in addition.
    method : str, default=None
        What labels the rows, of a task that is no run.
    constants : mapping, default=None
        Factors of constants of MIMOSA.
    **settings
        Settings of `RunConfig`.

    Returns
    -------
    Task
    """
    config = RunConfig.of(dataset, seed=seed, **settings)
    named = {**columns, "seed": seed}
    return Task(
        columns=named,
        config=config,
        until=until,
        structure_from=structure_from.name if structure_from else None,
        embedding_from=embedding_from.name if embedding_from else None,
        extras=tuple(extras),
        method=method,
        constants=dict(constants or {}),
    )
