"""What the rows on each leaf are like, written down while the data is at hand: reports are made without it.

``leaves.json`` has the columns of a table in each leaf (`profiles.py`), ``map.npz`` where the rows lie in two
dimensions (`row_map.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
from jaxtyping import Float

from disentree.datasets import UserData
from disentree.errors import UserError
from disentree.hierarchy import Hierarchy
from disentree.mimosa.saving.folder import table_from_json
from disentree.runs.report.columns import table_of
from disentree.runs.report.moves import variable_moves
from disentree.runs.report.profiles import leaf_profiles
from disentree.runs.report.row_map import RowMap, make_map
from disentree.runs.run import Run
from disentree.runs.steps.structure import TABLE
from disentree.tables import Codec

LEAVES, MAP = "leaves.json", "map.npz"


def describe_rows(run: Run, rows: dict[str, np.ndarray], model: Any, codes: Float[np.ndarray, "n v"]) -> None:
    """Write the files of this module, or remove those of an earlier model that do not apply.

    Parameters
    ----------
    run : Run
        The run.
    rows : dict of str to array
        What ``labels.npz`` holds.
    model : COFHAE or baseline
        The model. If its tree is not that of the labels (flat models have their own), nothing is known of the
        leaves of most rows.
    codes : array of shape (n, v)
        Of the held-out rows.
    """
    hierarchy: Hierarchy = model.hierarchy_
    for name in (LEAVES, MAP):
        (run.folder / name).unlink(missing_ok=True)
    if hierarchy != run.hierarchy:
        return
    data, train, cells = run.data, rows["train"], None
    if data.kind == "table" and data.schema is not None:
        codec = table_from_json(run.read_json(TABLE)).codec if (run.folder / TABLE).is_file() else data.codec
        columns, cells = table_of(data, codec)
        numbers = train if data.rows is None else data.rows[train]
        found = leaf_profiles(columns, cells[train], data.X[train], rows["labels"], numbers, hierarchy)
        found["variables"] = variable_moves(columns, cells[train], codes, hierarchy, _decoder(model, data, codec))
        run.write_json(LEAVES, found)
    paths = np.full(len(data), -1)
    paths[train], paths[rows["test"]] = rows["labels"], rows["test_labels"]
    found = make_map(data.X, paths, cells, run.config.seed)
    run.write_npz(MAP, **{field.name: getattr(found, field.name) for field in fields(RowMap)})


def _decoder(
    model: Any, data: UserData, codec: Codec | None
) -> Callable[[Float[np.ndarray, "k v"]], Float[np.ndarray, "k c"]]:
    """From codes to cells as `table_of` has them."""

    def decode(codes: Float[np.ndarray, "k v"]) -> Float[np.ndarray, "k c"]:
        features = np.asarray(model.inverse_transform(codes), np.float64)
        if codec is None:
            if data.scale is None or data.center is None:
                return features
            return features * data.scale + data.center
        cells = codec.cells(features)
        return np.concatenate([cells.numbers, cells.categories], axis=1)

    return decode


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
