"""Dask arrays as input: work is done block by block when its result is asked for, wherever the blocks are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def is_dask(X: Any) -> bool:
    """Without importing Dask, which need not be installed."""
    return type(X).__module__.startswith("dask.array")


def over_blocks(X: Any, function: Callable[[np.ndarray], np.ndarray], n_columns: int | None, dtype: type) -> Any:
    """A dask array of what `function` makes of each block of rows: `n_columns` of them, or None for a vector."""
    rows = X.rechunk(dict.fromkeys(range(1, X.ndim), -1))
    meta = np.empty((0,) if n_columns is None else (0, n_columns), dtype)
    settings: dict[str, Any] = {"dtype": np.dtype(dtype), "meta": meta}
    if n_columns is None:
        return rows.map_blocks(function, drop_axis=list(range(1, X.ndim)), **settings)
    chunks = (rows.chunks[0], (n_columns,))
    return rows.map_blocks(function, chunks=chunks, drop_axis=list(range(2, X.ndim)), **settings)
