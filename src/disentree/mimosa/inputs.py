"""Checks of data and parameters, before any long work starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.sparse import issparse
from sklearn.utils.validation import validate_data

from disentree.mimosa.coordinates.constants import COORDINATES
from disentree.mimosa.coordinates.counts import sparse_counts
from disentree.tables import Codec, Schema
from disentree.tables.frames import as_pandas
from disentree.tables.kinds import as_numbers, merges


def is_frame(X: Any) -> bool:
    """Whether these are the columns of a data frame."""
    return hasattr(X, "columns") and hasattr(X, "dtypes") and hasattr(X, "iloc")


def with_gaps(X: Any) -> Any:
    """An array of numbers with NaN as a data frame, whose columns are numbered; anything else as it is."""
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f" and np.isnan(X).any():
        return numbered(X)
    return X


def numbered(X: Any) -> Any:
    """An array as a data frame whose columns are numbered; a data frame as it is."""
    if is_frame(X) or np.ndim(X) != 2:
        return X
    import pandas as pd

    return pd.DataFrame(np.asarray(X))


def numbers_in(rows: Any) -> Float[np.ndarray, "n p"]:
    """A block of an array, or of a data frame of numbers, as an array."""
    return rows if isinstance(rows, np.ndarray) else rows.to_numpy(dtype=np.float64, na_value=np.nan)


def with_columns(names: Sequence[Any], rows: Any) -> Any:
    """A block of rows with some of its columns; those of an array are numbered."""
    return numbered(rows)[list(names)]


def named(X: Float[np.ndarray, "n p"], names: Sequence[Any]) -> Any:
    """An array as a data frame with names of columns."""
    import pandas as pd

    return pd.DataFrame(X, columns=pd.Index(names))


def sparse_rows(X: Any, names: Any) -> tuple[Any, list[str] | None]:
    """A sparse matrix and the names of its columns; as an array, or a data frame if there are names, if it has no
    more columns than coordinates may be. Anything else as it is."""
    if names is not None and (not issparse(X) or len(names) != X.shape[1]):
        shape = f"{'sparse matrix' if issparse(X) else type(X).__name__} of shape {np.shape(X)}"
        raise ValueError(f"feature_names must name each column of a sparse matrix, got {len(names)} for a {shape}")
    known = None if names is None else [str(name) for name in names]
    if not issparse(X) or X.shape[1] > COORDINATES.most:
        return X, known
    return X.toarray() if known is None else named(X.toarray(), known), None


def counted_rows(
    rows: Any, frame: Any, codec: Codec | None, names: list[str] | None
) -> tuple[Any, Any, Codec | None, list[str] | None]:
    """Rows of a wide table of counts, most of them zero, as a sparse matrix and the names of its columns instead
    of a frame and its codec; all others as they are."""
    own = sparse_counts(rows, COORDINATES.most)
    if own is rows:
        return rows, frame, codec, names
    return own, None, None, names if frame is None else [str(name) for name in frame.columns]


def is_numbered(frame: Any) -> bool:
    """Whether the columns of a data frame are 0, 1, 2, ..., as those of an array."""
    return list(frame.columns) == list(range(len(frame.columns)))


def columns_in_use(frame: Any, codec: Codec) -> tuple[Any, Codec]:
    """A frame and its codec without identifiers, constants and the like, if all other columns are numbers without
    gaps: such a table is an array with names. Another one stays whole."""
    used = Schema(tuple(column for column in codec.schema.columns if column.used))
    if not used.is_plain:
        return frame, codec
    names = {column.name for column in used.columns}
    return frame.loc[:, [str(name) in names for name in frame.columns]], replace(codec, schema=used)


def without_columns(frame: Any, codec: Codec, weights: Any) -> tuple[Any, Codec]:
    """A frame and its codec without the columns whose weight is 0."""
    if not isinstance(weights, Mapping) or all(weights.values()):
        return frame, codec
    left = {str(name) for name, weight in weights.items() if not weight}
    schema = Schema(tuple(column for column in codec.schema.columns if column.name not in left))
    frame = frame.loc[:, [str(name) not in left for name in frame.columns]]
    return frame, Codec(schema).measured(frame) if codec.flags else replace(codec, schema=schema)


def weights_in_use(weights: Any, codec: Codec) -> Any:
    """Weights by column without those of columns that a table does not use."""
    if not isinstance(weights, Mapping):
        return weights
    unused = {column.name for column in codec.schema.columns if not column.used}
    return {name: weight for name, weight in weights.items() if str(name) not in unused}


def weights_of(weights: Any, rows: Any, codec: Codec | None) -> Float[np.ndarray, " p"]:
    """The weight of each column of an array, or of each column that a table uses, numbers first."""
    if codec is not None or (is_frame(rows) and isinstance(weights, Mapping)):
        names = [c.name for c in codec.used] if codec is not None else [str(name) for name in rows.columns]
    else:
        names = [f"x{j + 1}" for j in range(rows.shape[1])]
    if isinstance(weights, Mapping):
        unknown = [name for name, weight in weights.items() if weight and str(name) not in names]
        if unknown:
            raise ValueError(f"column_weights: there is no column {unknown[0]!r}; there are {', '.join(names)}")
        weights = [weights.get(name, 1.0) for name in names]
    out = np.asarray(weights, dtype=np.float64)
    if out.shape != (len(names),) or not np.isfinite(out).all() or (out < 0).any() or not out.any():
        raise ValueError(f"column_weights must be {len(names)} numbers, 0 or more and not all 0, got {weights!r}")
    return out


def as_observations(estimator: Any, X: Any, fitting: bool = True) -> Any:
    """Observations as an array of numbers with a row for each: (n, p), or (n, h, w[, c]) for images; wide sparse
    ones as a CSR matrix.

    Errors name the argument, what it was and what it may be. Remembers the shape of a row on fitting and
    insists on it afterwards.
    """
    rows: Any = as_pandas(X)
    takes_sparse = bool(estimator.__sklearn_tags__().input_tags.sparse)
    if issparse(rows) and takes_sparse:
        rows = sparse_rows(rows, None if fitting else getattr(estimator, "feature_names_in_", None))[0]
    X, array = rows, rows if isinstance(rows, np.ndarray) else None
    if is_frame(X):
        X = _without_durations(X)
    if array is None or array.ndim <= 2:
        names = getattr(estimator, "feature_names_in_", None)
        if not fitting and names is not None and is_frame(X) and {*names} < {*X.columns}:
            X = X[list(names)]  # others are not used
        # scikit-learn's own checks: data frames, lists, sparse matrices, strings, names and number of features
        validate: Any = validate_data  # its annotations know only the default of X
        array = validate(
            estimator,
            X,
            reset=fitting,
            dtype="numeric",
            accept_sparse="csr" if takes_sparse else False,
            ensure_all_finite=False,
            ensure_min_samples=2 if fitting else 1,
        )
    elif array.ndim > 4:
        raise ValueError(f"X must be (n, features) or images (n, height, width[, channels]), got {array.shape}")
    elif not len(array) or (fitting and len(array) < 2):
        raise ValueError(f"X must have at least {2 if fitting else 1} rows, got {len(array)}")
    if not np.issubdtype(array.dtype, np.number) and array.dtype != bool:
        raise ValueError(f"X must hold numbers, got {array.dtype}")
    if np.iscomplexobj(array):
        raise ValueError("Complex data not supported: X must hold real numbers")
    if issparse(array):
        if not np.isfinite(array.data).all():
            raise ValueError(
                "X contains NaN or infinity among its stored cells: a sparse matrix has no empty cells"
            )
    elif array.dtype.kind in "iu" and merges(array):
        advice = "subtract one of them first"
        raise ValueError(f"X has whole numbers that floats cannot tell apart, up to {array.max()}: {advice}")
    if np.issubdtype(array.dtype, np.floating) and not issparse(array):
        bad = ~np.isfinite(array.reshape(len(array), -1)).all(axis=1)
        if bad.any():
            row = int(np.argmax(bad))
            what = "NaN" if np.isnan(array[row]).any() else "infinity"
            raise ValueError(
                f"X contains {what}, first in row {row} ({int(bad.sum())} of {len(array)} rows): "
                "drop or impute missing values first"
            )
    shape = array.shape[1:]
    if fitting:
        estimator.shape_ = shape
    elif shape != estimator.shape_:
        raise ValueError(f"X has rows of shape {shape}, but {estimator.shape_} was fitted")
    return array


def _without_durations(frame: Any) -> Any:
    """With days in the place of durations."""
    long = [name for name, kind in frame.dtypes.items() if getattr(kind, "kind", "") == "m"]
    return frame.assign(**{name: as_numbers(frame[name]) for name in long}) if long else frame


def remember_columns(estimator: Any, frame: Any, given: Any) -> Any:
    """The frame, after keeping the shape of a row and, unless it was given as an array, the names of its columns,
    as scikit-learn does."""
    if len(frame) < 2:
        raise ValueError(f"X must have at least 2 rows, got {len(frame)}")
    estimator.shape_ = (frame.shape[1],)
    estimator.n_features_in_ = frame.shape[1]
    estimator.__dict__.pop("feature_names_in_", None)
    if is_frame(given):
        estimator.feature_names_in_ = np.array([str(name) for name in frame.columns], dtype=object)
    return frame


def check_common_settings(estimator: Any) -> None:
    """The parameters that the default and the paper's MIMOSA share."""
    if estimator.random_state is not None:
        check_whole(estimator, "random_state", 0)
    n_jobs = estimator.n_jobs
    if n_jobs is not None and (not _is_whole(n_jobs) or (n_jobs < 1 and n_jobs != -1)):
        raise ValueError(f"n_jobs must be None, -1 or a whole number, 1 or more, got {n_jobs!r}")
    if not isinstance(estimator.verbose, bool | int | np.bool_):
        raise ValueError(f"verbose must be True or False, got {estimator.verbose!r}")


