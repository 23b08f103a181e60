"""The stages of a run and their order.

A stage reads what the ones before it wrote, writes its own files whole and is then marked as finished in
``stages.json``. A run that was stopped, by Ctrl-C or by a power cut, continues where it was when it is started
again with the same settings.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jaxtyping import Float
from numpy import ndarray

from disentree._version import __version__
from disentree.errors import UserError
from disentree.runs.config import RunConfig, check_settings
from disentree.runs.data import check_data, describe_data
from disentree.runs.figures import draw_figures
from disentree.runs.folder import Run
from disentree.runs.options import StageOptions
from disentree.runs.report import write_report
from disentree.runs.scores import score_run
from disentree.runs.structure import REPRESENTATION, STRUCTURE_FILES, find_structure
from disentree.runs.training import CHECKPOINT, seconds_in_checkpoint, train_model

log = logging.getLogger(__name__)


def prepare_data(run: Run, options: StageOptions) -> str:
    """Read the data and write down what it is."""
    data = run.data
    check_data(data, run.config)
    for sentence in data.policy:
        log.info("%s", sentence)
    run.write_json("data.json", describe_data(data))
    return f"{len(data):,} rows of {'x'.join(map(str, data.X.shape[1:]))}"


@dataclass(frozen=True)
class Stage:
    """A step of a run.

    Attributes
    ----------
    name : str
        Its name in ``stages.json``.
    function : callable
        Does it, and returns a few words about the result.
    files : tuple of str
        What it always writes. A stage whose files are gone is done again, and so are those after it.
    optional_files : tuple of str, default=()
        What it writes for some data and models.
    """

    name: str
    function: Callable[[Run, StageOptions], str]
    files: tuple[str, ...]
    optional_files: tuple[str, ...] = ()


STAGES = (
    Stage("data", prepare_data, ("data.json",)),
    Stage("structure", find_structure, STRUCTURE_FILES, (REPRESENTATION,)),
    Stage("model", train_model, ("model.safetensors", "model.json")),
    Stage("scores", score_run, ("metrics.json", "learned.npz", "samples.npz"), ("true.npz",)),
    Stage(
        "figures",
        draw_figures,
        ("figures/tree.png", "figures/traversals.png"),
        ("figures/reconstructions.png", "figures/pairwise.png", "figures/training.png"),
    ),
    Stage("report", write_report, ("report.html",)),
)
STAGE_NAMES = tuple(stage.name for stage in STAGES)
FILES_OF_NO_STAGE = ("stages.json", "events.jsonl", "scores.json", ".lock")  # and config.json


def start_run(config: RunConfig, folder: str | os.PathLike[str], *, force: bool = False) -> Run:
    """Make a run, or open the one that is in the folder if its settings are the same.

    Parameters
    ----------
    config : RunConfig
        What the run computes.
    folder : str or path
        Where its files go. It may be empty or missing, or hold a run.
    force : bool, default=False
        Whether a run that is in the folder is removed first.

    Returns
    -------
    Run
        The run; `finish_run` does its stages.

    Raises
    ------
    UserError
        If the folder holds a run with other settings, or files that are not of a run.

    Examples
    --------
    >>> import tempfile
    >>> from disentree.runs import RunConfig
    >>> run = start_run(RunConfig.of("chopsticks-depth2-slope", n_samples=500), tempfile.mkdtemp())
    >>> unfinished_stages(run)
    ['data', 'structure', 'model', 'scores', 'figures', 'report']
    """
    folder = Path(folder)
    check_settings(config)
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file, not a folder")
    if (folder / "config.json").is_file():
        if not force:
            run = Run.open(folder)
            differences = run.config.differences(config)
            if not differences:
                return run
            if "structure" in run.stages:  # else nothing was done that could be lost
                held = f"{folder} holds a run with {'; '.join(differences)}"
                raise UserError(f"{held}: choose another folder, or --force to start over")
        clear_run(folder)
    elif folder.is_dir() and any(not p.name.startswith(".") for p in folder.iterdir()):
        raise UserError(f"{folder} is not empty and not a run folder: choose another folder")
    return Run.create(config, folder)


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
) -> None:
    """Do every stage that is not finished yet, in order.

    Parameters
    ----------
    run : Run
        The run.
    until : str, default="report"
        The last stage to do: "data", "structure", "model", "scores", "figures" or "report".
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
    with run.locked():
        made_by = run.about.get("versions", {}).get("disentree")
        if made_by != __version__:
            log.warning("%s was begun with disentree %s; this is %s", run.folder, made_by, __version__)
        finished = finished_stages(run)
        if 0 < len(finished) < len(STAGES):
            log.info("%s: %s done, going on with %s", run.folder, ", ".join(finished), STAGE_NAMES[len(finished)])
        for stage in STAGES[len(finished) : STAGE_NAMES.index(until) + 1]:
            _do(run, stage, options)


def _do(run: Run, stage: Stage, options: StageOptions) -> None:
    if stage.name in run.stages:
        redo_from(run, stage.name)
    run.log_event("start", stage=stage.name)
    began = time.perf_counter() - (seconds_in_checkpoint(run) if stage.name == "model" else 0.0)
    try:
        result = stage.function(run, options)
    except BaseException as error:  # Ctrl-C too; what is finished stays finished
        what = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
        run.log_event(what, stage=stage.name, error=f"{type(error).__name__}: {error}")
        if isinstance(error, KeyboardInterrupt):
            log.info("stopped in stage %r", stage.name)
        raise
    seconds = time.perf_counter() - began
    run.write_json("stages.json", {**run.stages, stage.name: {"seconds": round(seconds, 3)}})
    run.log_event("done", stage=stage.name, seconds=round(seconds, 3))
    log.info("%s: %.1f s%s", stage.name, seconds, f", {result}" if result else "")


def finished_stages(run: Run) -> list[str]:
    """Names of the stages that need not be done again."""
    marked, finished = run.stages, []
    for stage in STAGES:
        if stage.name not in marked or not all((run.folder / file).is_file() for file in stage.files):
            break
        finished.append(stage.name)
    return finished


def unfinished_stages(run: Run) -> list[str]:
    """Names of the stages that are left to do."""
    return list(STAGE_NAMES[len(finished_stages(run)) :])


def check_scored(run: Run) -> None:
    """Refuse a run that has no trained and scored model yet."""
    needed = STAGE_NAMES[: STAGE_NAMES.index("scores") + 1]
    if left := [name for name in unfinished_stages(run) if name in needed]:
        raise UserError(f"{run.folder} is not finished: {', '.join(left)} left; `{run.about['command']}` goes on")


def redo_from(run: Run, name: str) -> None:
    """Forget that a stage, and those that come after it, were done."""
    before = STAGE_NAMES[: STAGE_NAMES.index(name)]
    run.write_json("stages.json", {name: about for name, about in run.stages.items() if name in before})


def clear_run(folder: Path) -> None:
    """Remove the files of a run from a folder, and nothing else."""
    names = [file for stage in STAGES for file in (*stage.files, *stage.optional_files)]
    for name in (*FILES_OF_NO_STAGE, CHECKPOINT, *names):
        (folder / name).unlink(missing_ok=True)
    for picture in (folder / "figures").glob("*.png"):
        picture.unlink()
    for emptied in ("figures", (folder / CHECKPOINT).parent.name):
        with suppress(OSError):  # someone's own files are in it
            (folder / emptied).rmdir()
    # last: what is left of a folder whose clearing was interrupted is still a run
    (folder / "config.json").unlink(missing_ok=True)
