"""The progress display, on stderr: bars for training and studies, spinners for single steps.

Everything writes to one console, that of the log if it has one, so that lines and bars do not collide. Nothing is
shown unless it is asked for, and nothing stays on the screen after Ctrl-C.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_spinning: ContextVar[bool] = ContextVar("spinning", default=False)  # a terminal shows one spinner at a time


@contextmanager
def bar(
    what: str, total: int, verbose: bool, *, done: float = 0, estimate: bool = True
) -> Iterator[Callable[..., None]]:
    """A bar that counts up to a total.

    Parameters
    ----------
    what : str
        What is counted, in the singular.
    total : int
        How many there are.
    verbose : bool
        Whether anything is shown.
    done : float, default=0
        How many are done already.
    estimate : bool, default=True
        Whether the time left is shown, extrapolated from the time that was needed so far.

    Yields
    ------
    callable
        To be called with how many are done, which may be a fraction, and a few words, if there are any.
    """
    if not verbose:
        yield lambda done, words="": None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = [TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[words]}")]

    def label(done: float) -> str:
        return f"{what} {min(int(done) + 1, total)}/{total}"

    with Progress(*columns, *([TimeRemainingColumn()] if estimate else []), console=_console()) as progress:
        task = progress.add_task(label(done), total=total, completed=int(done), words="")

        def update(done: float, words: str = "") -> None:
            fields: dict[str, Any] = {"words": words} if words else {}
            progress.update(task, completed=done, description=label(done), **fields)

        yield update


@contextmanager
def step(what: str, verbose: bool, spinner: bool = True) -> Iterator[None]:
    """Show that a step is under way and, when it is done, how long it took.

    Parameters
    ----------
    what : str
        The step.
    verbose : bool
        Whether anything is shown.
    spinner : bool, default=True
        False for steps that have a bar of their own.
    """
    if not verbose:
        yield
        return
    console = _console()
    start = time.perf_counter()
    if spinner and not _spinning.get():
        token = _spinning.set(True)
        try:
            with console.status(f"{what} ..."):
                yield
        finally:
            _spinning.reset(token)
    else:
        yield
    console.print(f"{what}: {time.perf_counter() - start:.1f} s", highlight=False)


def _console() -> Any:
    from rich.console import Console

    handlers: list[Any] = [*logging.getLogger("disentree").handlers]
    return next((h.console for h in handlers if hasattr(h, "console")), None) or Console(stderr=True)
