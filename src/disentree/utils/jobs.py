"""Calls in the processes of a pool: submitted while there is room, repeated when they fail."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from disentree.errors import UserError
from disentree.utils.pools import Pool, process_died


@runtime_checkable
class Jobs(Protocol):
    """Calls to be made in the processes of a pool, by key, and what happens with their results.

    `run_jobs` asks for the next key whenever a process is free, makes its call, and repeats it if it failed.
    """

    def next_ready(self) -> Hashable | None:
        """The key of the next call; None if there is none at the moment."""
        ...

    def call_of(self, key: Any) -> tuple[Callable[..., Any], Sequence[Any]]:
        """The function to call for a key, and its arguments."""
        ...

    def problem_of(self, future: Future[Any]) -> str | None:
        """Why a call failed and should be retried, or None. Errors that end all work are raised."""
        ...

    def started(self, key: Any) -> None: ...

    def done(self, key: Any, result: Any) -> None: ...

    def retried(self, key: Any, problem: str) -> None: ...

    def failed(self, key: Any, problem: str) -> None: ...

    def tick(self) -> None:
        """Called about every second, and after each call."""
        ...


def run_jobs(pool: Pool, jobs: Jobs, attempts: int = 2) -> None:
    """Make all calls of `jobs` in the processes of `pool`, each at most `attempts` times."""
    running: dict[Future[Any], Any] = {}
    failures: dict[Any, int] = {}
    to_retry: list[Any] = []
    while True:
        while len(running) < pool.room():
            key = to_retry.pop() if to_retry else jobs.next_ready()
            if key is None:
                break
            function, arguments = jobs.call_of(key)
            jobs.started(key)
            running[pool.submit(function, *arguments)] = key
        if not running:
            return
        for future in wait(running, timeout=1.0, return_when=FIRST_COMPLETED).done:
            key = running.pop(future)
            problem = jobs.problem_of(future)
            if problem is None:
                jobs.done(key, future.result())
                continue
            failures[key] = failures.get(key, 0) + 1
            if failures[key] < attempts:
                jobs.retried(key, problem)
                to_retry.append(key)
            else:
                jobs.failed(key, problem)
        jobs.tick()


def made_in(
    pool: Pool, function: Callable[..., Any], calls: Iterable[Sequence[Any]], attempts: int = 2
) -> Iterator[Any]:
    """The results of `function` with each of `calls`, in their order and as soon as they are there; a call whose
    process died is made once more. Calls are drawn, and results are held, for twice as many as go on at a time."""
    left = iter(calls)
    waiting: deque[_Call] = deque()
    while True:
        running = [call.future for call in waiting if not call.future.done()]
        has_room = len(running) < pool.room()
        first = waiting[0] if waiting else None
        error = first.future.exception() if first is not None and first.future.done() else None
        if first is not None and process_died(error):
            if first.attempts == attempts:
                problem = f"a process was killed twice ({type(error).__name__})"
                raise UserError(f"{problem}: memory may be short, so try fewer processes")
            if has_room:
                first.future, first.attempts = pool.submit(function, *first.arguments), first.attempts + 1
                continue
        elif first is not None and first.future.done():
            yield waiting.popleft().future.result()
            continue
        elif has_room and len(waiting) < 2 * pool.room() and (arguments := next(left, None)) is not None:
            waiting.append(_Call(arguments, pool.submit(function, *arguments)))
            continue
        if not waiting:
            return
        wait(running, timeout=1.0, return_when=FIRST_COMPLETED)


@dataclass(eq=False)
class _Call:
    """A call that was submitted, perhaps once more."""

    arguments: Sequence[Any]
    future: Future[Any]
    attempts: int = 1
