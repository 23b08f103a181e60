"""A map of a run's rows for the explorer: where each lies in two dimensions, its leaf and its cells.

Written to ``map.npz`` when the model is scored. The two directions are principal components: distances on the map
are distances in the data, as far as two dimensions can show them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int, Num

from disentree.runs.steps.data import MAP_STREAM

MOST_ROWS = 2500
MOST_CELLS = 150_000  # rows times columns; fewer rows are shown of a wide table


@dataclass(frozen=True)
class RowMap:
    """Rows in two dimensions.

    Attributes
    ----------
    positions : array of shape (m, 2)
        Where each row lies.
    explained : array of shape (2,)
        The share of the rows' variance along each direction.
    rows : array of shape (m,)
        Their numbers in the data.
    paths : array of shape (m,)
        Their leaves; -1 for none.
    cells : array of shape (m, c)
        Of a table's columns, NaN where empty; no columns for other data.
    n_rows : int
        How many rows there are; those shown are a random part of them.
    """

    positions: Float[np.ndarray, "m 2"]
    explained: Float[np.ndarray, " 2"]
    rows: Int[np.ndarray, " m"]
    paths: Int[np.ndarray, " m"]
    cells: Float[np.ndarray, "m c"]
    n_rows: int


def make_map(
    X: Num[np.ndarray, "n ..."],
    paths: Int[np.ndarray, " n"],
    cells: Float[np.ndarray, "n c"] | None = None,
    seed: int = 0,
) -> RowMap:
    """Rows in the plane in which they differ most.

    Parameters
    ----------
    X : array of shape (n, ...)
        Rows as the model has them.
    paths : array of shape (n,)
        Their leaves.
    cells : array of shape (n, c), optional
        The columns of a table.
    seed : int, default=0
        Of the choice among many rows.

    Returns
    -------
    RowMap
        Of all rows, or of as many as a page can carry.
    """
    n, width = len(X), 0 if cells is None else cells.shape[1]
    most = max(100, min(MOST_ROWS, MOST_CELLS // max(1, width)))
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
