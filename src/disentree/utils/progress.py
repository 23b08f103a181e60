"""Progress on stderr, for those who ask for it; nothing stays on the screen after Ctrl-C."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_turning: ContextVar[bool] = ContextVar("turning", default=False)  # a terminal shows one spinner at a time


@contextmanager
def bar(what: str, total: int, verbose: bool) -> Iterator[Callable[[str], None]]:
    """A bar of `total` steps; call the result after each step with a few words on how it went."""
    if not verbose:
        yield lambda words: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[words]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(what, total=total, words="")
        yield lambda words: progress.update(task, advance=1, words=words)


@contextmanager
def step(what: str, verbose: bool, spinner: bool = True) -> Iterator[None]:
    """Show that a step is under way and, when it is done, how long it took. No spinner for steps that have a
    bar of their own."""
    if not verbose:
        yield
        return
    from rich.console import Console

    console = Console(stderr=True, highlight=False)
    start = time.perf_counter()
    if spinner and not _turning.get():
        token = _turning.set(True)
        try:
            with console.status(f"{what} ..."):
                yield
        finally:
            _turning.reset(token)
    else:
        yield
    console.print(f"{what}: {time.perf_counter() - start:.1f} s")
