"""What a model says about rows, written a block at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from disentree.utils.extras import needing
from disentree.utils.files import atomic_path

CODE_DTYPE, PATH_DTYPE = np.dtype("<f8"), np.dtype("<i8")


class Assigned(NamedTuple):
    """Rows with the path, the probability of it, how strange they are, the error and the codes that a model gives
    them."""

    codes: Float[np.ndarray, "n v"]
    paths: Int[np.ndarray, " n"]
    probability: Float[np.ndarray, " n"]
    strange: Float[np.ndarray, " n"]
    error: Float[np.ndarray, " n"]
    reasons: Counter[str]  # how many rows have no path, and why; and how many are `STRANGE`


Kept = Sequence[Sequence[str | None]]  # columns of text that are copied
Write = Callable[[Assigned, Kept], None]


def open_writer(
    stack: ExitStack,
    out: Path,
    names: list[str],
    leaf_names: Sequence[str],
    keep: Sequence[str] = (),
    *,
    escape: bool = True,
) -> Write:
    """A function that appends rows to the files for `out`, which appear when `stack` is closed. The names are
    those of variables and of leaves. `escape`: in a .csv, text must not be a formula for a spreadsheet."""
    temporary = [stack.enter_context(atomic_path(path)) for path in out_files(out)]
    if out.suffix.lower() == ".npy":
        return _npy_writer(stack, temporary, len(names))
    leaves = np.array([*leaf_names, None], dtype=object)
    kept = _distinct(keep, names)
    if out.suffix.lower() != ".csv":
        return _parquet_writer(stack, temporary[0], kept, leaves, names)
    return _csv_writer(stack, temporary[0], kept, leaves, names, not_a_formula if escape else str)


def not_a_formula(text: str) -> str:
    """Text with an apostrophe before it if a spreadsheet would compute it.

    Examples
    --------
    >>> not_a_formula("=1+1"), not_a_formula("-1.5e3"), not_a_formula("plain")
    ("'=1+1", '-1.5e3', 'plain')
    """
    if not text.startswith(("=", "+", "-", "@", "\t", "\r")) or len(text) == 1:
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text


def _distinct(keep: Sequence[str], names: Sequence[str]) -> list[str]:
    """Names of columns to keep, changed where a column of results has the same."""
    taken = {*RESULTS, *names}
    return [f"{name} (kept)" if name in taken else name for name in keep]


RESULTS = ("path", "leaf", "probability", "strange", "error")
STRANGE = "strange"


def out_files(out: Path) -> tuple[Path, ...]:
    """The files that are written for `out`: beside the codes in a .npy another one with the paths."""
    return (out, out.with_name(f"{out.stem}.paths.npy")) if out.suffix.lower() == ".npy" else (out,)


def _npy_writer(stack: ExitStack, temporary: list[Path], n_variables: int) -> Write:
    """The number of rows is known at the end; numpy's header leaves room for it."""
    files = [path.open("wb") for path in temporary]
    n_rows = 0

    def write_headers() -> None:
        layouts = ((n_rows, n_variables), CODE_DTYPE), ((n_rows,), PATH_DTYPE)
        for file, (shape, dtype) in zip(files, layouts, strict=True):
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

    def write(found: Assigned, kept: Kept) -> None:
        nonlocal n_rows
        files[0].write(np.ascontiguousarray(found.codes, CODE_DTYPE).data)
        files[1].write(np.ascontiguousarray(found.paths, PATH_DTYPE).data)
        n_rows += len(found.codes)

    return write


def _csv_writer(
    stack: ExitStack,
    temporary: Path,
    keep: list[str],
    leaves: Any,
    names: list[str],
    shown: Callable[[str], str],
) -> Write:
    import csv

    file = stack.enter_context(temporary.open("w", newline="", encoding="utf-8"))
    rows = csv.writer(file)
    rows.writerow([shown(name) for name in (*keep, *RESULTS, *names)])
    leaves = np.array([None if name is None else shown(name) for name in leaves], dtype=object)

    def write(found: Assigned, kept: Kept) -> None:
        numbers = np.column_stack([found.probability, found.strange, found.error, found.codes]).tolist()
        texts = zip(*kept, strict=True) if kept else [()] * len(numbers)
        for text, path, values in zip(texts, found.paths.tolist(), numbers, strict=True):
            cells = ("" if v != v else v for v in values)
            rows.writerow([*("" if t is None else shown(t) for t in text), path, leaves[path] or "", *cells])

    return write


def _parquet_writer(stack: ExitStack, temporary: Path, keep: list[str], leaves: Any, names: list[str]) -> Write:
    with needing("a parquet file"):
        import pyarrow
        from pyarrow import parquet
    text, number = pyarrow.string(), pyarrow.float64()
    kinds = [*((name, text) for name in keep), ("path", pyarrow.int64()), ("leaf", text)]
    schema = pyarrow.schema([*kinds, *((name, number) for name in (*RESULTS[2:], *names))])
    file = stack.enter_context(temporary.open("wb"))  # by Python, which knows names that are no text
    writer = stack.enter_context(parquet.ParquetWriter(file, schema))

    def write(found: Assigned, kept: Kept) -> None:
        columns = [pyarrow.array(list(column), text) for column in kept]
        columns += [pyarrow.array(found.paths), pyarrow.array(leaves[found.paths].tolist(), text)]
        numbers = (found.probability, found.strange, found.error, *found.codes.T)
        columns += [pyarrow.array(values, from_pandas=True) for values in numbers]
        writer.write_table(pyarrow.Table.from_arrays(columns, schema=schema))

    return write