def check_whole(estimator: Any, name: str, least: int) -> None:
    """Raise a ValueError unless a parameter is a whole number of at least `least`."""
    value = getattr(estimator, name)
    if not _is_whole(value) or value < least:
        raise ValueError(f"{name} must be a whole number, {least} or more, got {value!r}")


def check_some(rows: Any) -> Any:
    """The rows, if there are any; else scikit-learn's ValueError."""
    if hasattr(rows, "shape") and not rows.shape[0]:
        raise ValueError(f"Found array with 0 sample(s) (shape={rows.shape}) while a minimum of 1 is required.")
    return rows


def check_leaves(n_leaves: Any) -> None:
    """Raise a ValueError unless it is a number of leaves."""
    if not _is_whole(n_leaves) or n_leaves < 1:
        raise ValueError(f"n_leaves must be a whole number, 1 or more, got {n_leaves!r}")


def is_path(path: Any, count: int) -> bool:
    """Whether it is one of so many paths."""
    return _is_whole(path) and 0 <= path < count


def check_between(estimator: Any, name: str, low: float, high: float = np.inf) -> None:
    """Raise a ValueError unless a parameter is a number from `low` to `high`."""
    value = getattr(estimator, name)
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not is_number or not low <= value <= high:
        limits = f"{low:g} or more" if high == np.inf else f"between {low:g} and {high:g}"
        raise ValueError(f"{name} must be {limits}, got {value!r}")


def check_one_of(estimator: Any, name: str, allowed: Sequence[str]) -> None:
    """Raise a ValueError unless a parameter is one of some strings."""
    value = getattr(estimator, name)
    if not isinstance(value, str) or value not in allowed:
        *others, last = map(repr, allowed)
        raise ValueError(f"{name} must be {', '.join(others)} or {last}, got {value!r}")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
