"""Matrices of cells, or of whatever else AnnData holds in a .h5ad: a row for each, read some rows at a time."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from disentree.errors import UserError
from disentree.utils.extras import needing

CELLS = (".h5ad",)
STEP = 2**24  # numbers that are read at once, when sparse rows have become dense


def shape_of(path: Path) -> tuple[list[str], list[int]]:
    """The names of the columns, and how many rows each part has."""
    with _opened(path) as adata:
        names = [str(name) for name in adata.var_names]
        n, step = adata.shape[0], _rows_of(len(names))
    return names, [min(step, n - start) for start in range(0, n, step)]


def cell_frames(path: Path, part: int | None, step: int | None) -> Iterator[Any]:
    """The rows of a part, or of all, as data frames of `step` rows, or all in one."""
    import pandas

    with _opened(path) as adata:
        n, own = adata.shape[0], _rows_of(adata.shape[1])
        first, last = (0, n) if part is None else (part * own, min(n, (part + 1) * own))
        for start in range(first, last, step or max(n, 1)):
            rows = adata.X[start : min(last, start + (step or n))]
            rows = rows.toarray() if sparse.issparse(rows) else np.asarray(rows)
            yield pandas.DataFrame(rows, columns=pandas.Index([str(name) for name in adata.var_names]))


def _rows_of(n_columns: int) -> int:
    return max(1, STEP // max(n_columns, 1))


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    with needing(str(path)), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # anndata's own, of what it will change
        import anndata

        adata = anndata.read_h5ad(path, backed="r")
    try:
        if "X" not in adata.file:
            raise UserError(f"{path} has no X: annotate(adata, use_rep=...) takes one of obsm")
        yield adata
    finally:
        adata.file.close()
