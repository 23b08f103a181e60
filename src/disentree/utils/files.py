"""Writing files so that nobody ever finds half of one."""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np

from disentree.errors import UserError


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary file to write to, in the same folder and with the same suffix; it takes the name `path`
    when the block ends well and disappears when it does not (an error, a full disk, Ctrl-C)."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = None
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.stem}-", suffix=path.suffix, dir=path.parent)
        os.close(handle)
        temporary = Path(name)
        yield temporary
        temporary.chmod(0o666 & ~_umask())  # mkstemp's files are for the owner's eyes only
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
    """Hold the lock of a folder, which is the file `path` in it. While others have it, wait for it as many
    seconds as there is patience for."""
    try:
        import fcntl
    except ImportError:  # not on Windows; there it is up to the user
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


def write_npz(path: str | os.PathLike[str], arrays: Mapping[str, np.ndarray]) -> None:
    """What `numpy.savez` writes, but never pickled and with the same bytes for the same arrays: no time
    stamps, and no compression, whose output differs between versions of zlib."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for name, array in arrays.items():
            entry = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            with archive.open(entry, "w", force_zip64=True) as file:
                np.lib.format.write_array(file, np.asanyarray(array), allow_pickle=False)


def check_numpy(file: BinaryIO, path: Path) -> None:
    """An error of our own for an open file that is neither an array nor an archive of arrays; numpy would take it
    for a pickle and ask whether it is to be trusted."""
    start = file.read(6)
    file.seek(0)
    if not start.startswith((b"\x93NUMPY", b"PK")):
        raise UserError(f"{path} is not an {path.suffix[1:].lower() or 'npz'} file")


def sha256_of(path: str | os.PathLike[str]) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
