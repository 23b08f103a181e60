"""A trained run applied to other rows: to those that Python has, and to files of any size, a block at a time.

Blocks are those in which `transform` would go through the whole array, so that results are the same bits.
"""

from __future__ import annotations

import logging
import os
import time
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import numpy as np
from jaxtyping import Float, Int, Shaped
from numpy.typing import ArrayLike

from disentree.datasets.files.arrays import ARRAYS
from disentree.datasets.files.formats import suffix_of
from disentree.datasets.files.images import is_image_folder
from disentree.datasets.files.table_files import TABLES, tables_at
from disentree.errors import FarOut, UserError
from disentree.hierarchy import Hierarchy
from disentree.rows import concatenated
from disentree.runs.files.reading import Block, read_blocks
from disentree.runs.files.writing import (
    STRANGE,
    Assigned,
    open_writer,
    out_files,
)
from disentree.runs.models import load_model
from disentree.runs.report.findings import read_findings
from disentree.runs.run import Run
from disentree.runs.stages import check_stages
from disentree.utils.files import check_is_file
from disentree.utils.jobs import made_in
from disentree.utils.pools import open_pool

log = logging.getLogger(__name__)

IN, OUT = (*ARRAYS, *TABLES), (".npy", ".csv", ".parquet")
MISSING, FAR_OUT, UNREADABLE = "a value is missing", "too far out to be encoded", "the image cannot be read"


class OpenedRun:
    """A run's tree and model, for rows as they are in the file that the run was made from: with its columns, in
    its units, with empty cells where that file had them."""

    def __init__(self, folder: str | os.PathLike[str], device: str = "auto"):
        run = Run.open(folder)
        check_stages(run, "data", "structure", "model")
        self.folder = run.folder
        self.model: Any = load_model(run.config.model, run.folder, device)
        self.hierarchy: Hierarchy = self.model.hierarchy_

    def predict(self, X: Any) -> Int[np.ndarray, " n"]:
        """The path of every row of a data frame or an array: an index into ``hierarchy.paths``."""
        return self.model.predict_path(X)

    def transform(self, X: Any) -> Float[np.ndarray, "n v"]:
        """Codes of rows, NaN where a variable is not active."""
        return self.model.transform(X)

    def inverse_transform(self, Z: ArrayLike) -> Any:
        """Rows from codes, with empty cells where a column is not active."""
        return self.model.inverse_transform(Z)

    def __repr__(self) -> str:
        n = len(self.hierarchy.paths)
        return f"<OpenedRun {self.folder}: {type(self.model).__name__}, {n} path{'s' * (n != 1)}>"


def open_run(folder: str | os.PathLike[str], device: str = "auto") -> OpenedRun:
    """Open the folder of a run whose model is trained.

    Parameters
    ----------
    folder : str or path
        That was given to ``disentree run --out``.
    device : {"auto", "cpu", "cuda", "mps"}, default="auto"
        Where the model computes.

    Returns
    -------
    OpenedRun
        Its tree as ``hierarchy``, and ``predict``, ``transform`` and ``inverse_transform`` for data frames or
        arrays as the run's file has them.

    Examples
    --------
    >>> import tempfile
    >>> from disentree.runs import RunConfig, finish_run, start_run
    >>> folder = tempfile.mkdtemp()
    >>> finish_run(start_run(RunConfig.of("iris"), folder), until="model")
    >>> from disentree.datasets import load_dataset
    >>> iris = load_dataset("iris").X
    >>> run = open_run(folder)
    >>> list(run.inverse_transform(run.transform(iris))) == list(iris)
    True
    """
    return OpenedRun(folder, device)


@dataclass(frozen=True)
class Applied:
    """What `apply_run` has done."""

    n_rows: int
    seconds: float
    files: tuple[Path, ...]  # what was written
    without_path: dict[str, int]  # by reason: how many rows could not be put on a path
    strange: int  # rows that are stranger than 999 of 1,000 that the tree was found in


