"""The columns of wide sparse rows that tell leaves apart, as a data frame for reasons and names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse

from disentree.geometry.neighbors import thinned
from disentree.mimosa.constants import FIT
from disentree.mimosa.explain.constants import EXPLAIN


def telling_frame(
    X: Any, labels: Int[np.ndarray, " n"], names: Sequence[str] | None
) -> tuple[Any, Int[np.ndarray, " m"]]:
    """Some rows of a sparse matrix as a data frame of the columns that tell their leaves, and which rows these
    are. Without names columns are x1, x2, ..."""
    import pandas as pd

    rows = thinned(np.arange(X.shape[0]), FIT.landmarks)
    some = sparse.csr_matrix(X[rows])
    columns = telling_columns(some, labels[rows])
    known = [f"x{j + 1}" for j in columns] if names is None else [names[j] for j in columns]
    return pd.DataFrame(some[:, columns].toarray().astype(np.float64), columns=pd.Index(known)), rows


def telling_columns(X: Any, labels: Int[np.ndarray, " n"]) -> Int[np.ndarray, " k"]:
    """Columns whose mean on some leaf is most deviations away from that of the other rows: those of each leaf in
    turn, as many as are told of a table, in the order of the table."""
    order = np.argsort(-_contrasts(X, labels), axis=1, kind="stable")
    chosen = list(dict.fromkeys(order.T.ravel().tolist()))[: EXPLAIN.many]
    return np.sort(np.array(chosen, dtype=np.int64))


def _contrasts(X: Any, labels: Int[np.ndarray, " n"]) -> Float[np.ndarray, "k p"]:
    """How many deviations the mean of each column on each leaf is away from that of the other rows."""
    known = np.flatnonzero(labels >= 0)
    X, where = sparse.csr_matrix(X[known], dtype=np.float64), np.unique(labels[known], return_inverse=True)[1]
    k = int(where.max(initial=0)) + 1
    on = sparse.csr_matrix((np.ones(len(where)), (where, np.arange(len(where)))), shape=(k, len(where)))
    n = np.bincount(where, minlength=k)[:, None]
    sums, squares = (np.asarray((on @ part).toarray()) for part in (X, X.multiply(X)))
    others = np.maximum(n.sum() - n, 1)
    means, beside = sums / np.maximum(n, 1), (sums.sum(axis=0) - sums) / others
    within = np.maximum((squares - sums**2 / np.maximum(n, 1)).sum(axis=0) / n.sum(), 0.0)
    least = 1 / n.sum()  # a column that hardly varies tells little
    return np.abs(means - beside) / np.sqrt(within + least * np.maximum(squares.sum(axis=0) / n.sum(), least))
