"""What a model's networks take: the features of a user's rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Num

from disentree.tables import Codec


def codec_of_model(model: Any) -> Codec | None:
    """The way from a data frame to the features of a fitted model; None if it takes numbers without a gap."""
    return model.preprocessor_.mixed


@dataclass(frozen=True)
class Features:
    """Rows of a user as a model's networks take them."""

    X: Num[np.ndarray, "n ..."]
    # Of a table, in its units and in the order of the page's columns: places of levels for categories, NaN if
    # empty.
    cells: Float[np.ndarray, "n c"] | None

    @classmethod
    def of(cls, model: Any, X: Any, is_table: bool) -> Features:
        """The features of rows of the same kind as in `fit`; `is_table` if their columns have names."""
        codec, preprocessor = codec_of_model(model), model.preprocessor_
        if codec is not None:
            cells = codec.read(X)
            categories = np.where(cells.categories < 0, np.nan, cells.categories)
            return cls(codec.features(cells), np.concatenate([cells.numbers, categories], axis=1))
        rows = np.asarray(preprocessor.to_features(X))
        if rows.dtype.kind in "bO":  # columns of a frame that are numbers all the same
            rows = rows.astype(np.float64)
        if not is_table or rows.ndim != 2:
            return cls(rows, None)
        cells = rows.astype(np.float64)
        if preprocessor.scale is not None and preprocessor.center is not None:
            cells = cells * np.array(preprocessor.scale) + np.array(preprocessor.center)
        return cls(rows, cells)
