"""A trained model without the units of its user: what its networks take and give, and how a table gets there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Num

from disentree.tables import Codec


def without_units(model: Any) -> Any:
    """The same model for features: a data frame with columns of any kind, or the standardized columns of a run,
    are features for its networks.

    Parameters
    ----------
    model : COFHAE or baseline
        A fitted model, which is not changed.

    Returns
    -------
    COFHAE or baseline
    """
    return model.in_features()


def codec_of_model(model: Any) -> Codec | None:
    """The way from a data frame to the features of a model; None if it takes numbers without a gap.

    Parameters
    ----------
    model : COFHAE or baseline
        A fitted model.

    Returns
    -------
    Codec or None
    """
    return model.preprocessor_.mixed


@dataclass(frozen=True)
class Features:
    """Rows of a user as a model's networks take them.

    Attributes
    ----------
    X : array of shape (n, ...)
        The features.
    cells : array of shape (n, c) or None
        The cells of a table in their own units, in the order of the page's columns; the places of levels for
        categories, NaN where a cell is empty. None for other data.
    """

    X: Num[np.ndarray, "n ..."]
    cells: Float[np.ndarray, "n c"] | None

    @classmethod
    def of(cls, model: Any, X: Any, is_table: bool) -> Features:
        """The features of some rows.

        Parameters
        ----------
        model : COFHAE or baseline
            A fitted model.
        X : array or DataFrame
            Rows of the same kind as in `fit`.
        is_table : bool
            Whether columns have names.

        Returns
        -------
        Features
        """
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
