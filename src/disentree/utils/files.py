"""Files that readers never see in part and that survive a power cut, the lock of a folder, and documents with a
checksum of themselves."""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import stat
import tempfile
import time
import zipfile
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from disentree.errors import DamagedFile, UserError

TEMPORARY_PREFIX = ".tmp-"
SEAL = "seal"  # the key of a document's checksum of all its other keys


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary file to write to, in the same folder and with the same suffix.

    It takes the name `path` when the block succeeds, and is removed when it does not (an error, a full disk,
    Ctrl-C). Its content is on the disk before it has the name, so a power cut leaves the old file or the new one.
    A link called `path` is replaced, not followed.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = None
    try:
        prefix = f"{TEMPORARY_PREFIX}{path.stem}-"
        handle, name = tempfile.mkstemp(prefix=prefix, suffix=path.suffix, dir=path.parent)
        os.close(handle)
        temporary = Path(name)
        yield temporary
        temporary.chmod(0o666 & ~_umask())  # mkstemp makes files that only their owner can read
        sync(temporary)
        os.replace(temporary, path)
        sync(path.parent)
    except OSError as error:
        if error.filename is None or os.fsdecode(error.filename) == str(temporary):
            error.filename, error.filename2 = str(path), None  # the name the user knows
        raise
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def sync(path: str | os.PathLike[str]) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        if Path(path).is_dir():  # Windows cannot open folders
            return
        raise
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):  # file systems without it
            error.filename = os.fspath(path)
            raise
    finally:
        os.close(handle)


def remove_temporaries(folder: Path) -> None:
    """Remove what writers that were killed have left in a folder. No other process may be writing to it."""
    for leftover in folder.glob(f"{TEMPORARY_PREFIX}*"):
        if leftover.is_symlink() or leftover.is_file():
            leftover.unlink(missing_ok=True)


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Name `path` in the system's errors of reading or writing it that name no file."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:  # those of libraries would lose their sentence
            error.filename = os.fspath(path)
        raise


def check_is_file(path: str | os.PathLike[str]) -> None:
    """Refuse what has no end, or waits for a writer: pipes, sockets, devices, and links to them."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise UserError(f"{os.fspath(path)} is not a file")


def open_without_links(path: Path, flags: int) -> int:
    """Open a file, which is made if it does not exist, unless its name is that of a link or not of a file."""
    try:
        handle = os.open(path, flags | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK) or path.is_symlink():
            raise UserError(f"{path} is a link, which is not followed: remove it") from None
        raise
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise UserError(f"{path} is not a file: remove it")
    return handle


@contextmanager
def locked(path: Path, *, shared: bool = False, patience: float = 0.0) -> Iterator[None]:
    """Hold the lock of a folder, which is the file `path` in it.

    The file is made if need be and never removed: whoever removed it would free others of the lock. Processes may
    hold it together if all of them share it. While others hold it, it is waited for `patience` seconds.
    """
    try:
        import fcntl
    except ImportError:  # Windows has no such locks
        yield
        return
    until = time.monotonic() + patience
    handle = open_without_links(path, os.O_RDWR)
    try:
        while True:
            try:
                fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= until:
                    raise UserError(f"{path.parent} is in use by another process") from None
            time.sleep(0.5)
        yield
    finally:
        os.close(handle)


def write_json(path: str | os.PathLike[str], value: Any) -> None:
    """Write JSON, complete or not at all. NaN and infinity, which JSON does not have, become null."""
    with atomic_path(path) as temporary:
        temporary.write_text(json_text(value), encoding="utf-8")


def json_text(value: Any) -> str:
    """A value as an indented JSON document; see `write_json`."""
    return encodable_json(_without_nan(value), indent=2, allow_nan=False) + "\n"


def encodable_json(value: Any, **how: Any) -> str:
    """JSON that UTF-8 can encode: halves of characters, as in names of files that are no text, as escapes."""
    text = json.dumps(value, ensure_ascii=False, **how)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, **how)
    return text


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


def sha256_of(path: str | os.PathLike[str]) -> str:
    """The SHA-256 of a file's content, in hexadecimal."""
    check_is_file(path)
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def checksum_of(value: Any) -> str:
    """The SHA-256 of a value as JSON, however it was written."""
    return hashlib.sha256(json_text(value).encode("utf-8", "surrogatepass")).hexdigest()


def sealed(value: Mapping[str, Any], key: str = SEAL) -> dict[str, Any]:
    """The value with a checksum of itself."""
    return {**value, key: checksum_of(value)}


def read_document(path: Path, sealed_formats: Container[int]) -> dict[str, Any]:
    """The table in a JSON file, with a whole number as "format"; a `DamagedFile` if it is not one. Those of
    `sealed_formats` must have a seal, and it must fit; those of other formats are for the caller to refuse."""
    check_is_file(path)
    with damage_told(path):
        value = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(value, dict) or type(value.get("format")) is not int:
            raise ValueError("it does not say of which format it is")
        seal = value.pop(SEAL, None)
        if value["format"] in sealed_formats and seal != checksum_of(value):
            raise ValueError("its checksum differs")
        return value


@contextmanager
def damage_told(path: Path) -> Iterator[None]:
    """Whatever the content of a file makes Python raise within the block, as one sentence about that file."""
    try:
        yield
    except (DamagedFile, UserError):
        raise
    except MemoryError as error:
        raise MemoryError(f"{path} needs more than there is: {error}") from None
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise DamagedFile(f"{path} is cut short or damaged ({_reason(error)})") from None


def _reason(error: Exception) -> str:
    from pydantic import ValidationError

    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"[:200]
    text = str(error).strip()
    first = text.splitlines()[0][:200] if text else ""
    return first if isinstance(error, ValueError) and first else f"{type(error).__name__}: {first}".rstrip(": ")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
