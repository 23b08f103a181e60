"""The rows of a run: read or made again from its settings, split into training and held-out rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from jaxtyping import Int

from disentree.datasets import UserData, load_dataset, load_file
from disentree.datasets.base import split_rows as split
from disentree.datasets.files.tables import table_data
from disentree.datasets.files.user_files import digest_of
from disentree.errors import UserError
from disentree.runs.config import RunConfig

# Keys of numpy's seed sequences; each use of a run's seed has its own stream.
SUBSET_STREAM, MAP_STREAM = (3,), (4,)  # (2,): the split


def load_data(config: RunConfig) -> UserData:
    """The rows that a run works on: the same settings give the same rows, with ground truth where it is known."""
    if config.kind == "dataset":
        ds = load_dataset(config.source, config.n_samples, config.seed, **config.options)
        policy = (f"{len(ds):,} samples of {ds.name}, seed {ds.seed}",)
        if hasattr(ds.X, "columns"):
            data = table_data(Path(ds.name), ds.X, list(policy))
        else:
            data = UserData(ds.name, "images" if ds.X.ndim > 2 else "series", ds.X, policy)
        labels = None if ds.codes is not None or ds.paths is None else np.array(ds.path_names, str)[ds.paths]
        return replace(data, codes=ds.codes, hierarchy=ds.hierarchy, labels=labels)
    if not Path(config.source).exists():
        raise UserError(f"{config.source} is not there any more, and the run needs it to go on")
    if digest_of(config.source) != config.digest:
        raise UserError(f"{config.source} has changed since the run began: --force starts over")
    data = load_file(config.source, **config.options)
    if config.n_samples is not None and config.n_samples < len(data):
        rng = np.random.default_rng(np.random.SeedSequence(config.seed, spawn_key=SUBSET_STREAM))
        data = data.take(np.sort(rng.choice(len(data), config.n_samples, replace=False)))
    return data


def split_rows(config: RunConfig, n_rows: int) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " m"]]:
    """Rows to train on and rows held out, each in order."""
    return split(n_rows, config.seed, config.held_out)
