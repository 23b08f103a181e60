"""The rows of a run: read or made again from its settings, split into training and held-out rows."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int

from disentree.datasets import UserData, load_dataset, load_file
from disentree.datasets.base import split_rows as split
from disentree.datasets.files.arrays import array_data
from disentree.datasets.files.cells import CELLS
from disentree.datasets.files.formats import suffix_of
from disentree.datasets.files.table_files import TEXT, tables_at
from disentree.datasets.files.tables import split_names, table_data, with_numbers
from disentree.datasets.files.user_files import MAX_MISSING, digest_of
from disentree.errors import UserError
from disentree.rows import Blocks
from disentree.rows.engines import Engine, Local
from disentree.rows.files import open_files
from disentree.runs.config import RunConfig

MOST = 200_000  # rows of a file that a run works with, in memory: of more they are a sample
SAMPLE_CELLS = 2 * MOST * 100  # of the same, if there are many columns

# Keys of numpy's seed sequences; each use of a run's seed has its own stream.
SUBSET_STREAM, MAP_STREAM = (3,), (4,)  # (2,): the split


def load_data(config: RunConfig, engine: Engine | None = None) -> UserData:
    """The rows that a run works on: the same settings give the same rows, with ground truth where it is known. Of
    a file with many rows they are a sample, and passes over all are made on the engine."""
    if config.kind == "dataset":
        ds = load_dataset(config.source, config.n_samples, config.seed, **config.options)
        policy = (f"{len(ds):,} samples of {ds.name}, seed {ds.seed}",)
        if hasattr(ds.X, "columns"):
            data = table_data(Path(ds.name), ds.X, list(policy))
        else:
            data = UserData(ds.name, "images" if ds.X.ndim > 2 else "series", ds.X, policy)
        labels = None if ds.codes is not None or ds.paths is None else np.array(ds.path_names, str)[ds.paths]
        return replace(data, codes=ds.codes, hierarchy=ds.hierarchy, labels=labels)
    if not Path(config.source).exists() and not tables_at(config.source):
        raise UserError(f"{config.source} is not there any more, and the run needs it to go on")
    if digest_of(config.source) != config.digest:
        raise UserError(f"{config.source} has changed since the run began: --force starts over")
    data = _sampled(config, engine) or load_file(config.source, **config.options)
    if config.n_samples is not None and config.n_samples < len(data):
        rng = np.random.default_rng(np.random.SeedSequence(config.seed, spawn_key=SUBSET_STREAM))
        data = data.take(np.sort(rng.choice(len(data), config.n_samples, replace=False)))
    return data


def _sampled(config: RunConfig, engine: Engine | None) -> UserData | None:
    """A sample of a file with many rows, and all of them in blocks, or as many as are asked for, in memory; so are
    all rows of several files whose tree is not looked for. None for a single file that is read as a whole."""
    path, options = Path(config.source), config.options
    several, searched = bool(tables_at(path)), config.structure == "mimosa"
    if not several and (not searched or suffix_of(path) not in (*TEXT, *CELLS, ".parquet", ".npy")):
        return None
    if path.is_file() and path.stat().st_size < 2 * MOST:
        return None
    source = open_files(path, None, options.get("table"), options.get("skip_rows", 0))
    blocks = Blocks(source, engine or Local())
    least = min(MOST, SAMPLE_CELLS // max(1, len(blocks.names or ())))
    if (len(blocks) <= least and not several) or not blocks.is_flat:
        return None
    most = config.n_samples or (least if searched else len(blocks))
    rng = np.random.default_rng(np.random.SeedSequence(config.seed, spawn_key=SUBSET_STREAM))
    chosen = np.sort(rng.choice(len(blocks), min(most, len(blocks)), replace=False))
    rows = blocks.take(chosen)
    data = _sample_of(path, rows, source, options)
    policy = list(data.policy)
    kept = data.rows if data.rows is not None else np.arange(len(chosen))
    if config.n_samples is not None or len(blocks) <= most:
        return replace(data, rows=chosen[kept])
    policy.append(
        f"codes, scores and figures are of {len(data):,} rows, a sample of {len(blocks):,}, whose paths are in "
        "paths.npy: `disentree apply` gives the codes of all"
    )
    if data.columns is not None:
        used = blocks.then(partial(_numbers, data.columns))
    else:
        assert data.frame is not None
        used = blocks.then(partial(_columns, source, options.get("types") or {}, list(data.frame.columns)))
    return replace(data, rows=chosen[kept], policy=tuple(policy), everything=used)


def _sample_of(path: Path, rows: Any, source: Any, options: dict[str, Any]) -> UserData:
    """Some rows of a file, prepared as those of a whole one."""
    if isinstance(rows, np.ndarray):
        return array_data(path, rows, MAX_MISSING, options.get("standardize", True))
    table = source.parts[0][0]
    policy, types = list(table.notes), options.get("types") or {}
    drop, log = (split_names(options.get(name) or (), table.columns) for name in ("drop", "log"))
    frame, empty = with_numbers(rows, table, types, policy), options.get("max_missing")
    scaled = options.get("standardize", True)
    return table_data(path, frame, policy, types, drop, log, 1.0 if empty is None else empty, scaled)


def _numbers(columns: Int[np.ndarray, " d"], rows: np.ndarray) -> np.ndarray:
    """The columns of an array that are in use."""
    out = rows[:, columns].astype(np.float64)
    if np.isnan(out).any():
        raise ValueError("values are missing, and the sample has none: save it as a table, a .parquet")
    return out


def _columns(source: Any, types: dict[str, str], names: list[str], frame: Any) -> Any:
    """The columns of a table that are in use."""
    return with_numbers(frame, source.parts[0][0], types, [])[names]


def split_rows(config: RunConfig, n_rows: int) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " m"]]:
    """Rows to train on and rows held out, each in order."""
    return split(n_rows, config.seed, config.held_out)
