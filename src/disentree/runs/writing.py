"""Codes and paths, written a block at a time."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Shaped

from disentree.errors import UserError
from disentree.utils.files import atomic_path, naming

CODE_DTYPE, PATH_DTYPE = np.dtype("<f8"), np.dtype("<i8")

Write = Callable[[np.ndarray, np.ndarray], None]


def open_writer(stack: ExitStack, out: Path, hierarchy: Any) -> Write:
    """A function that appends codes and paths to the files for `out`, which appear when `stack` is closed."""
    names = [variable.name for variable in hierarchy.variables]
    temporary = [stack.enter_context(atomic_path(path)) for path in out_files(out)]
    if out.suffix.lower() == ".npy":
        return _npy_writer(stack, temporary, len(names))
    return (_csv_writer if out.suffix.lower() == ".csv" else _parquet_writer)(stack, temporary[0], names)


def out_files(out: Path) -> tuple[Path, ...]:
    """The files that are written for `out`: beside the codes in a .npy another one with the paths."""
    return (out, out.with_name(f"{out.stem}.paths.npy")) if out.suffix.lower() == ".npy" else (out,)


def _npy_writer(stack: ExitStack, temporary: list[Path], n_variables: int) -> Write:
    """The number of rows is known at the end; numpy's header leaves room for it."""
    files = [path.open("wb") for path in temporary]
    n_rows = 0

    def write_headers() -> None:
        for file, (shape, dtype) in zip(files, npy_layouts(n_rows, n_variables), strict=True):
            file.seek(0)
            header = {"descr": dtype.str, "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(file, header)

    def finish(error: Any, *more: Any) -> None:
        if error is None:
            write_headers()
        for file in files:
            file.close()

    stack.push(finish)
    write_headers()

    def write(codes: np.ndarray, paths: np.ndarray) -> None:
        nonlocal n_rows
        files[0].write(np.ascontiguousarray(codes, CODE_DTYPE).data)
        files[1].write(np.ascontiguousarray(paths, PATH_DTYPE).data)
        n_rows += len(codes)

    return write


def npy_layouts(n_rows: int, n_variables: int) -> list[tuple[tuple[int, ...], np.dtype]]:
    """Shape and type of the arrays of codes and of paths."""
    return [((n_rows, n_variables), CODE_DTYPE), ((n_rows,), PATH_DTYPE)]


def create_npy(path: Path, shape: tuple[int, ...], dtype: np.dtype) -> None:
    """A file of zeros, for `write_rows` to fill.

    Its room is taken at once: writing to a map of a file that finds the disk full would kill the process.
    """
    np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape)
    if not hasattr(os, "posix_fallocate"):
        return
    with naming(path), path.open("r+b") as file:
        os.posix_fallocate(file.fileno(), 0, max(1, path.stat().st_size))


def write_rows(path: Path, start: int, values: Shaped[np.ndarray, "n ..."]) -> None:
    """Write rows to their place in a file that `create_npy` made."""
    # Mapped for these rows only: pages of a map count as memory for as long as it is open.
    np.lib.format.open_memmap(path, mode="r+")[start : start + len(values)] = values


def _csv_writer(stack: ExitStack, temporary: Path, names: list[str]) -> Write:
    import csv

    file = stack.enter_context(temporary.open("w", newline="", encoding="utf-8"))
    rows = csv.writer(file)
    rows.writerow(["path", *names])

    def write(codes: np.ndarray, paths: np.ndarray) -> None:
        for path, values in zip(paths.tolist(), codes.tolist(), strict=True):
            rows.writerow([path, *("" if v != v else v for v in values)])

    return write


def _parquet_writer(stack: ExitStack, temporary: Path, names: list[str]) -> Write:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise UserError("parquet files need pyarrow: pip install 'disentree[files]'") from None
    fields = [("path", pyarrow.int64()), *((name, pyarrow.float64()) for name in names)]
    schema = pyarrow.schema(fields)
    writer = stack.enter_context(parquet.ParquetWriter(str(temporary), schema))

    def write(codes: np.ndarray, paths: np.ndarray) -> None:
        columns = [pyarrow.array(paths), *(pyarrow.array(c, from_pandas=True) for c in codes.T)]
        writer.write_table(pyarrow.Table.from_arrays(columns, schema=schema))

    return write
