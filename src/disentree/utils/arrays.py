"""Reading npy and npz files of unknown origin: never pickled, and every fault is one sentence.

What a file claims about itself is compared with its size before memory is asked for. Damaged files make numpy,
zipfile and the decompressors raise errors of a dozen kinds; here they are all the same `UserError`.
"""

from __future__ import annotations

import ast
import errno
import lzma
import math
import os
import struct
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from disentree.errors import UserError
from disentree.utils.files import check_is_file, naming

_MAX_HEADER = 10_000  # characters, as in numpy
_KINDS = "biufcUS"  # truth values, numbers, text: what can be read without pickle
_FAULTS = (
    ValueError, EOFError, LookupError, TypeError, ArithmeticError, SyntaxError, NotImplementedError, RuntimeError,
    zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, lzma.LZMAError, struct.error, tokenize.TokenError,
)  # fmt: skip


class Layout(NamedTuple):
    """What the header of an array says."""

    shape: tuple[int, ...]
    dtype: np.dtype
    by_columns: bool  # "Fortran order"

    @property
    def n_bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


def read_arrays(path: Path, *names: str, optional: tuple[str, ...] = ()) -> dict[str, np.ndarray]:
    """Arrays of an npz file: `names`, and those of `optional` that it has; all of them if none is named."""
    with open_archive(path) as archive:
        present = array_names(archive)
        for name in names:
            if name not in present:
                raise UserError(f"{path} must have an array {name!r}; it has {_some(present)}")
        wanted = (*names, *(name for name in optional if name in present)) if names or optional else present
        out = {}
        for name in wanted:
            with open_member(archive, name, path) as (file, layout):
                out[name] = _read_data(file, layout, path)
        return out


def read_array(path: Path) -> np.ndarray:
    """The array of an npy file."""
    with open_array(path) as (file, layout):
        return _read_data(file, layout, path)


@contextmanager
def open_array(path: Path) -> Iterator[tuple[Any, Layout]]:
    """An npy file that stands at its first number, and its layout, which fits the size of the file."""
    with naming(path):
        check_is_file(path)
    with _faults_of(path, "npy"), path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        layout = _read_header(file, path)
        if layout.n_bytes > size - file.tell():
            raise UserError(f"{path} is cut short: it ends before its last row")
        yield file, layout


@contextmanager
def open_archive(path: Path) -> Iterator[zipfile.ZipFile]:
    """An npz file, to be closed with the block."""
    with naming(path):
        check_is_file(path)
    with _faults_of(path, "npz"), path.open("rb") as file:
        if file.read(2) != b"PK":
            raise UserError(f"{path} is not an npz file")
        file.seek(0)
        with zipfile.ZipFile(file) as archive:
            yield archive


def array_names(archive: zipfile.ZipFile) -> list[str]:
    """The names of the arrays in an npz file."""
    return [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]


@contextmanager
def open_member(archive: zipfile.ZipFile, name: str, path: Path) -> Iterator[tuple[Any, Layout]]:
    """An array of an npz file that stands at its first number, and its layout, which fits its size."""
    with _faults_of(path, "npz"):
        entry = archive.getinfo(f"{name}.npy")
        with archive.open(entry) as file:
            layout = _read_header(file, path)
            if layout.n_bytes > entry.file_size - file.tell():
                raise UserError(f"{path} is cut short: array {name!r} ends before its last row")
            yield file, layout


def _read_header(file: Any, path: Path) -> Layout:
    kind = path.suffix[1:].lower() or "npy"
    if file.read(6) != b"\x93NUMPY":
        raise UserError(f"{path} is not an {kind} file")
    major, _minor = file.read(2)
    length = int.from_bytes(file.read(2 if major == 1 else 4), "little")
    if major not in (1, 2, 3) or length > _MAX_HEADER:
        raise UserError(f"{path} cannot be read as {kind}: its header is damaged")
    text = file.read(length).decode("utf-8" if major == 3 else "latin-1")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of Python, about what stands in a damaged header
            header = ast.literal_eval(text.strip())
    except (MemoryError, RecursionError):  # brackets without end
        raise ValueError("its header is damaged") from None
    if not isinstance(header, dict) or set(header) != {"descr", "fortran_order", "shape"}:
        raise ValueError("its header is damaged")
    shape, by_columns = header["shape"], header["fortran_order"]
    whole = isinstance(shape, tuple) and all(type(n) is int and n >= 0 for n in shape)
    if not whole or type(by_columns) is not bool or len(shape) > 32:
        raise ValueError("its header is damaged")
    if not isinstance(header["descr"], str):
        raise UserError(f"{path} must hold real numbers, got records")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names of types that numpy will drop
        dtype = np.dtype(header["descr"])
    if dtype.kind == "O":
        raise UserError(f"{path} must hold real numbers, got Python objects")
    if dtype.kind not in _KINDS:
        raise UserError(f"{path} must hold real numbers, got {dtype}")
    return Layout(shape, dtype, by_columns)


def _read_data(file: Any, layout: Layout, path: Path) -> np.ndarray:
    if layout.n_bytes > (limit := _physical_memory()):
        needed, there = layout.n_bytes / 2**30, limit / 2**30
        raise UserError(f"{path} needs {needed:,.0f} GiB of memory, this machine has {there:,.0f}")
    with naming(path):
        data = bytearray(layout.n_bytes)
        view, done = memoryview(data), 0
        while done < len(data):
            n = file.readinto(view[done : done + 2**24])
            if not n:
                raise UserError(f"{path} is cut short: it ends before its last row")
            done += n
    array = np.frombuffer(data, layout.dtype) if layout.dtype.itemsize else np.zeros(0, layout.dtype)
    return array.reshape(layout.shape, order="F" if layout.by_columns else "C")


@contextmanager
def _faults_of(path: Path, kind: str) -> Iterator[None]:
    """Every error of a damaged file as one sentence; errors of the caller's own pass."""
    try:
        with naming(path):
            yield
    except UserError:
        raise
    except MemoryError as error:
        raise MemoryError(f"{path} does not fit: {error}" if str(error) else f"{path} does not fit") from None
    except OSError as error:
        if error.errno not in (None, errno.EINVAL):  # seeking to where a damaged archive points
            raise
        raise UserError(f"{path} cannot be read as {kind}: {_reason(error)}") from None
    except _FAULTS as error:
        raise UserError(f"{path} cannot be read as {kind}: {_reason(error)}") from None


def _reason(error: BaseException) -> str:
    text = str(error).strip().splitlines()
    return f"it is damaged ({text[0].rstrip('.')[:200]})" if text else f"it is damaged ({type(error).__name__})"


def _physical_memory() -> float:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not on every system
        return math.inf


def _some(names: list[str]) -> str:
    shown = ", ".join(repr(name)[:60] for name in names[:6])
    return f"{shown} and {len(names) - 6} more" if len(names) > 6 else shown or "none"
