"""Text for terminals: names come from files, and must not move the cursor or stop a program that has finished."""

from __future__ import annotations

import logging
import re
import unicodedata
from typing import Any

# Escape sequences begin with one of these, and the last ones turn the direction of what follows. Line breaks and
# tabs stay.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def plain(text: str, encoding: str | None = None) -> str:
    r"""Text whose control characters are spelled out, with characters that an encoding has.

    Examples
    --------
    >>> print(plain("\x1b[2Jweight"))
    \x1b[2Jweight
    >>> plain("R²", "ascii")
    'R2'
    """
    text = _CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)
    try:
        text.encode(encoding or "utf-8")
    except UnicodeEncodeError:
        text = "".join(_spelled(letter, encoding or "utf-8") for letter in text)
    except LookupError:  # a stream of a kind of its own
        pass
    return text


def _spelled(letter: str, encoding: str) -> str:
    """A character as an encoding has it, by its parts if need be; as an escape if it has none."""
    parts = (letter, unicodedata.normalize("NFKD", letter), ascii(letter)[1:-1])
    for part in parts[:-1]:
        try:
            part.encode(encoding)
        except UnicodeEncodeError:
            continue
        return part
    return {"├": "|", "└": "`", "─": "-", "│": "|", "–": "-", "—": "-", "±": "+-"}.get(letter, parts[-1])


class PlainStream:
    """A stream to which only plain text is written; what draws on the terminal asks for `terminal`."""

    def __init__(self, terminal: Any) -> None:
        self.terminal = terminal

    def write(self, text: str) -> int:
        """Write plain text."""
        self.terminal.write(plain(text, self.terminal.encoding))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.terminal, name)


class PlainFormatter(logging.Formatter):
    """Lines of the log as plain text."""

    encoding: str | None = None

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        return plain(super().format(record), self.encoding)
