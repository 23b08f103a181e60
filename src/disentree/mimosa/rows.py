"""The rows that an estimator was fitted to, for as long as it is in memory: they are no part of a saved model."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from disentree.mimosa.inputs import is_frame

_ROWS: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()


def remember_rows(model: Any, X: Any) -> None:
    """Keep rows with columns, as they were given; images have none."""
    _ROWS.pop(model, None)
    if is_frame(X) or len(model.shape_) == 1:
        _ROWS[model] = X


def training_rows(model: Any) -> Any:
    """The rows that a model was fitted to."""
    if len(model.shape_) > 1:
        raise ValueError(
            "reasons are told in terms of columns, and images have none: see the traversals of a COFHAE"
        )
    if model not in _ROWS:
        raise ValueError("a model that was loaded or copied has no rows: give those to explain it by, explain(X)")
    return _ROWS[model]
