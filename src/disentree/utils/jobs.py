"""Calls in the processes of a pool: submitted while there is room, repeated when they fail."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any, Protocol, runtime_checkable

from disentree.errors import UserError
from disentree.utils.pools import Pool, open_pool, process_died


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


def made_in(pool: Pool, function: Callable[..., Any], calls: Sequence[Sequence[Any]]) -> list[Any]:
    """The results of `function` with each of `calls`; a call whose process died is made once more."""
    work = _Calls(function, calls)
    run_jobs(pool, work)
    return [work.results[i] for i in range(len(calls))]


def in_processes(
    function: Callable[..., Any],
    calls: Sequence[Sequence[Any]],
    engine: str,
    jobs: int,
    address: str | None = None,
) -> list[Any]:
    """The same in processes that are started for it."""
    with open_pool(engine, jobs, address) as pool:
        return made_in(pool, function, calls)


class _Calls:
    """Calls of one function; an error of any of them ends all."""

    def __init__(self, function: Callable[..., Any], calls: Sequence[Sequence[Any]]) -> None:
        self._function, self._calls = function, calls
        self._next = iter(range(len(calls)))
        self.results: dict[int, Any] = {}

    def next_ready(self) -> int | None:
        return next(self._next, None)

    def call_of(self, key: int) -> tuple[Callable[..., Any], Sequence[Any]]:
        return self._function, self._calls[key]

    def problem_of(self, future: Future[Any]) -> str | None:
        error = future.exception()
        if error is not None and not process_died(error):
            raise error
        return None if error is None else type(error).__name__

    def failed(self, key: int, problem: str) -> None:
        raise UserError(f"a process was killed twice ({problem}): memory may be short, so try fewer --n-jobs")

    def started(self, key: int) -> None: ...

    def done(self, key: int, result: Any) -> None:
        self.results[key] = result

    def retried(self, key: int, problem: str) -> None: ...

    def tick(self) -> None: ...
