"""Running a study: what is left of its list of runs, in an order that is the same for all kinds of pools, then its
tables and its report."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from disentree._version import __version__
from disentree.errors import UserError
from disentree.studies.running.cost import estimate
from disentree.studies.running.folder import check_folder, write_study
from disentree.studies.running.options import Options
from disentree.studies.running.page import write_report
from disentree.studies.running.progress import Progress, time_for
from disentree.studies.running.results import Results, write_tables
from disentree.studies.running.task import Study, Task
from disentree.studies.running.worker import PATIENCE, Registered, execute, forget, read_result
from disentree.utils.files import locked, remove_temporaries
from disentree.utils.jobs import run_jobs
from disentree.utils.pools import open_pool
from disentree.utils.progress import duration

log = logging.getLogger(__name__)

ATTEMPTS = 2  # at each run


class Runs:
    """The runs that are left, as jobs of a pool; `failures` has those that failed, with their errors.

    The longest run starts first, so that none is left alone at the end. A run waits for the one whose structure or
    representation it shares, and `patience` seconds for another process that is at the same run.
    """

    def __init__(
        self, tasks: Sequence[Task], todo: Sequence[int], folder: Path, progress: Progress, patience: float
    ) -> None:
        self._tasks, self._folder, self._progress, self._patience = tasks, folder, progress, patience
        self._index_of = {task.name: i for i, task in enumerate(tasks)}
        self._waiting = sorted(todo, key=lambda i: (-progress.estimates[i], i))
        self._registered = Registered.now()
        self.failures: dict[int, str] = {}
        self.started, self.done, self.retried, self.tick = (
            progress.started, progress.done, progress.retried, progress.tick,
        )  # fmt: skip

    def _needs(self, i: int) -> int | None:
        shared = self._tasks[i].needs
        return None if shared is None else self._index_of[shared]

    def next_ready(self) -> int | None:
        for i in [i for i in self._waiting if self._needs(i) in self.failures]:
            self._waiting.remove(i)
            self.failed(i, f"it needs {self._tasks[self._index_of[str(self._tasks[i].needs)]]}, which failed")
        ready = next((i for i in self._waiting if self._needs(i) not in self._progress.left), None)
        if ready is not None:
            self._waiting.remove(ready)
        return ready

    def call_of(self, key: int) -> tuple[Callable[..., Any], Sequence[Any]]:
        described = self._tasks[key].model_dump(mode="json")
        return execute, (str(self._folder), described, self._patience, self._registered)

    def problem_of(self, future: Future[dict[str, Any]]) -> str | None:
        try:
            result = future.result()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # the process died, or the cluster lost it
            return f"its process died ({type(error).__name__})"
        if result.get("error") == "stopped":
            raise KeyboardInterrupt
        return result.get("error")

    def failed(self, key: int, problem: str) -> None:
        self.failures[key] = problem
        self._progress.failed(key, problem)


def planned(study: Study, options: Options) -> list[Task]:
    """The runs of a study, whose names, which are their folders, differ."""
    tasks = study.plan(options)
    names = [task.name for task in tasks]
    if len(set(names)) < len(names):
        raise ValueError(f"study {study.name}: two runs have the same name")
    missing = {task.needs for task in tasks} - {None, *names}
    if missing:
        raise ValueError(f"study {study.name}: no run is called {', '.join(map(str, missing))}")
    return tasks


def collect(
    options: Options, folder: Path, tasks: Sequence[Task], failed: dict[int, str] | None = None
) -> Results:
    """What is finished so far."""
    found = {i: read_result(folder / "runs" / task.name, task) for i, task in enumerate(tasks)}
    return Results(options, folder, tasks, {i: r for i, r in found.items() if r is not None}, failed or {})


def run_study(
    study: Study,
    options: Options,
    folder: Path,
    *,
    engine: str = "local",
    jobs: int = 1,
    address: str | None = None,
    only: Sequence[int] | None = None,
    force: bool = False,
) -> Results:
    """Run what is left of a study and write its report.

    Parameters
    ----------
    study : Study
        That of `get_study`.
    options : Options
        What `study.options` gives: data sets, seeds, scale.
    folder : path
        Where runs, tables and figures go. Finished runs that are there are not repeated.
    engine : {"local", "dask"}, default="local"
        Processes of this machine, or of a Dask cluster.
    jobs : int, default=1
        Runs at a time, each in a process of its own; 0 for this process.
    address : str, default=None
        That of a Dask scheduler; None starts one.
    only : sequence of int, default=None
        Make these runs of the list alone, and write no report: many processes can each run some, and one that
        needs a run that another process is at waits for it.
    force : bool, default=False
        Repeat finished runs.

    Returns
    -------
    Results
        `rows` has a dict for each finished run, `mean` and `spread` those that match; `failed` the errors.
    """
    tasks = planned(study, options)
    if only is not None and (beyond := [i for i in only if i >= len(tasks)]):
        raise UserError(f"{study.name} has runs 0 to {len(tasks) - 1}, got {', '.join(map(str, beyond))}")
    check_folder(study, options, folder)
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / ".lock", shared=only is not None):
        if only is None:  # no other process writes here
            remove_temporaries(folder)
        if force:
            for i in range(len(tasks)) if only is None else only:
                forget(folder / "runs" / tasks[i].name)
        before = collect(options, folder, tasks)
        _warn_of_other_versions(before)
        asked = range(len(tasks)) if only is None else _with_needed(tasks, only)
        todo = [i for i in asked if i not in before.found]
        if only is None or not (folder / "study.json").is_file():
            write_study(study, before)
        if len(todo) < len(asked):
            log.info("%d of %d runs are finished already", len(asked) - len(todo), len(asked))
        patience = PATIENCE if only is None else math.inf
        failed: dict[int, str] = {}
        if todo:
            with open_pool(engine, jobs, address) as pool, _progress(tasks, asked, todo, pool.room()) as progress:
                runs = Runs(tasks, todo, folder, progress, patience)
                run_jobs(pool, runs, ATTEMPTS)
                failed = runs.failures
        after = collect(options, folder, tasks, failed)
        if only is None:
            write_tables(after, folder)
            write_report(study, after)
    return after


def _progress(tasks: Sequence[Task], asked: Sequence[int], todo: Sequence[int], room: int) -> Progress:
    estimates = [estimate(task) for task in tasks]
    total = time_for([estimates[i] for i in todo], room)
    what = f"{len(todo)} run{'s' * (len(todo) != 1)} to do"
    log.info("%s, about %s with %d at a time", what, duration(total), room)
    return Progress(tasks, len(asked), todo, estimates, room)


def _with_needed(tasks: Sequence[Task], only: Sequence[int]) -> list[int]:
    """These runs, and those whose results they share."""
    index_of = {task.name: i for i, task in enumerate(tasks)}
    needed = (tasks[i].needs for i in only)
    return sorted({*only, *(index_of[name] for name in needed if name is not None)})


def _warn_of_other_versions(results: Results) -> None:
    made_by = {result["versions"]["disentree"] for result in results.found.values()} - {__version__}
    if made_by:
        others = ", ".join(sorted(made_by))
        log.warning("some runs were made by disentree %s, this is %s; --force repeats them", others, __version__)
