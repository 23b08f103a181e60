"""Processes to compute in: those of this machine, or a Dask cluster. Each has a single thread."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any, Protocol, runtime_checkable

from disentree.errors import UserError
from disentree.utils.extras import needing
from disentree.utils.memory import keep_freed_memory

_NAMES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
THREADS = dict.fromkeys(_NAMES, "1")
_is_set_up = False


@runtime_checkable
class Pool(Protocol):
    """Processes that calls can be submitted to."""

    def room(self) -> int:
        """How many calls can go on at the same time."""
        ...

    def submit(self, function: Callable[..., Any], *args: Any) -> Future[Any]: ...

    def close(self, kill: bool) -> None: ...


@contextlib.contextmanager
def open_pool(engine: str, jobs: int, address: str | None = None) -> Iterator[Pool]:
    """Start processes, and end them with the block.

    `engine` is "local", for `jobs` processes of this machine (0 for this very process), or "dask", for those of
    the scheduler at `address`; without it one is started on this machine.
    """
    if engine not in ("local", "dask"):
        raise UserError(f"--engine must be local or dask, got {engine!r}")
    if jobs < 0:
        raise UserError(f"--n-jobs must be 0 or more, got {jobs}")
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


class InlinePool:
    """This very process: for debuggers, and for tests."""

    def room(self) -> int:
        return 1

    def submit(self, function: Callable[..., Any], *args: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(function(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    def close(self, kill: bool) -> None:
        pass


class LocalPool:
    """Processes through joblib, each with a single thread.

    Each is an executor of its own: when a process dies, the others continue.
    """

    def __init__(self, jobs: int) -> None:
        self._free: list[Any] = [self._executor() for _ in range(jobs)]
        self._busy: list[tuple[Any, Future[Any]]] = []
        self._jobs = jobs

    @staticmethod
    def _executor() -> Any:
        from joblib.externals.loky import ProcessPoolExecutor

        return ProcessPoolExecutor(max_workers=1, env=THREADS, timeout=None)

    def room(self) -> int:
        return self._jobs

    def submit(self, function: Callable[..., Any], *args: Any) -> Future[Any]:
        self._release_finished()
        executor = self._free.pop()
        try:
            future: Future[Any] = executor.submit(_watched, function, *args)
        except Exception as error:
            if not process_died(error):
                raise
            executor = self._replace(executor)  # its process died while it had nothing to do
            future = executor.submit(_watched, function, *args)
        self._busy.append((executor, future))
        return future

    def _release_finished(self) -> None:
        """Executors whose call has ended are free; one whose process died stays broken, and is replaced."""
        for executor, future in [item for item in self._busy if item[1].done()]:
            self._busy.remove((executor, future))
            if process_died(future.exception()):
                executor = self._replace(executor)
            self._free.append(executor)

    def _replace(self, broken: Any) -> Any:
        broken.shutdown(wait=False, kill_workers=True)
        return self._executor()

    def close(self, kill: bool) -> None:
        for executor in [*self._free, *(executor for executor, _ in self._busy)]:
            executor.shutdown(wait=not kill, kill_workers=kill)


class DaskPool:
    """A Dask cluster: the one at `address`, or worker processes of this machine.

    Workers elsewhere must share the file system.
    """

    def __init__(self, jobs: int, address: str | None) -> None:
        with needing("--engine dask"):
            import dask.config
            import distributed
        self._cluster = None
        self._running: set[Any] = set()
        if address is None:
            settings = {
                # A call whose worker died comes back to us, to be tried once more and not three times.
                "distributed.scheduler.allowed-failures": 0,
                "distributed.nanny.pre-spawn-environ": THREADS,
                "distributed.worker.daemon": False,
            }
            with dask.config.set(settings):
                self._cluster = distributed.LocalCluster(
                    # its page is not announced, and at any port that is free
                    n_workers=jobs,
                    threads_per_worker=1,
                    processes=True,
                    dashboard_address="127.0.0.1:0",
                )
            self._client = distributed.Client(self._cluster)
        else:
            try:
                self._client = distributed.Client(address, timeout="20s")
            except (OSError, ValueError) as error:
                raise UserError(f"there is no Dask scheduler at {address}: {error}") from None
            if any(worker["nthreads"] > 1 for worker in self._workers()):
                self._client.close(timeout=5)
                raise UserError(
                    f"workers of {address} have more than one thread: start them with dask worker --nthreads 1"
                )

    def _workers(self) -> list[dict[str, Any]]:
        return list(self._client.scheduler_info(n_workers=-1)["workers"].values())

    def room(self) -> int:
        return max(1, len(self._workers()))

    def submit(self, function: Callable[..., Any], *args: Any) -> Future[Any]:
        future: Future[Any] = Future()
        first = [_watched] if self._cluster is not None else []
        remote = self._client.submit(*first, function, *args, pure=False)

        def done(remote: Any) -> None:
            self._running.discard(remote)
            try:
                future.set_result(remote.result())
            except BaseException as error:
                future.set_exception(error)

        self._running.add(remote)
        remote.add_done_callback(done)
        return future

    def close(self, kill: bool) -> None:
        if kill:
            self._client.cancel(list(self._running))  # calls that have not begun; workers finish the others
        self._client.close(timeout=5)
        if self._cluster is not None:
            # All calls are done: a machine too busy to end its workers in time is no reason to fail.
            with contextlib.suppress(TimeoutError):
                self._cluster.close(timeout=30)


def process_died(error: BaseException | None) -> bool:
    """Whether the process died, as opposed to an error in the call."""
    return type(error).__name__ in ("TerminatedWorkerError", "BrokenProcessPool", "KilledWorker")


def _watched(function: Callable[..., Any], *args: Any) -> Any:
    _set_up()
    return function(*args)


def _set_up() -> None:
    """Once for a process that we started."""
    global _is_set_up
    if not _is_set_up:
        _is_set_up = True
        keep_freed_memory()
        _end_with_parent()


def _end_with_parent() -> None:
    """End this process when the one that started it is gone, so that no process and no lock outlives a kill."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
