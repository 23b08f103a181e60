"""A map of a run's rows for the explorer: where each lies in two dimensions, its leaf and its cells.

Written to ``map.npz`` when the model is scored. The two directions are principal components: distances on the map
are distances in the data, as far as two dimensions can show them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from jaxtyping import Float, Int, Num

from disentree.runs.data import MAP_STREAM
from disentree.runs.files.schemas import MAP
from disentree.runs.run import Run

MOST_ROWS = 2500
MAP_CELLS = 150_000  # rows times columns; fewer rows are shown of a wide table


@dataclass(frozen=True)
class RowMap:
    """Rows in two dimensions."""

    positions: Float[np.ndarray, "m 2"]
    explained: Float[np.ndarray, " 2"]  # the share of the rows' variance along each direction
    rows: Int[np.ndarray, " m"]  # their numbers in the data
    paths: Int[np.ndarray, " m"]  # -1 for none
    cells: Float[np.ndarray, "m c"]  # of a table, NaN where empty; no columns for other data
    n_rows: int  # in all; those shown are a random part of them


def make_map(
    X: Num[np.ndarray, "n ..."],
    paths: Int[np.ndarray, " n"],
    cells: Float[np.ndarray, "n c"] | None = None,
    seed: int = 0,
) -> RowMap:
    """Rows, as the model has them, in the plane in which they differ most: all, or a random part that a page can
    carry. `cells` are the columns of a table."""
    n, width = len(X), 0 if cells is None else cells.shape[1]
    most = max(100, min(MOST_ROWS, MAP_CELLS // max(1, width)))
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=MAP_STREAM))
    rows = np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))
    flat = X[rows].reshape(len(rows), -1).astype(np.float64)
    flat -= flat.mean(axis=0)
    total = float(np.square(flat).sum())
    positions = np.zeros((len(rows), 2))
    explained = np.zeros(2)
    if total > 0:
        from sklearn.utils.extmath import randomized_svd

        k = min(2, *flat.shape)
        u, s, _ = randomized_svd(flat, k, random_state=seed % 2**32)
        positions[:, :k] = u * s
        explained[:k] = s**2 / total
    kept = np.zeros((len(rows), 0)) if cells is None else cells[rows]
    return RowMap(positions, explained, rows, paths[rows], kept, n)


def read_map(run: Run, n_paths: int) -> RowMap | None:
    """The map of a run's rows, whose tree has so many paths; None for flat models."""
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
        raise run.damaged(MAP, "it is not a map of rows")
    if arrays["paths"].min() < -1 or arrays["paths"].max() >= n_paths:
        raise run.damaged(MAP, "it is of another tree")
    return RowMap(**{**arrays, "n_rows": int(arrays["n_rows"])})
