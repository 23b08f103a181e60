"""Pieces of the sentences that say what was done to a user's data."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Num


def size_in_words(images: Num[np.ndarray, "n h w ..."]) -> str:
    """Height and width of images, such as "64x64"."""
    return f"{images.shape[1]}x{images.shape[2]}"


def columns_in_words(names: Sequence[str]) -> str:
    """Names of columns, such as "columns 'a', 'b'"."""
    return f"column{'s' * (len(names) != 1)} {some_of(map(repr, names))}"


def some_of(names: Iterable[str], at_most: int = 6) -> str:
    """The first few names, and how many more there are."""
    names = list(names)
    rest = f" and {len(names) - at_most} more" if len(names) > at_most else ""
    return ", ".join(names[:at_most]) + rest


def name_in_words(path: Path) -> str:
    """The name of a file as text: bytes of it that are not UTF-8 are spelled out."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def first_line(error: BaseException) -> str:
    """The first line of an error's message, or the error's name if it has none."""
    text = str(error).strip()
    return text.splitlines()[0].rstrip(".") if text else type(error).__name__
