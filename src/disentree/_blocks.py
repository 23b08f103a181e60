"""Files of rows, read and written a block at a time: arrays by plain file operations and not through a memory
map, whose pages would count as memory for as long as the system likes to keep them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Shaped

from disentree._files import atomic_path
from disentree.autoencoders.data import rows_per_block
from disentree.datasets.user_files import csv_style, need
from disentree.errors import UserError

CODE_DTYPE = np.dtype("<f8")
HEADER = 128  # bytes before the numbers of a .npy that is written here


# ------------------------------------------------------------------ reading


def read_blocks(source: Path, about: dict[str, Any]) -> Iterator[Shaped[np.ndarray, "n ..."]]:
    """Rows as the run's model knows them: the same columns, standardised as they were for training."""
    names, step = list(about["feature_names"]), rows_per_block(tuple(about["shape"]))
    suffix = source.suffix.lower()
    if suffix == ".npy":
        with source.open("rb") as file:
            yield from _array_blocks(file, source, about, step)
        return
    if suffix == ".npz":
        with _open_npz(source) as file:
            yield from _array_blocks(file, source, about, step)
        return
    blocks = _parquet_blocks(source, names, step) if suffix == ".parquet" else _csv_blocks(source, names, step)
    for block in blocks:
        _check_shape(block.shape, about, source)
        yield _standardised(block, about)


def _standardised(block: Shaped[np.ndarray, "n ..."], about: dict[str, Any]) -> Shaped[np.ndarray, "n ..."]:
    if about["scale"] is None:
        return block
    return (block - np.array(about["centre"])) / np.array(about["scale"])


def npy_header(file: Any, path: Path) -> tuple[tuple[int, ...], np.dtype, int]:
    """Shape, type and where the numbers begin."""
    try:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read(file)
    except ValueError as error:
        raise UserError(f"{path} cannot be read: {error}") from None
    if dtype.kind not in "biuf":
        raise UserError(f"{path} must hold real numbers, got {'text' if dtype.kind in 'SU' else dtype}")
    if fortran:
        raise UserError(f"{path} is stored by columns and must be by rows: np.save(file, np.ascontiguousarray(X))")
    return shape, dtype, file.tell()


def open_rows(file: Any, path: Path, about: dict[str, Any]) -> tuple[int, np.dtype]:
    """How many rows an array has and their type; the file then stands at the first of them. An error if they are
    not of the kind that the run was made from."""
    if about["kind"] == "table":
        names = ", ".join(about["feature_names"][:3])
        raise UserError(f"the run was made from a table with columns {names} ...: give a table")
    shape, dtype, _ = npy_header(file, path)
    _check_shape(shape, about, path)
    return shape[0], dtype


def read_rows(
    file: Any, path: Path, about: dict[str, Any], dtype: np.dtype, n: int, skip: int = 0
) -> Shaped[np.ndarray, "n ..."]:
    """The next `n` rows of an array after `skip` others, as the run's model knows them."""
    row = dtype.itemsize * int(np.prod(about["shape"]))
    if skip:
        file.seek(skip * row, os.SEEK_CUR)
    data = file.read(n * row)
    if len(data) < n * row:
        raise UserError(f"{path} ends before its last row")
    return _standardised(np.frombuffer(data, dtype).reshape(n, *about["shape"]), about)


def _check_shape(got: tuple[int, ...], about: dict[str, Any], path: Path) -> None:
    asked = tuple(about["shape"])
    if got[1:] != asked:
        raise UserError(f"{path} has rows of shape {got[1:]}; the run was made from rows of shape {asked}")


def _array_blocks(file: Any, path: Path, about: dict[str, Any], step: int) -> Iterator[np.ndarray]:
    n_rows, dtype = open_rows(file, path, about)
    for start in range(0, n_rows, step):
        yield read_rows(file, path, about, dtype, min(step, n_rows - start))


@contextmanager
def _open_npz(path: Path) -> Iterator[Any]:
    import zipfile

    try:
        with zipfile.ZipFile(path) as archive:
            names = [n for n in archive.namelist() if n.endswith(".npy")]
            name = "X.npy" if "X.npy" in names else names[0] if len(names) == 1 else None
            if name is None:
                raise UserError(f"{path} must have an array 'X', or only one array")
            with archive.open(name) as file:
                yield file
    except zipfile.BadZipFile as error:
        raise UserError(f"{path} cannot be read: {error}") from None


