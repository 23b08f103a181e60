"""Parameters that several functions share are described once and inserted into each docstring."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Mapping
from typing import TypeVar

T = TypeVar("T")


def insert_shared(entries: Mapping[str, str]) -> Callable[[T], T]:
    """A decorator for functions and classes that replaces every line ``{NAME}`` of a docstring by an entry (text
    in numpydoc's form, without indentation), so that `help` is complete.

    >>> @insert_shared({"seed": "seed : int, default=0\\n    Where randomness starts."})
    ... def draw(seed=0):
    ...     '''Draw a number.
    ...
    ...     Parameters
    ...     ----------
    ...     {seed}
    ...     '''
    >>> print(draw.__doc__)
    Draw a number.
    <BLANKLINE>
    Parameters
    ----------
    seed : int, default=0
        Where randomness starts.
    """

    def decorate(documented: T) -> T:
        lines = []
        for line in inspect.cleandoc(documented.__doc__ or "").splitlines():
            name = line.strip()[1:-1] if line.strip().startswith("{") and line.strip().endswith("}") else None
            if name is None or not name.isidentifier():
                lines.append(line)
                continue
            indent = line[: len(line) - len(line.lstrip())]
            lines += textwrap.indent(textwrap.dedent(entries[name]).strip(), indent).splitlines()
        documented.__doc__ = "\n".join(lines)
        return documented

    return decorate
