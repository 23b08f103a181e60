"""The stages of a run and their order.

A stage reads what the ones before it wrote, writes its own files whole and is then marked as finished in
``stages.json``. A run that was stopped, by Ctrl-C or by a power cut, continues where it was when it is started
again with the same settings.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from jaxtyping import Float
from numpy import ndarray

from disentree.errors import UserError
from disentree.mimosa.saving.model_card import CARD, MIMOSA_FOLDER
from disentree.plots.saving import FORMATS
from disentree.rows.engines import Local, engine_of
from disentree.runs.files.integrity import check_no_links, problem_of_file, record_files
from disentree.runs.files.schemas import EXPLANATION, LEAVES, MAP, NAMES, STABILITY, STEERING, Step
from disentree.runs.report.report import write_report
from disentree.runs.run import LOCK, Run
from disentree.runs.steps.data import prepare_data
from disentree.runs.steps.figures import draw_figures
from disentree.runs.steps.options import StageOptions
from disentree.runs.steps.reasons import explain_run
from disentree.runs.steps.scores import score_run
from disentree.runs.steps.stability import measure_stability
from disentree.runs.steps.structure import (
    ABOUT,
    FOUND_FOLDER,
    MIMOSA_FILES,
    PATHS,
    RESAMPLES,
    STRUCTURE_FILES,
    find_structure,
)
from disentree.runs.steps.training import CHECKPOINTS, seconds_in_checkpoint, train_model
from disentree.utils.files import locked, remove_temporaries
from disentree.utils.interrupts import plain_interrupts
from disentree.utils.versions import build_versions, describe_build

log = logging.getLogger(__name__)

SUBFOLDERS = ("figures", "checkpoint", MIMOSA_FOLDER, FOUND_FOLDER)


@dataclass(frozen=True)
class Stage:
    """A step of a run."""

    name: str  # in stages.json
    title: str  # what it does, in the words of progress
    function: Callable[[Run, StageOptions], str]  # does it, and returns a few words about the result
    files: tuple[str, ...]  # what it always writes
    optional_files: tuple[str, ...] = ()  # what it writes for some data and models
    timed_files: tuple[str, ...] = ()  # those that say how long it took, and so differ each time

    def same_result(self, files: dict[str, str], others: dict[str, str]) -> bool:
        """Whether two records of its files stand for the same result."""
        names = {*files, *others} - {*self.timed_files}
        return bool(files and others) and all(files.get(name) == others.get(name) for name in names)


STAGES = (
    Stage("data", "reading the data", prepare_data, ("data.json",)),
    Stage(
        "structure",
        "finding the tree",
        find_structure,
        STRUCTURE_FILES,
        (*MIMOSA_FILES, PATHS),
        timed_files=("structure.json", ABOUT),
    ),
    Stage(
        "model",
        "training the model",
        train_model,
        ("model.safetensors", "model.json"),
        timed_files=("model.json",),
    ),
    Stage(
        "scores",
        "scoring the held-out rows",
        score_run,
        ("metrics.json", "learned.npz", "samples.npz"),
        ("true.npz", LEAVES, MAP),
    ),
    Stage("reasons", "looking for reasons", explain_run, (EXPLANATION,)),
    Stage("stability", "fitting to parts of the rows", measure_stability, (), (STABILITY,)),
    Stage(
        "figures",
        "drawing",
        draw_figures,
        tuple(f"figures/{name}.{suffix}" for name in ("tree", "traversals") for suffix in FORMATS),
        tuple(f"figures/{n}.{suffix}" for n in ("reconstructions", "pairwise", "training") for suffix in FORMATS),
    ),
    Stage(
        "report", "writing the report", lambda run, options: write_report(run), ("report.html",), ("scores.tex",)
    ),
)
STAGE_NAMES = tuple(stage.name for stage in STAGES)

# All that a run writes to, and all that is removed when it is started over; `.lock` stays.
WRITTEN = (
    *(file for stage in STAGES for file in (*stage.files, *stage.optional_files)),
    *CHECKPOINTS,
    CARD,
    f"{MIMOSA_FOLDER}/{CARD}",
    STEERING,
    NAMES,
    RESAMPLES,
    "stages.json",
    "events.jsonl",
    "scores.json",
    "config.json",
)


def finish_run(
    run: Run,
    *,
    until: str = "report",
    device: str = "auto",
    verbose: bool = False,
    n_jobs: int | None = None,
    structure_from: Run | None = None,
    embedding: Float[ndarray, "n d"] | None = None,
    on_mimosa: Callable[[Any], None] | None = None,
    redo: str | None = None,
    engine: str = "local",
    address: str | None = None,
) -> None:
    """Do every stage that is not finished yet, in order.

    A stage is finished if its files are those that it wrote: their SHA-256 is recorded with it. A stage whose
    files are missing or damaged is done again; those after it are too, unless it makes the same files as before.

    Parameters
    ----------
    run : Run
        The run.
    until : str, default="report"
        The last stage to do: "data", "structure", "model", "scores", "reasons", "stability", "figures" or
        "report".
    device : str, default="auto"
        Where the model is trained: "auto", "cpu", "cuda" or "mps".
    verbose : bool, default=False
        Whether progress is shown on stderr.
    n_jobs : int, default=None
        Threads of MIMOSA and of the scores; all cores if None. Results do not depend on it.
    structure_from : Run, default=None
        A run of the same data whose structure is copied instead of found again.
    embedding : array of shape (n, d), default=None
        An initial representation of all rows, which MIMOSA takes as it is.
    on_mimosa : callable, default=None
        Called with MIMOSA once it is fitted; also if no component was found, with what it has by then.
    redo : str, default=None
        A stage that is done again in any case, and those after it.
    engine : {"local", "dask"}, default="local"
        Where passes over a large file are made: in threads of this process, or in the processes of a Dask cluster.
    address : str, default=None
        Of a Dask scheduler, whose workers see the same files; without it one is started on this machine.

    Raises
    ------
    UserError
        If another process is at work in the folder, or has started over in it.

    Examples
    --------
    >>> import tempfile
    >>> from disentree.runs import RunConfig, start_run
    >>> run = start_run(RunConfig.of("chopsticks-depth2-slope", n_samples=500), tempfile.mkdtemp())
    >>> finish_run(run, until="structure")
    >>> len(run.hierarchy.paths)
    2
    """
    if until not in STAGE_NAMES:
        raise UserError(f"there is no stage {until!r}; a run has {', '.join(STAGE_NAMES)}")
    options = StageOptions(device, verbose, n_jobs, structure_from, embedding, on_mimosa)
    with locked(run.folder / LOCK), _engine_for(run, engine, address):
        if Run.open(run.folder).about != run.about:
            raise UserError(f"{run.folder} was started over by another process")
        check_no_links(run.folder, WRITTEN)
        for folder in (run.folder, *(run.folder / name for name in SUBFOLDERS)):
            remove_temporaries(folder)
        if (made_by := describe_build(run.about["versions"])) != (build := describe_build(build_versions())):
            log.warning("%s was begun with disentree %s; this is %s", run.folder, made_by, build)
        if redo is not None:
            redo_from(run, redo)
        if redo == "stability":  # else the resamples that are finished would be read again
            (run.folder / RESAMPLES).unlink(missing_ok=True)
        finished = finished_stages(run)
        if 0 < len(finished) < len(STAGES):
            log.info("%s: %s done, going on with %s", run.folder, ", ".join(finished), STAGE_NAMES[len(finished)])
        todo = STAGES[: STAGE_NAMES.index(until) + 1]
        for i, stage in enumerate(todo):
            marked = run.stages.get(stage.name)
            if marked is not None:
                problems = _problems(run, stage, marked)
                if not problems:
                    continue
                log.warning("%s; %s is done again", problems[0], stage.name)
            log.info("step %d of %d: %s", i + 1, len(todo), stage.title)
            _do(run, stage, options)


@contextmanager
def _engine_for(run: Run, name: str, address: str | None) -> Iterator[None]:
    """Within the block passes over a run's rows are made there; afterwards none asks processes that have ended."""
    with engine_of(name, address) as run.engine:
        try:
            yield
        finally:
            if not isinstance(run.engine, Local):
                run.__dict__.pop("data", None)
            run.engine = None


