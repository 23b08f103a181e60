"""Data frames of other libraries, and what a database has answered, as pandas has them."""

from __future__ import annotations

import os
import sqlite3
from typing import Any


def as_pandas(X: Any) -> Any:
    """A polars data frame, an SQLite cursor, or a DuckDB relation or query as a data frame of pandas; all else as
    it is.

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
    if type(X).__module__.partition(".")[0] != "polars":
        return X
    if type(X).__name__ == "LazyFrame":
        raise ValueError("X is a lazy frame of polars, which has no rows yet: give X.collect()")
    if not hasattr(X, "get_columns"):  # a series
        return X
    import pandas as pd

    return pd.DataFrame({column.name: _as_series(column) for column in X.get_columns()}, copy=False)


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
