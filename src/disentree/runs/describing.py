"""What the rows on each leaf are like, written down while the data is at hand: reports are made without it.

``leaves.json`` has the columns of a table in each leaf (`profiles.py`), ``map.npz`` where the rows lie in two
dimensions (`row_map.py`).
"""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from disentree.errors import UserError
from disentree.hierarchy import Hierarchy
from disentree.mimosa.saving import table_from_json
from disentree.runs.columns import table_of
from disentree.runs.folder import Run
from disentree.runs.profiles import leaf_profiles
from disentree.runs.row_map import RowMap, make_map
from disentree.runs.structure import TABLE

LEAVES, MAP = "leaves.json", "map.npz"


def describe_rows(run: Run, rows: dict[str, np.ndarray], hierarchy: Hierarchy) -> None:
    """Write the files of this module, or remove those of an earlier model that do not apply.

    Parameters
    ----------
    run : Run
        The run.
    rows : dict of str to array
        What ``labels.npz`` holds.
    hierarchy : Hierarchy
        The model's. If it is not the tree of the labels (flat models have their own), nothing is known of the
        leaves of most rows.
    """
    for name in (LEAVES, MAP):
        (run.folder / name).unlink(missing_ok=True)
    if hierarchy != run.hierarchy:
        return
    data, train, cells = run.data, rows["train"], None
    if data.kind == "table" and data.schema is not None:
        codec = table_from_json(run.read_json(TABLE)).codec if (run.folder / TABLE).is_file() else None
        columns, cells = table_of(data, codec)
        numbers = train if data.rows is None else data.rows[train]
        found = leaf_profiles(columns, cells[train], data.X[train], rows["labels"], numbers, hierarchy)
        run.write_json(LEAVES, found)
    paths = np.full(len(data), -1)
    paths[train], paths[rows["test"]] = rows["labels"], rows["test_labels"]
    found = make_map(data.X, paths, cells, run.config.seed)
    run.write_npz(MAP, **{field.name: getattr(found, field.name) for field in fields(RowMap)})


def read_map(run: Run, n_paths: int) -> RowMap | None:
    """The map of a run's rows.

    Parameters
    ----------
    run : Run
        The run.
    n_paths : int
        Paths of its tree.

    Returns
    -------
    RowMap or None
        None for runs of older versions and of flat models.
    """
    if not (run.folder / MAP).is_file():
        return None
    arrays = run.read_npz(MAP, *(field.name for field in fields(RowMap)))
    m = len(arrays["rows"])
    shapes = {"positions": (m, 2), "explained": (2,), "rows": (m,), "paths": (m,), "n_rows": ()}
    good = all(arrays[name].shape == shape for name, shape in shapes.items())
    good = good and arrays["cells"].ndim == 2 and len(arrays["cells"]) == m
    good = good and all(arrays[name].dtype.kind == "f" for name in ("positions", "explained", "cells"))
    good = good and all(arrays[name].dtype.kind in "iu" for name in ("rows", "paths", "n_rows"))
    if not good or not np.isfinite(arrays["positions"]).all() or not m:
        raise UserError(f"{run.folder / MAP} is damaged: it is not a map of rows: {run.advice}")
    if arrays["paths"].min() < -1 or arrays["paths"].max() >= n_paths:
        raise UserError(f"{run.folder / MAP} is damaged: it is of another tree: {run.advice}")
    return RowMap(**{**arrays, "n_rows": int(arrays["n_rows"])})
