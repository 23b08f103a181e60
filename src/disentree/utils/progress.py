"""The progress display, on stderr: what is done, out of how much, and the time left.

On a terminal these are bars and spinners, all on one console, that of the log if it has one, so that lines and
bars do not collide. Elsewhere they are lines, one every ten seconds and at the end. Nothing is shown unless it is
asked for, and nothing stays on the screen after Ctrl-C.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

log = logging.getLogger("disentree")

SECONDS_BETWEEN_LINES = 10.0
_spinning: ContextVar[bool] = ContextVar("spinning", default=False)  # a terminal shows one spinner at a time


def duration(seconds: float) -> str:
    """Seconds in words."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172800 else f"{seconds / 86400:.1f} days"


class _Count:
    """How far something is, in words."""

    def __init__(self, what: str, total: int, done: float, estimate: bool):
        self.what, self.total, self.first, self.estimate = what, total, done, estimate
        self.began = time.monotonic()

    def label(self, done: float) -> str:
        return f"{self.what} {min(int(done) + 1, self.total)} of {self.total}"

    def left(self, done: float) -> str:
        """The time left, extrapolated from the time that was needed so far."""
        if not self.estimate or done <= self.first or done >= self.total:
            return ""
        seconds = (time.monotonic() - self.began) * (self.total - done) / (done - self.first)
        return f"about {duration(seconds)} left"


@contextmanager
def bar(
    what: str, total: int, verbose: bool, *, done: float = 0, estimate: bool = True
) -> Iterator[Callable[..., None]]:
    """A bar that counts `what` (in the singular) up to a total; lines if stderr is not a terminal.

    Yields a function to be called with how many are done, which may be a fraction, and a few words, if there are
    any. `done` are done already; `estimate` says whether the time left is shown.
    """
    if not verbose:
        yield lambda done, words="": None
        return
    count = _Count(what, total, done, estimate)
    if not sys.stderr.isatty():
        yield _line_writer(count)
        return
    from rich.progress import BarColumn, Progress, TextColumn

    columns = [TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[left]}")]
    with Progress(*columns, TextColumn("{task.fields[words]}"), console=_console()) as progress:
        task = progress.add_task(count.label(done), total=total, completed=int(done), words="", left="")

        def update(done: float, words: str = "") -> None:
            fields: dict[str, Any] = {"words": words} if words else {}
            left = count.left(done)
            progress.update(task, completed=done, description=count.label(done), left=left, **fields)

        yield update


def _line_writer(count: _Count) -> Callable[..., None]:
    last, said, ended = time.monotonic(), "", False

    def update(done: float, words: str = "") -> None:
        nonlocal last, said, ended
        said = words or said
        is_last = done >= count.total and not ended
        if not is_last and time.monotonic() - last < SECONDS_BETWEEN_LINES:
            return
        last, ended = time.monotonic(), ended or is_last
        _say(", ".join(filter(None, (count.label(done), count.left(done), said.replace("  ", ", ")))))

    return update


def _say(line: str) -> None:
    if log.handlers:
        log.info("%s", line)
    else:
        print(line, file=sys.stderr)


@contextmanager
def step(what: str, verbose: bool, spinner: bool = True) -> Iterator[None]:
    """Show that a step is under way and, when it is done, how long it took; no spinner for one with a bar."""
    start = time.perf_counter()
    if not verbose:
        yield
        return
    if not sys.stderr.isatty():
        yield
        _say(f"{what}: {time.perf_counter() - start:.1f} s")
        return
    console = _console()
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