def apply_run(
    run: Run,
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    keep: Sequence[str] = (),
    engine: str = "local",
    address: str | None = None,
    device: str = "auto",
    escape: bool = True,
) -> Applied:
    """Write codes and paths of every row of a file, a block at a time.

    Parameters
    ----------
    run : Run
        A run with a trained model.
    source : str or path
        Rows of the kind that the run was made from, in any format that `load_file` reads, or tables in a folder or
        by a pattern such as "parts/*.parquet", one below the other in the order of their names.
    out : str or path
        A .npy file gets the codes, and one beside it that ends in .paths.npy the paths. A .csv or .parquet table
        gets for each row the columns to keep (of a folder, the name of the file), its path, the name of its leaf,
        the probability of the path (given that the row is of one of the leaves), how strange the row is (the bits
        that it takes more than those that the tree was found in), the error of its reconstruction (root of the
        mean square, in the units of the features: standard deviations, or full brightness) and a column for each
        variable. Leaves and variables
        have their names of the report. Rows that cannot be put on a path get the path -1 and no codes.
    keep : sequence of str, default=()
        Columns of a table that are copied to the table that is written, such as identifiers.
    engine : {"local", "dask"}, default="local"
        In this process with one thread, or in the processes of a Dask cluster, which are sent blocks of rows.
    address : str, default=None
        Of a Dask scheduler; without it one is started on this machine, with a process for every core.
    device : str, default="auto"
        Where the model computes: "auto", "cpu", "cuda" or "mps".
    escape : bool, default=True
        Whether text in a .csv that a spreadsheet would take for a formula, such as ``=1+1``, gets an apostrophe
        before it. Numbers are never changed.

    Returns
    -------
    Applied
        How many rows there were, how long it took and which files were written.
    """
    source, out = Path(source), Path(out)
    tables = tables_at(source)
    if suffix_of(source) not in IN and not source.is_dir() and not tables:
        raise UserError(f"{source} must end in {', '.join(IN)} or be a folder of images or of tables")
    if out.suffix.lower() not in OUT:
        raise UserError(f"{out} must end in {', '.join(OUT[:-1])} or {OUT[-1]}")
    if not source.exists() and not tables:
        raise UserError(f"there is no file {source}")
    if source.exists() and not source.is_dir():
        check_is_file(source)
    for path in out_files(out):
        if path.exists() and any(map(path.samefile, tables or [source])):
            raise UserError(f"{path} is the file that is read: choose another name for --out")
    if keep and (not (tables or suffix_of(source) in TABLES) or out.suffix.lower() == ".npy"):
        raise UserError("--keep copies columns from a table to a table, a .csv or .parquet")
    check_stages(run, "data", "model")
    began = time.perf_counter()
    jobs = 0 if engine == "local" else os.cpu_count() or 1
    with _one_thread(), warnings.catch_warnings(), ExitStack() as stack:
        warnings.simplefilter("ignore", FarOut)  # such rows are counted
        own = device if address is None else "cpu"  # a cluster elsewhere has devices of its own
        here = partial(_assigned, model := _model_of(run, own))
        pool = stack.enter_context(open_pool(engine, jobs, address))
        assigned = here if engine == "local" else partial(assigned_to, run.folder.resolve(), device, uuid4())
        made = partial(made_in, pool, assigned)
        n_rows, reasons = _apply(run, source, out, keep, escape, model.hierarchy_, made)
    strange = reasons.pop(STRANGE, 0)
    return Applied(n_rows, time.perf_counter() - began, out_files(out), dict(reasons), strange)


def drift_run(run: Run, source: str | os.PathLike[str], level: float = 0.05, device: str = "auto") -> Any:
    """What changed in the rows of a file, as `MIMOSA.drift` tells it of those that the run's tree was found in.

    Parameters
    ----------
    run : Run
        A run whose model is trained.
    source : str or path
        New rows: a file as for `apply_run`.
    level : float, default=0.05
        How often anything may be told to have changed where nothing did.
    device : {"auto", "cpu", "cuda", "mps"}, default="auto"
        Where the model computes.

    Returns
    -------
    Drift
    """
    check_stages(run, "data", "model")
    model, source = _model_of(run, device), Path(source)
    if not hasattr(getattr(model, "mimosa_", None), "drift"):
        raise UserError(f"{run.folder} has no tree that MIMOSA found: drift is told of its leaves")
    parts = [model.preprocessor_.to_searched(block.rows) for block in read_blocks(source, run.about_data, ())]
    if not parts:
        raise UserError(f"{source} has no rows")
    return model.mimosa_.drift(concatenated(parts), level=level)


@contextmanager
def _one_thread() -> Iterator[None]:
    """On busy cores, threads of small networks take ten times as long."""
    from threadpoolctl import threadpool_limits

    from disentree.training.session import torch_threads

    with threadpool_limits(1), torch_threads(1):
        yield


# ------------------------------------------------------------------ one block after the other


