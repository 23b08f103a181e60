"""The order of the runs: which is next, which is retried and which depends on which.

It is the same for all kinds of pools, so results do not depend on where and when they were computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from typing import Any

from disentree.studies.progress import Progress
from disentree.studies.task import Task
from disentree.studies.worker import execute
from disentree.utils.pools import Pool

ATTEMPTS = 2


def run_all(
    tasks: Sequence[Task], todo: Sequence[int], folder: Path, pool: Pool, progress: Progress, patience: float
) -> dict[int, str]:
    """Run `todo`, each at most twice.

    The longest run starts first, so that none is left alone at the end. A run waits for the one whose structure or
    representation it shares.

    Parameters
    ----------
    tasks : sequence of Task
        All runs of the study.
    todo : sequence of int
        The runs to do.
    folder : Path
        The folder of the study.
    pool : Pool
        Processes to run them in.
    progress : Progress
        Displays what happens.
    patience : float
        Seconds to wait for other processes that are at the same run.

    Returns
    -------
    dict of int to str
        The runs that failed, with their errors.
    """
    index_of = {task.name: i for i, task in enumerate(tasks)}
    waiting = sorted(todo, key=lambda i: (-progress.estimates[i], i))
    open_runs = set(todo)  # neither finished nor given up
    attempts = dict.fromkeys(todo, 0)
    running: dict[Future[dict[str, Any]], int] = {}
    failed: dict[int, str] = {}

    def needs(i: int) -> int | None:
        shared = tasks[i].needs
        return None if shared is None else index_of[shared]

    def give_up(i: int, why: str) -> None:
        failed[i] = why
        open_runs.discard(i)
        progress.failed(i, why)

    while waiting or running:
        for i in [i for i in waiting if needs(i) in failed]:
            waiting.remove(i)
            give_up(i, f"it needs {tasks[index_of[str(tasks[i].needs)]]}, which failed")
        ready = [i for i in waiting if needs(i) not in open_runs]
        for i in ready[: max(0, pool.room() - len(running))]:
            waiting.remove(i)
            attempts[i] += 1
            progress.started(i)
            running[pool.submit(execute, str(folder), tasks[i].model_dump(mode="json"), patience)] = i
        if not running:
            continue
        for future in wait(running, timeout=1.0, return_when=FIRST_COMPLETED).done:
            i = running.pop(future)
            problem, result = _outcome(future)
            if result is not None:
                open_runs.discard(i)
                progress.done(i, result)
            elif attempts[i] < ATTEMPTS:
                progress.retried(i, problem)
                waiting.insert(0, i)
            else:
                give_up(i, problem)
        progress.tick()
    return failed


def _outcome(future: Future[dict[str, Any]]) -> tuple[str, dict[str, Any] | None]:
    try:
        result = future.result()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # the process died, or the cluster lost it
        return f"its process died ({type(error).__name__})", None
    if result.get("error") == "stopped":
        raise KeyboardInterrupt
    return (result["error"], None) if "error" in result else ("", result)