def _do(run: Run, stage: Stage, options: StageOptions) -> None:
    run.log_event("start", stage=stage.name)
    cpu_began = time.process_time()
    began = time.perf_counter() - (seconds_in_checkpoint(run) if stage.name == "model" else 0.0)
    try:
        with plain_interrupts():
            result = stage.function(run, options)
    except BaseException as error:  # Ctrl-C too; what is finished stays finished
        what = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
        with suppress(OSError):  # the disk may be full
            run.log_event(what, stage=stage.name, error=f"{type(error).__name__}: {error}")
        if isinstance(error, KeyboardInterrupt):
            log.info("stopped in stage %r", stage.name)
        raise
    seconds, cpu = (round(t, 3) for t in (time.perf_counter() - began, time.process_time() - cpu_began))
    files = record_files(run.folder, (*stage.files, *stage.optional_files))
    before = run.stages
    if stage.same_result(before.get(stage.name, {}).get("files", {}), files):  # so are those after it
        kept = before
    else:
        kept = {name: before[name] for name in STAGE_NAMES[: STAGE_NAMES.index(stage.name)] if name in before}
    marks = {**kept, stage.name: {"seconds": seconds, "cpu_seconds": cpu, "files": files}}
    run.write_sealed("stages.json", {name: marks[name] for name in STAGE_NAMES if name in marks})
    run.log_event("done", stage=stage.name, seconds=seconds, cpu_seconds=cpu, files=files)
    log.info("%s: %.1f s%s", stage.name, seconds, f", {result}" if result else "")