def _apply(
    run: Run,
    source: Path,
    out: Path,
    keep: Sequence[str],
    escape: bool,
    hierarchy: Hierarchy,
    made: Callable[[Iterator[tuple[Block, Path]]], Iterator[Assigned]],
) -> tuple[int, Counter[str]]:
    """This process reads blocks and writes what is made of them, in the same order, wherever that is."""
    n_rows, reasons, kept = 0, Counter[str](), deque[Any]()

    def calls() -> Iterator[tuple[Block, Path]]:
        for block in read_blocks(source, run.about_data, keep):
            kept.append(block.kept)
            yield block._replace(kept=()), source

    with ExitStack() as stack:
        kept_names = ("file",) if is_image_folder(source) else tuple(keep)
        write = open_writer(stack, out, *_names(run, hierarchy), kept_names, escape=escape)
        for found in made(calls()):
            write(found, kept.popleft())
            n_rows += len(found.paths)
            reasons += found.reasons
            log.debug("%s rows done", f"{n_rows:,}")
    return n_rows, reasons


_models: dict[tuple[Any, ...], Any] = {}  # of this process, for the file that it works on


def assigned_to(folder: Path, device: str, work: UUID, block: Block, source: Path) -> Assigned:
    """What a model makes of a block of rows; of a process elsewhere, which opens the run once for a file."""
    if (folder, device, work) not in _models:
        _models.clear()
        _models[folder, device, work] = _model_of(Run.open(folder), device)
    with _one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", FarOut)  # such rows are counted
        return _assigned(_models[folder, device, work], block, source)


def _names(run: Run, hierarchy: Hierarchy) -> tuple[list[str], list[str]]:
    """Names of variables and of leaves, as the report shows them."""
    findings = read_findings(run, hierarchy)
    plain = [variable.name for variable in hierarchy.variables]
    shown = [findings.variable_name(name) for name in plain]
    twice = {name for name, n in Counter(shown).items() if n > 1}  # a user may have edited names.json
    # With a prefix, so that nobody takes a code for the column that it is called by.
    variables = [
        f"code: {name} ({own})" if name in twice else f"code: {name}"
        for name, own in zip(shown, plain, strict=True)
    ]
    return variables, [findings.path_name(path) for path in range(len(hierarchy.paths))]


def _model_of(run: Run, device: str) -> Any:
    """The run's model, for rows as they are in its file."""
    return load_model(run.config.model, run.folder, device)


def _assigned(model: Any, block: Block, source: Path) -> Assigned:
    """Rows with their codes and paths; -1 and no codes for those that cannot be encoded, which are counted."""
    hierarchy, in_features, unreadable = model.hierarchy_, model.in_features(), block.unreadable
    try:
        X = model.preprocessor_.to_features(block.rows)
    except (ValueError, TypeError) as error:
        raise UserError(f"{source} does not have the run's columns: {error}") from None
    codes = np.full((len(X), hierarchy.n_variables), np.nan)
    paths = np.full(len(X), -1)
    probability, strange, error = np.full((3, len(X)), np.nan)
    usable, reasons = np.ones(len(X), dtype=bool), Counter[str]()
    if X.dtype.kind == "f":
        usable = np.isfinite(X.reshape(len(X), -1)).all(axis=1)
        reasons[MISSING] = int((~usable).sum())
    if unreadable is not None:
        usable &= ~unreadable
        reasons[UNREADABLE] = int(unreadable.sum())
    if usable.any():
        some, own = (X, block.rows) if usable.all() else (X[usable], block.rows[usable])
        if getattr(model, "mimosa_", None) is None:  # there is no MIMOSA that assigns rows to paths
            proba = in_features.predict_proba(some) if hasattr(model, "predict_proba") else None
            found = in_features.transform(some)
        else:
            proba, searched = model.predict_proba(own), model.preprocessor_.to_searched(own)
            found = in_features.transform(some, paths=model.mimosa_.predict(searched))
            if hasattr(model.mimosa_, "outlier_score"):
                strange[usable] = model.mimosa_.outlier_score(searched)
                reasons[STRANGE] = int((strange[usable] > model.mimosa_.strange_from_).sum())
        encoded = (np.isfinite(found) | ~hierarchy.active(found)).all(axis=1)
        rows = np.flatnonzero(usable)[encoded]
        codes[rows], paths[rows] = found[encoded], hierarchy.path_of(found[encoded])
        reasons[FAR_OUT] = int((~encoded).sum())
        if proba is not None:
            probability[rows] = proba[encoded, paths[rows]]
        if len(rows):
            error[rows] = _errors(X[rows], in_features.inverse_transform(codes[rows]))
    return Assigned(codes, paths, probability, strange, error, +reasons)


def _errors(X: Shaped[np.ndarray, "n ..."], again: Shaped[np.ndarray, "n ..."]) -> Float[np.ndarray, " n"]:
    """Root of the mean square of the differences in each row."""
    unit = 255.0 if X.dtype == np.uint8 else 1.0
    off = (X.astype(np.float64) - again).reshape(len(X), -1) / unit
    with np.errstate(over="ignore"):
        return np.sqrt(np.square(off).mean(axis=1))
