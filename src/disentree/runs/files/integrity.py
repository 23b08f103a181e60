"""Whether the files of a run folder are what its stages wrote."""

from __future__ import annotations

import stat
from collections.abc import Iterable
from pathlib import Path

from disentree.errors import UserError
from disentree.utils.files import naming, sha256_of, sync


def record_files(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """The SHA-256 of each of these files that exists, once it is on the disk with its name."""
    record = {}
    folders = {folder}
    for name in names:
        path = folder / name
        if path.is_file():
            with naming(path):
                sync(path)
                record[name] = sha256_of(path)
            folders.add(path.parent)
    for written in folders:
        sync(written)
    return record


def problem_of_file(folder: Path, name: str, checksum: str | None) -> str | None:
    """What is wrong with a file that a finished stage wrote, whose SHA-256 was recorded; None if nothing is."""
    path = folder / name
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return "is missing"
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    if not stat.S_ISREG(mode):
        return "is not a file"
    if checksum is None:
        return "has no checksum in stages.json"
    return None if sha256_of(path) == checksum else "is damaged: its checksum differs"


def check_no_links(folder: Path, names: Iterable[str]) -> None:
    """Refuse a run folder with links, or with what is neither file nor folder, where a run writes or deletes."""
    for name in names:
        path = folder / name
        for place in (path, *path.parents):
            if place == folder:
                break
            try:
                mode = place.lstat().st_mode
            except (FileNotFoundError, NotADirectoryError):
                continue
            if stat.S_ISLNK(mode):
                raise UserError(f"{place} is a link, which a run does not follow: remove it")
            if place is path and not stat.S_ISREG(mode):
                raise UserError(f"{place} is not a file: remove it")
            if place is not path and not stat.S_ISDIR(mode):
                raise UserError(f"{place} is not a folder: remove it")
