"""Checking what a user hands in, before any long work starts."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Shaped
from sklearn.utils.validation import validate_data


def as_observations(estimator: Any, X: Any, fitting: bool = True) -> Shaped[np.ndarray, "n ..."]:
    """Observations as an array of numbers with a row for each: (n, p), or (n, h, w[, c]) for images.

    Errors name the argument, what it was and what it may be. Remembers the shape of a row on fitting and
    insists on it afterwards.
    """
    array: Any = X if isinstance(X, np.ndarray) else None
    if array is None or array.ndim <= 2:
        # scikit-learn's own checks: data frames, lists, sparse matrices, strings, names and number of features
        validate: Any = validate_data  # its annotations know only the default of X
        array = validate(
            estimator,
            X,
            reset=fitting,
            dtype="numeric",
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
    if np.issubdtype(array.dtype, np.floating):
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
