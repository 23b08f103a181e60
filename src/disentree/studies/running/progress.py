"""The progress of a study: runs finished, running and failed and the time left, on stderr."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from disentree.studies.running.task import Task
from disentree.utils.progress import bar, duration

log = logging.getLogger(__name__)

SECONDS_BETWEEN_LINES = 30
SHOWN = ("r4c", "h_error", "purity", "coverage")


class Progress:
    """Counts runs and reports them: a bar on a terminal, elsewhere lines, one for every run and half minute."""

    def __init__(
        self, tasks: Sequence[Task], n_asked: int, todo: Sequence[int], estimates: Sequence[float], jobs: int
    ) -> None:
        self.tasks, self.estimates, self.jobs = tasks, estimates, max(1, jobs)
        self.n_asked = n_asked  # runs of the list that are to be finished in the end
        self.left = set(todo)
        self.n_done = n_asked - len(todo)
        self.n_failed = 0
        self.seconds: dict[int, float] = {}  # of runs done now
        self._since: dict[int, float] = {}
        self._last_line = time.monotonic()
        self._stack = ExitStack()
        self._update: Callable[..., None] | None = None

    def __enter__(self) -> Progress:
        if sys.stderr.isatty() and log.isEnabledFor(logging.INFO):
            shown = bar("run", self.n_asked, True, done=self.n_done, estimate=False)
            self._update = self._stack.enter_context(shown)
            self._update(self.n_done, self.words())
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    # ---------------------------------------------------------------- what happened

    def started(self, key: int) -> None:
        self._since[key] = time.monotonic()

    def done(self, key: int, result: Mapping[str, Any]) -> None:
        self.seconds[key] = time.monotonic() - self._since.pop(key)
        self.left.discard(key)
        self.n_done += 1
        values = result["values"]
        scores = ", ".join(f"{name} {values[name]:.4g}" for name in SHOWN if values.get(name) is not None)
        self._say(f"{key} {self.tasks[key]}: {scores} ({self.seconds[key]:.1f} s)")

    def retried(self, key: int, problem: str) -> None:
        del self._since[key]
        log.warning("%d %s failed, trying once more: %s", key, self.tasks[key], problem)

    def failed(self, key: int, problem: str) -> None:
        self._since.pop(key, None)
        self.left.discard(key)
        self.n_failed += 1
        log.error("%d %s failed: %s", key, self.tasks[key], problem)

    def tick(self) -> None:
        if self._update is not None:
            self._update(self.n_done, self.words())
        elif time.monotonic() - self._last_line > SECONDS_BETWEEN_LINES:
            self._last_line = time.monotonic()
            log.info("%d of %d done, %s", self.n_done, self.n_asked, self.words())

    # ---------------------------------------------------------------- in words

    def words(self) -> str:
        return f"{len(self._since)} running, {self.n_failed} failed, {self._left_in_words()}"

    def _left_in_words(self) -> str:
        if not self.left:
            return "all done"
        seconds = self.time_left()
        return f"about {duration(seconds)} left" if seconds >= 1 else "longer than expected"

    def time_left(self) -> float:
        """From the estimates, corrected by how long the runs of this session really took."""
        ratio = (60 + sum(self.seconds.values())) / (60 + sum(self.estimates[i] for i in self.seconds))
        now = time.monotonic()
        spent = {i: now - since for i, since in self._since.items()}
        rest = [max(0.0, ratio * self.estimates[i] - spent.get(i, 0.0)) for i in self.left]
        return time_for(rest, self.jobs)

    def _say(self, sentence: str) -> None:
        log.info("%s", sentence)
        self.tick()


def time_for(estimates: Sequence[float], jobs: int) -> float:
    """Seconds for runs of these lengths, `jobs` at a time: no less than the longest takes."""
    return max(sum(estimates) / max(1, jobs), max(estimates, default=0.0))
