"""Where the runs of a study are done: processes of this machine, or a Dask cluster.

A pool takes a run and gives a future. Which run is next, what is tried again and what depends on what is
decided here, in one place for all pools, so that results do not depend on where and when they were made.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from disentree.errors import UserError
from disentree.studies.progress import Progress
from disentree.studies.task import Task
from disentree.studies.worker import THREADS, execute

log = logging.getLogger(__name__)

ATTEMPTS = 2


@runtime_checkable
class Pool(Protocol):
    def room(self) -> int:
        """How many runs can go on at the same time."""
        ...

    def submit(self, study: str, described: dict[str, Any]) -> Future[dict[str, Any]]: ...

    def close(self, kill: bool) -> None: ...


# ------------------------------------------------------------------ the order of things


def run_all(
    tasks: Sequence[Task], todo: Sequence[int], folder: Path, pool: Pool, progress: Progress
) -> dict[int, str]:
    """Do the runs `todo`, each at most twice; returns those that failed, and how.

    The longest first, so that no long run is left alone at the end; a run waits for the one whose structure
    or representation it shares.
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
            running[pool.submit(str(folder), tasks[i].model_dump(mode="json"))] = i
        if not running:
            continue
        for future in wait(running, timeout=1.0, return_when=FIRST_COMPLETED).done:
            i = running.pop(future)
            problem, result = _outcome(future)
            if result is not None:
                open_runs.discard(i)
                progress.done(i, result)
            elif attempts[i] < ATTEMPTS:
                progress.again(i, problem)
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
    return (result["error"], None) if "error" in result else ("", result)


@contextlib.contextmanager
def open_pool(engine: str, jobs: int, address: str | None = None) -> Iterator[Pool]:
    if engine not in ("local", "dask"):
        raise UserError(f"--engine must be local or dask, got {engine!r}")
    if jobs < 0:
        raise UserError(f"--jobs must be 0 or more, got {jobs}")
    if address is not None and engine != "dask":
        raise UserError("--address is that of a Dask scheduler and needs --engine dask")
    if engine == "dask":
        pool: Pool = DaskPool(max(1, jobs), address)
    else:
        pool = LocalPool(jobs) if jobs else InlinePool()
    try:
        yield pool
    except BaseException:
        pool.close(kill=True)
        raise
    pool.close(kill=False)


# ------------------------------------------------------------------ this machine


class InlinePool:
    """This very process: for debuggers, and for tests."""

    def room(self) -> int:
        return 1

    def submit(self, study: str, described: dict[str, Any]) -> Future[dict[str, Any]]:
        future: Future[dict[str, Any]] = Future()
        result = execute(study, described)
        if result.get("error") == "stopped":
            raise KeyboardInterrupt
        future.set_result(result)
        return future

    def close(self, kill: bool) -> None:
        pass


class LocalPool:
    """Processes through joblib, each with a single thread. Every one is an executor of its own: when a process
    dies, the runs of the others go on."""

    def __init__(self, jobs: int) -> None:
        self._free: list[Any] = [self._executor() for _ in range(jobs)]
        self._busy: list[tuple[Any, Future[dict[str, Any]]]] = []
        self._jobs = jobs

    @staticmethod
    def _executor() -> Any:
        from joblib.externals.loky import ProcessPoolExecutor

        return ProcessPoolExecutor(max_workers=1, env=THREADS, timeout=None)

    def room(self) -> int:
        return self._jobs

    def submit(self, study: str, described: dict[str, Any]) -> Future[dict[str, Any]]:
        self._take_back()
        executor = self._free.pop()
        future: Future[dict[str, Any]] = executor.submit(execute, study, described, True)
        self._busy.append((executor, future))
        return future

    def _take_back(self) -> None:
        """Executors whose run has ended are free; one whose process died stays broken, and is replaced."""
        for executor, future in [item for item in self._busy if item[1].done()]:
            self._busy.remove((executor, future))
            if future.exception() is not None:
                executor.shutdown(wait=False, kill_workers=True)
                executor = self._executor()
            self._free.append(executor)

    def close(self, kill: bool) -> None:
        for executor in [*self._free, *(executor for executor, _ in self._busy)]:
            executor.shutdown(wait=not kill, kill_workers=kill)


# ------------------------------------------------------------------ Dask


class DaskPool:
    """A Dask cluster: the one at `address`, or worker processes of this machine. The study's folder must be
    the same for all of them, on a file system that they share."""

    def __init__(self, jobs: int, address: str | None) -> None:
        try:
            import dask.config
            import distributed
        except ImportError:
            raise UserError("--engine dask needs Dask: pip install 'disentree[dask]'") from None
        self._cluster = None
        self._local = address is None
        if address is None:
            settings = {
                # A run whose worker died comes back to us, to be tried once more and not three times.
                "distributed.scheduler.allowed-failures": 0,
                "distributed.nanny.pre-spawn-environ": THREADS,
                "distributed.worker.daemon": False,
            }
            with dask.config.set(settings):
                no_page: Any = None
                self._cluster = distributed.LocalCluster(
                    n_workers=jobs, threads_per_worker=1, processes=True, dashboard_address=no_page
                )
            self._client = distributed.Client(self._cluster)
        else:
            try:
                self._client = distributed.Client(address, timeout="20s")
            except (OSError, ValueError) as error:
                raise UserError(f"there is no Dask scheduler at {address}: {error}") from None

    def room(self) -> int:
        workers = self._client.scheduler_info(n_workers=-1)["workers"].values()
        return max(1, sum(worker["nthreads"] for worker in workers))

    def submit(self, study: str, described: dict[str, Any]) -> Future[dict[str, Any]]:
        future: Future[dict[str, Any]] = Future()
        remote = self._client.submit(execute, study, described, self._local, pure=False)

        def done(remote: Any) -> None:
            try:
                future.set_result(remote.result())
            except BaseException as error:
                future.set_exception(error)

        remote.add_done_callback(done)
        return future

    def close(self, kill: bool) -> None:
        self._client.close(timeout=5)
        if self._cluster is not None:
            self._cluster.close(timeout=5)
