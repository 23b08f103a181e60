"""Ctrl-C within compiled code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


def is_interrupt(error: BaseException | None) -> bool:
    """Whether Ctrl-C is behind an error: a call of compiled code that it hits ends with a SystemError."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or (error.__context__ if isinstance(error, SystemError) else None)
    return error is not None


@contextmanager
def plain_interrupts() -> Iterator[None]:
    """Within the block, Ctrl-C is a KeyboardInterrupt wherever it hits."""
    try:
        yield
    except SystemError as error:
        if not is_interrupt(error):
            raise
        raise KeyboardInterrupt from None
