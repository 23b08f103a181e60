"""Compiled loops over rows, in threads that end with the loop.

Those of numba's parallel loops stay. With GNU OpenMP a process that is forked afterwards dies in its own loop, and
numba's other layer must not be asked by two threads at once. Nothing is left of these when a process is forked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from typing import Any

FEWEST_ROWS = 256  # of a loop that is worth starting threads for
PARTS = 8  # of the rows for each thread: some rows take longer than others

_most: ContextVar[int | None] = ContextVar("most threads", default=None)


@contextmanager
def threads(n: int) -> Iterator[None]:
    """At most `n` threads in loops within the block; -1 for all cores.

    With one thread, libraries that use OpenMP have one too: none of its threads is left.
    """
    from threadpoolctl import threadpool_limits

    before = _most.set(n if n > 0 else None)
    try:
        with threadpool_limits(1 if n == 1 else None, "openmp"):
            yield
    finally:
        _most.reset(before)


def count() -> int:
    """How many threads loops have here."""
    from numba.core import config

    settings: Any = config
    there = int(settings.NUMBA_NUM_THREADS)
    return min(_most.get() or there, there)


def over_rows(kernel: Callable[..., None], n: int, *arguments: Any) -> None:
    """Call ``kernel(start, stop, *arguments)`` for parts of n rows, which together are all of them.

    The kernel is compiled with ``nogil=True``, and writes to the rows `start` to `stop` of arrays that it is
    given, to no others: then the number of threads changes nothing.
    """
    most = count()
    if most == 1 or n < FEWEST_ROWS:
        kernel(0, n, *arguments)
        return
    edges = [n * part // (PARTS * most) for part in range(PARTS * most + 1)]
    with ThreadPoolExecutor(most) as pool:
        for done in [pool.submit(kernel, a, b, *arguments) for a, b in pairwise(edges)]:
            done.result()
