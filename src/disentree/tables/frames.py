"""Data frames of other libraries, as pandas has them."""

from __future__ import annotations

from typing import Any


def as_pandas(X: Any) -> Any:
    """A polars data frame as one of pandas; anything else as it is.

    Categories stay categories, with their order if they are an ``Enum``; pyarrow is not needed.
    """
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
