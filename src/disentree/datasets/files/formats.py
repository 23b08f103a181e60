"""The format of a file by the ending of its name, and text files that may be compressed."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any


def suffix_of(path: Path) -> str:
    """The ending that tells the format, in small letters; of a compressed file with the one before.

    Examples
    --------
    >>> suffix_of(Path("a.b.CSV")), suffix_of(Path("a.b.csv.gz"))
    ('.csv', '.csv.gz')
    """
    last = path.suffix.lower()
    return "".join(path.suffixes[-2:]).lower() if last == ".gz" else last


def open_bytes(path: Path) -> Any:
    """The bytes of a file, unpacked if it is compressed."""
    if path.suffix.lower() == ".gz":
        return gzip.open(path)
    return path.open("rb")


def open_text(path: Path, encoding: str) -> Any:
    """The text of a file, unpacked if it is compressed, with the ends of lines as they are."""
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rt", encoding=encoding, newline="")
    return path.open(encoding=encoding, newline="")
