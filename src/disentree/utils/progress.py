"""Progress on stderr, for those who ask for it; nothing stays on the screen after Ctrl-C."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_turning: ContextVar[bool] = ContextVar("turning", default=False)  # a terminal shows one spinner at a time


@contextmanager
def bar(what: str, total: int, verbose: bool) -> Iterator[Callable[..., None]]:
    """A bar that counts up to `total` of `what`. Call the result with how much is done, which may be a fraction,
    and a few words on how it goes, if there are any."""
    if not verbose:
        yield lambda done, words="": None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[words]}"),
        TimeRemainingColumn(),
    )

    def label(done: float) -> str:
        return f"{what} {min(int(done) + 1, total)}/{total}"

    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(label(0), total=total, words="")

        def update(done: float, words: str = "") -> None:
            fields: dict[str, Any] = {"words": words} if words else {}
            progress.update(task, completed=done, description=label(done), **fields)

        yield update


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
