"""Files that readers never see in part, and the lock of a folder."""

from __future__ import annotations

import hashlib
import json
import math
import os
import tempfile
import time
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from disentree.errors import UserError


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary file to write to, in the same folder and with the same suffix.

    It takes the name `path` when the block succeeds, and is removed when it does not (an error, a full disk,
    Ctrl-C).
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = None
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.stem}-", suffix=path.suffix, dir=path.parent)
        os.close(handle)
        temporary = Path(name)
        yield temporary
        temporary.chmod(0o666 & ~_umask())  # mkstemp makes files that only their owner can read
        os.replace(temporary, path)
    except OSError as error:
        if error.filename is None or Path(os.fsdecode(error.filename)).parent == path.parent:
            error.filename, error.filename2 = str(path), None  # the name the user knows
        raise
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


@contextmanager
def locked(path: Path, *, shared: bool = False, patience: float = 0.0) -> Iterator[None]:
    """Hold the lock of a folder, which is the file `path` in it.

    Parameters
    ----------
    path : Path
        The file.
    shared : bool, default=False
        Whether other processes may hold it too, if they also share it.
    patience : float, default=0.0
        How many seconds to wait while others hold it, before an error.
    """
    try:
        import fcntl
    except ImportError:  # Windows has no such locks
        yield
        return
    until = time.monotonic() + patience
    with path.open("w") as file:
        while True:
            try:
                fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= until:
                    raise UserError(f"{path.parent} is in use by another process") from None
            time.sleep(0.5)
        yield


def write_json(path: str | os.PathLike[str], value: Any) -> None:
    """Write JSON, complete or not at all. NaN and infinity, which JSON does not have, become null."""
    with atomic_path(path) as temporary:
        temporary.write_text(json_text(value), encoding="utf-8")


def json_text(value: Any) -> str:
    """A value as an indented JSON document; see `write_json`."""
    return json.dumps(_without_nan(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _without_nan(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_npz(path: str | os.PathLike[str], arrays: Mapping[str, np.ndarray]) -> None:
    """Write what `numpy.savez` writes, never pickled and with the same bytes for the same arrays.

    There are no time stamps, and there is no compression, whose output differs between versions of zlib.
    """
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for name, array in arrays.items():
            entry = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            with archive.open(entry, "w", force_zip64=True) as file:
                np.lib.format.write_array(file, np.asanyarray(array), allow_pickle=False)


def check_numpy(file: BinaryIO, path: Path) -> None:
    """Refuse an open file that is neither an array nor an archive of arrays.

    Numpy would take it for a pickle and ask whether it is to be trusted.
    """
    start = file.read(6)
    file.seek(0)
    if not start.startswith((b"\x93NUMPY", b"PK")):
        raise UserError(f"{path} is not an {path.suffix[1:].lower() or 'npz'} file")


def sha256_of(path: str | os.PathLike[str]) -> str:
    """The SHA-256 of a file's content, in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
