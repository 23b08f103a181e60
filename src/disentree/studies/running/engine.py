"""The order of the runs: which is next, which is retried and which depends on which.

It is the same for all kinds of pools, so results do not depend on where and when they were computed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from disentree.studies.running.progress import Progress
from disentree.studies.running.task import Task
from disentree.studies.running.worker import execute


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
        return execute, (str(self._folder), self._tasks[key].model_dump(mode="json"), self._patience)

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