def _problems(run: Run, stage: Stage, marked: dict[str, Any]) -> list[str]:
    """What is wrong with the files of a stage that is marked as finished, one sentence each."""
    recorded = marked["files"]
    names = dict.fromkeys((*stage.files, *(recorded if isinstance(recorded, dict) else ())))
    found = ((name, problem_of_file(run.folder, name, recorded.get(name))) for name in names)
    return [f"{run.folder / name} {problem}" for name, problem in found if problem is not None]


def finished_stages(run: Run) -> list[str]:
    """Names of the stages that need not be done again, up to the first that must be."""
    marked, finished = run.stages, []
    for stage in STAGES:
        if stage.name not in marked or _problems(run, stage, marked[stage.name]):
            break
        finished.append(stage.name)
    return finished


def check_stages(run: Run, *names: str) -> None:
    """Refuse a run in which one of some stages is not finished, or its files are missing or damaged."""
    marked = run.stages
    if left := [name for name in names if name not in marked]:
        command = run.config.command(run.folder)
        raise UserError(f"{run.folder} is not finished: {', '.join(left)} left; `{command}` goes on")
    for stage in STAGES:
        if stage.name in names and (problems := _problems(run, stage, marked[stage.name])):
            raise UserError(f"{problems[0]}: {run.advice}")


def check_scored(run: Run) -> None:
    """Refuse a run without a trained and scored model, or with damaged files."""
    check_stages(run, *STAGE_NAMES[: STAGE_NAMES.index("scores") + 1])


def redo_structure(run: Run, steps: Sequence[Step], options: StageOptions) -> None:
    """Do the stage that finds the tree again, with what users do to the tree since."""
    redo_from(run, "structure")
    run.write_json(STEERING, {"steps": [step.model_dump(exclude_none=True) for step in steps]})
    _do(run, STAGES[STAGE_NAMES.index("structure")], options)


def redo_from(run: Run, name: str) -> None:
    """Forget that a stage, and those that come after it, were done."""
    before = STAGE_NAMES[: STAGE_NAMES.index(name)]
    run.write_sealed("stages.json", {name: about for name, about in run.stages.items() if name in before})
