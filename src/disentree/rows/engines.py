"""Where passes over blocks are made: threads of this process, or the processes of a Dask cluster."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from threadpoolctl import threadpool_limits

from disentree.rows.source import Source, blocks_of, problems_in
from disentree.utils.jobs import made_in
from disentree.utils.pools import Pool, open_pool
from disentree.utils.threads import count

Places = Sequence[tuple[int, int]]  # parts and the numbers of their first rows


@runtime_checkable
class Engine(Protocol):
    """Where passes are made."""

    def run(self, source: Source, places: Places, function: Callable[[Any, int], Any]) -> Iterator[Any]:
        """What the function makes of each block of some parts and the number of its first row, in order."""
        ...


@dataclass(frozen=True)
class Local:
    """This process: it reads one block after the other, and threads compute."""

    def run(self, source: Source, places: Places, function: Callable[[Any, int], Any]) -> Iterator[Any]:
        if (n := count()) == 1:
            for part, start in places:
                for first, rows in blocks_of(source, part, start):
                    yield _made(source, part, function, rows, first)
            return
        waiting: deque[Future[Any]] = deque()
        # threads of products of matrices would wait for each other
        with threadpool_limits(1, "blas"), ThreadPoolExecutor(n) as pool:
            for part, start in places:
                for first, rows in blocks_of(source, part, start):
                    call = copy_context().run, _made, source, part, function, rows, first
                    waiting.append(pool.submit(*call))
                    if len(waiting) > n:  # what waits is in memory
                        yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()


@dataclass(frozen=True)
class Cluster:
    """The processes of a Dask cluster, which read files themselves: each call is one part. Of a process that is
    killed its calls are made once more."""

    pool: Pool

    def run(self, source: Source, places: Places, function: Callable[[Any, int], Any]) -> Iterator[Any]:
        calls = ((source, part, start, function) for part, start in places)
        for made in made_in(self.pool, of_part, calls):
            yield from made


@contextmanager
def engine_of(name: str, address: str | None = None) -> Iterator[Engine]:
    """Threads of this process ("local"), or the processes of a Dask cluster ("dask"): that of the scheduler at an
    address, or one that is started on this machine, with a process for every core."""
    if name == "local" and address is None:
        yield Local()
        return
    with open_pool(name, os.cpu_count() or 1, address) as pool:
        yield Cluster(pool)


def of_part(source: Source, part: int, start: int, function: Callable[[Any, int], Any]) -> list[Any]:
    """What a function makes of each block of a part."""
    return [_made(source, part, function, rows, first) for first, rows in blocks_of(source, part, start)]


def _made(source: Source, part: int, function: Callable[[Any, int], Any], rows: Any, first: int) -> Any:
    with problems_in(source.where(part), first, len(rows)):
        return function(rows, first)
