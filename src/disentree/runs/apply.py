"""Paths and codes for more rows than fit in memory: a trained run applied to a file, a block at a time.

Blocks are those in which `transform` would go through the whole array, so that results are the same bits.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int, Shaped

from disentree.errors import UserError
from disentree.runs.folder import Run
from disentree.runs.reading import check_layout, read_blocks, read_rows
from disentree.runs.stages import check_stages
from disentree.runs.writing import create_npy, npy_layouts, open_writer, out_files, write_rows
from disentree.training.data import rows_per_block
from disentree.utils.arrays import open_array
from disentree.utils.files import atomic_path
from disentree.utils.jobs import in_processes

IN, OUT = (".npy", ".npz", ".csv", ".tsv", ".parquet"), (".npy", ".csv", ".parquet")


@dataclass(frozen=True)
class Applied:
    """What `apply_run` has done. Rows without a path miss a value, or are too far out to be encoded."""

    n_rows: int
    n_without_path: int
    seconds: float
    files: tuple[Path, ...]


def apply_run(
    run: Run,
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    engine: str = "local",
    address: str | None = None,
    device: str = "auto",
) -> Applied:
    """Write codes and paths of every row of a file, a block at a time.

    Parameters
    ----------
    run : Run
        A run with a trained model.
    source : str or path
        Rows of the kind that the run was made from: .npy, .npz, .csv, .tsv or .parquet.
    out : str or path
        A .npy file gets the codes, and one beside it that ends in .paths.npy the paths. A .csv or .parquet table
        gets both, a column for each variable. Rows that miss a value get the path -1 and no codes.
    engine : {"local", "dask"}, default="local"
        In this process with one thread, or in the processes of a Dask cluster, which is for .npy to .npy.
    address : str, default=None
        Of a Dask scheduler; without it one is started on this machine, with a process for every core.
    device : str, default="auto"
        Where the model computes: "auto", "cpu", "cuda" or "mps".

    Returns
    -------
    Applied
        How many rows there were, how long it took and which files were written.
    """
    source, out = Path(source), Path(out)
    for path, known in ((source, IN), (out, OUT)):
        if path.suffix.lower() not in known:
            raise UserError(f"{path} must end in {', '.join(known[:-1])} or {known[-1]}")
    if not source.is_file():
        raise UserError(f"there is no file {source}")
    for path in out_files(out):
        if path.exists() and path.samefile(source):
            raise UserError(f"{path} is the file that is read: choose another name for --out")
    if engine not in ("local", "dask"):
        raise UserError(f"--engine must be local or dask, got {engine!r}")
    if address is not None and engine != "dask":
        raise UserError("--address is that of a Dask scheduler and needs --engine dask")
    check_stages(run, "data", "model")
    began = time.perf_counter()
    arrays = source.suffix.lower() == out.suffix.lower() == ".npy"
    if engine == "dask" and not arrays:
        raise UserError("--engine dask is for .npy to .npy; leave it out")
    if engine == "dask":
        counts = _apply_parts(run, source, out, address, device)
    else:
        with _one_thread():
            counts = _apply_in_order(run, source, out, device)
    return Applied(*counts, time.perf_counter() - began, out_files(out))


@contextmanager
def _one_thread() -> Iterator[None]:
    """On busy cores, threads of small networks take ten times as long."""
    from threadpoolctl import threadpool_limits

    from disentree.training.session import torch_threads

    with threadpool_limits(1), torch_threads(1):
        yield


# ------------------------------------------------------------------ one block after the other


def _apply_in_order(run: Run, source: Path, out: Path, device: str) -> tuple[int, int]:
    model = run.model(device)
    about = run.about_data
    n_rows = n_without_path = 0
    with ExitStack() as stack:
        write = open_writer(stack, out, model.hierarchy_)
        for block in read_blocks(source, about):
            codes, paths = _codes_and_paths(model, block)
            write(codes, paths)
            n_rows += len(block)
            n_without_path += int((paths < 0).sum())
    return n_rows, n_without_path


def _codes_and_paths(
    model: Any, block: Shaped[np.ndarray, "n ..."]
) -> tuple[Float[np.ndarray, "n v"], Int[np.ndarray, " n"]]:
    """Codes and paths of rows; -1 and no codes for those that miss a value or are too far out to be encoded."""
    hierarchy = model.hierarchy_
    codes = np.full((len(block), hierarchy.n_variables), np.nan)
    paths = np.full(len(block), -1)
    usable = np.ones(len(block), dtype=bool)
    if block.dtype.kind == "f":
        usable = np.isfinite(block.reshape(len(block), -1)).all(axis=1)
    if usable.any():
        found = model.transform(block if usable.all() else block[usable])
        encoded = (np.isfinite(found) | ~hierarchy.active(found)).all(axis=1)
        rows = np.flatnonzero(usable)[encoded]
        codes[rows], paths[rows] = found[encoded], hierarchy.path_of(found[encoded])
    return codes, paths


# ------------------------------------------------------------------ many blocks at a time


def _apply_parts(run: Run, source: Path, out: Path, address: str | None, device: str) -> tuple[int, int]:
    """Every process reads blocks of its own and writes them where they belong."""
    about = run.about_data
    with open_array(source) as (_, layout):
        n_rows = check_layout(layout, source, about)
    # A missing device is reported before work starts; a cluster elsewhere has its own.
    n_variables = run.model(device if address is None else "cpu").hierarchy_.n_variables
    step = rows_per_block(tuple(about["shape"]))
    with ExitStack() as stack:
        targets = [stack.enter_context(atomic_path(path)) for path in out_files(out)]
        for target, (whole, dtype) in zip(targets, npy_layouts(n_rows, n_variables), strict=True):
            create_npy(target, whole, dtype)
        where = [str(path.resolve()) for path in (run.folder, source, *targets)]
        calls = [(*where, device, start, min(step, n_rows - start)) for start in range(0, n_rows, step)]
        n_without_path = sum(in_processes(apply_part, calls, "dask", os.cpu_count() or 1, address))
    return n_rows, n_without_path


_models: dict[tuple[str, str], Any] = {}  # of this process, by folder and device


def apply_part(folder: str, source: str, codes_to: str, paths_to: str, device: str, start: int, n: int) -> int:
    """Write codes and paths of rows `start` to `start + n` to their place; returns how many have no path."""
    run, path = Run.open(folder), Path(source)
    if (folder, device) not in _models:
        _models[folder, device] = run.model(device)
    about = run.about_data
    with open_array(path) as (file, layout):
        block = read_rows(file, layout, path, about, n, skip=start)
    codes, paths = _codes_and_paths(_models[folder, device], block)
    write_rows(Path(codes_to), start, codes)
    write_rows(Path(paths_to), start, paths)
    return int((paths < 0).sum())
