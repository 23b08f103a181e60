"""Rows as a transformer of the user's gives them, before anything is searched in them."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.sparse import issparse
from sklearn.base import clone

from disentree.rows import Blocks
from disentree.rows.dask_parts import is_dask


class Transformed:
    """An estimator whose `representation` may be a transformer: all else is done with what that gives."""

    representation: Any
    transformer_: Any = None  # the one that was fitted

    @property
    def _has_transformer(self) -> bool:
        return all(hasattr(self.representation, name) for name in ("fit", "transform"))

    def _first(self, X: Any, **of_columns: Any) -> Any:
        """Rows to fit to: as they are, or as the transformer gives them when it is fitted; `of_columns` is what
        `fit` was told of the columns of X."""
        self.transformer_ = None  # an earlier fit may have left one
        if not self._has_transformer:
            return X
        if isinstance(X, Blocks) or is_dask(X):
            raise ValueError("a transformer as representation takes rows in memory: no path, and nothing of Dask")
        if isinstance(self.representation, type):
            name = self.representation.__name__
            raise ValueError(f"representation must be a transformer, not its class: {name}(), not {name}")
        if told := [name for name, value in of_columns.items() if value is not None]:
            instead = "of those that the transformer gives, in which leaves are looked for"
            raise ValueError(f"{told[0]} is of the columns of X, and not {instead}: leave it out")
        fresh: Any = clone(self.representation)
        self.transformer_ = fresh.fit(X)
        return self._transformed(X)

    def _transformed(self, X: Any) -> Float[np.ndarray, "n q"]:
        out = self.transformer_.transform(X)
        if issparse(out):
            raise ValueError(
                "the transformer gives a sparse matrix: let it give an array, or end it with TruncatedSVD"
            )
        out = np.asarray(out)
        if out.ndim != 2 or out.dtype.kind not in "biuf" or not np.isfinite(out).all():
            what = f"{out.dtype} of shape {out.shape}{' with NaN' if out.dtype.kind == 'f' else ''}"
            raise ValueError(f"the transformer must give a row of finite numbers for each row, it gave {what}")
        return out.astype(np.float64)

    def _check(self, X: Any, fitting: bool = True) -> Any:
        known: Any = super()
        return known._check(X if fitting or not self._has_transformer else self._transformed(X), fitting)


def told_apart_by(X: Any) -> Any:
    """Rows whose columns reasons may compare: those of numbers, before the transformer; nothing of other rows."""
    values = np.asarray(X)
    return values if values.dtype.kind in "biuf" else np.zeros(0)