def _csv_blocks(path: Path, names: list[str], step: int) -> Iterator[np.ndarray]:
    pd = need("pandas", path)
    try:
        style = csv_style(path)
        _check_columns(path, names, list(pd.read_csv(path, nrows=0, **style).columns))
        with pd.read_csv(path, usecols=names or None, chunksize=step, **style) as reader:
            for frame in reader:
                yield _numbers(frame[names] if names else frame, path)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise UserError(f"{path} cannot be read: {error}") from None


def _parquet_blocks(path: Path, names: list[str], step: int) -> Iterator[np.ndarray]:
    try:
        from pyarrow import ArrowInvalid, parquet
    except ImportError:
        raise UserError("parquet files need pyarrow: pip install 'disentree[files]'") from None
    try:
        with parquet.ParquetFile(path) as file:
            _check_columns(path, names, file.schema_arrow.names)
            for batch in file.iter_batches(batch_size=step, columns=names or None):
                frame = batch.to_pandas()
                yield _numbers(frame[names] if names else frame, path)
    except ArrowInvalid as error:
        raise UserError(f"{path} cannot be read: {error}") from None


def _check_columns(path: Path, names: list[str], columns: list[str]) -> None:
    missing = [name for name in names if name not in columns]
    if missing:
        raise UserError(f"{path} has no column {missing[0]!r}, which the run was made from")


def _numbers(frame: Any, path: Path) -> Float[np.ndarray, "n p"]:
    try:
        return np.ascontiguousarray(frame.to_numpy(dtype=np.float64))
    except (ValueError, TypeError) as error:
        raise UserError(f"{path} must hold numbers in the run's columns: {error}") from None


# ------------------------------------------------------------------ writing

Write = Callable[[np.ndarray, np.ndarray], None]


def open_writer(stack: ExitStack, out: Path, hierarchy: Any) -> Write:
    names = [variable.name for variable in hierarchy.variables]
    temporary = [stack.enter_context(atomic_path(path)) for path in out_files(out)]
    if out.suffix.lower() == ".npy":
        return _npy_writer(stack, temporary, len(names))
    return (_csv_writer if out.suffix.lower() == ".csv" else _parquet_writer)(stack, temporary[0], names)


def out_files(out: Path) -> tuple[Path, ...]:
    """What is written: of a .npy the codes, and the paths to a second one."""
    return (out, out.with_name(f"{out.stem}.paths.npy")) if out.suffix.lower() == ".npy" else (out,)


def _npy_writer(stack: ExitStack, temporary: list[Path], n_variables: int) -> Write:
    """The number of rows is known at the end; the header has room for it."""
    files = [path.open("wb") for path in temporary]
    n_rows = 0

    def finish(error: Any, *more: Any) -> None:
        if error is None:
            for file, (shape, dtype) in zip(files, npy_layouts(n_rows, n_variables), strict=True):
                file.seek(0)
                file.write(npy_start(shape, dtype))
        for file in files:
            file.close()

    stack.push(finish)
    for file, (shape, dtype) in zip(files, npy_layouts(0, n_variables), strict=True):
        file.write(npy_start(shape, dtype))

    def write(codes: np.ndarray, paths: np.ndarray) -> None:
        nonlocal n_rows
        files[0].write(np.ascontiguousarray(codes, CODE_DTYPE).data)
        files[1].write(np.ascontiguousarray(paths, "<i8").data)
        n_rows += len(codes)

    return write


def npy_layouts(n_rows: int, n_variables: int) -> list[tuple[tuple[int, ...], np.dtype]]:
    return [((n_rows, n_variables), CODE_DTYPE), ((n_rows,), np.dtype("<i8"))]


def npy_start(shape: tuple[int, ...], dtype: np.dtype) -> bytes:
    """A header of the same size whatever the number of rows."""
    text = f"{{'descr': '{dtype.str}', 'fortran_order': False, 'shape': {shape}, }}"
    length = HEADER - 10  # without the magic string, the version and the length itself
    return b"\x93NUMPY\x01\x00" + length.to_bytes(2, "little") + text.ljust(length - 1).encode("ascii") + b"\n"


def create_npy(path: Path, shape: tuple[int, ...], dtype: np.dtype) -> None:
    """A file of zeros, for `write_rows` to fill."""
    with path.open("wb") as file:
        file.write(npy_start(shape, dtype))
        file.truncate(HEADER + dtype.itemsize * int(np.prod(shape)))


def write_rows(path: Path, start: int, values: Shaped[np.ndarray, "n ..."]) -> None:
    with path.open("r+b") as file:
        file.seek(HEADER + start * values.itemsize * int(np.prod(values.shape[1:])))
        file.write(np.ascontiguousarray(values).data)


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
