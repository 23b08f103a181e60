"""Rows in the containers of other libraries, and what a database has answered, as pandas and numpy have them."""

from __future__ import annotations

import os
import sqlite3
from typing import Any

import numpy as np


def as_pandas(X: Any) -> Any:
    """A polars data frame, an SQLite cursor, a DuckDB relation or query, or records of numpy as a data frame of
    pandas, and one with sparse columns with dense ones; masked cells of arrays as NaN, and durations as days. All
    else as it is.

    Categories stay categories, with their order if they are an ``Enum``; pyarrow is not needed.

    Examples
    --------
    >>> import sqlite3
    >>> as_pandas(sqlite3.connect(":memory:").execute("SELECT 1 AS a, 'x' AS b"))
       a  b
    0  1  x
    """
    if isinstance(X, str | os.PathLike):
        raise ValueError(
            f"X is a path ({os.fspath(X)!r}), not rows: give disentree.datasets.load_file(path).frame, which "
            "reads it as `disentree run` does, or a data frame of your own"
        )
    if isinstance(X, sqlite3.Connection):
        raise ValueError("X is a database, not rows: give X.execute('SELECT ... FROM ...')")
    if isinstance(X, sqlite3.Cursor):
        import pandas as pd

        if X.description is None:
            raise ValueError("X is a cursor without a result: execute a SELECT first")
        return pd.DataFrame(X.fetchall(), columns=pd.Index([column[0] for column in X.description]))
    if type(X).__module__.partition(".")[0] in ("duckdb", "_duckdb") and hasattr(X, "df"):
        return X.df()
    if isinstance(X, np.ndarray):
        return _plain_array(X)
    if hasattr(X, "iloc") and hasattr(X, "dtypes"):
        return _dense(X)
    if type(X).__module__.partition(".")[0] != "polars":
        return X
    if type(X).__name__ == "LazyFrame":
        raise ValueError("X is a lazy frame of polars, which has no rows yet: give X.collect()")
    if not hasattr(X, "get_columns"):  # a series
        return X
    import pandas as pd

    return pd.DataFrame({column.name: _as_series(column) for column in X.get_columns()}, copy=False)


def _plain_array(X: np.ndarray) -> Any:
    import pandas as pd

    if X.dtype.names:
        return pd.DataFrame({name: np.ma.filled(X[name]) for name in X.dtype.names})
    if isinstance(X, np.ma.MaskedArray):
        if not np.ma.is_masked(X):
            return X.data
        return np.where(np.ma.getmaskarray(X), np.nan, X.data.astype(np.float64))
    return X / np.timedelta64(1, "D") if X.dtype.kind == "m" else X  # days; NaT is NaN


def _dense(X: Any) -> Any:
    """A frame of pandas without sparse columns; those of Dask have no rows yet."""
    import pandas as pd

    if not isinstance(X, pd.DataFrame):
        if type(X).__module__.startswith("dask"):
            raise ValueError("X is a data frame of Dask, whose rows are not in memory: give X.compute()")
        return X
    sparse = [j for j, kind in enumerate(X.dtypes) if isinstance(kind, pd.SparseDtype)]
    if not sparse:
        return X
    columns = [X.iloc[:, j].sparse.to_dense() if j in sparse else X.iloc[:, j] for j in range(X.shape[1])]
    return pd.concat(columns, axis=1)


def _as_series(column: Any) -> Any:
    import pandas as pd

    kind = type(column.dtype).__name__
    if kind == "Enum":
        return pd.Series(pd.Categorical(column.to_list(), column.dtype.categories.to_list(), ordered=True))
    if kind == "Categorical":
        return pd.Series(pd.Categorical(column.to_list()))
    if kind == "Decimal":
        return pd.Series([float("nan") if value is None else float(value) for value in column])
    if column.dtype.is_numeric():
        return pd.Series(column.to_numpy())  # NaN where there is no value
    if kind in ("Date", "Datetime"):
        return pd.to_datetime(pd.Series(column.to_list(), dtype=object))
    is_full = kind == "Boolean" and not column.null_count()
    return pd.Series(column.to_list(), dtype=bool if is_full else object)
