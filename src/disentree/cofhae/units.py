"""The units of a run's data: what a model was given, and what its user has."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from disentree.mimosa.inputs import is_frame
from disentree.tables import Cells, Codec
from disentree.tables.frames import as_pandas
from disentree.tables.kinds import as_numbers


@dataclass(frozen=True)
class Units:
    """How rows were prepared before a model was fitted to them, so that it takes rows as they are.

    Attributes
    ----------
    names : list of str
        The columns of a table; empty for an array.
    columns : list of int or None
        Which columns of an array were used; None for all.
    n_columns : int or None
        How many columns the array had.
    center, scale : list of float or None
        What was subtracted from each column, and what it was divided by; None if it was taken as it is.
    codec : dict or None
        The types of a table's columns, as JSON.
    """

    names: list[str]
    columns: list[int] | None = None
    n_columns: int | None = None
    center: list[float] | None = None
    scale: list[float] | None = None
    codec: dict[str, Any] | None = None

    def to_model(self, X: Any) -> Any:
        """Rows as the model knows them."""
        if (codec := self._of_any_kind) is not None:
            return codec.features(codec.read(X))
        X = as_pandas(X)
        if self.names and not is_frame(X):
            some = ", ".join(self.names[:3])
            raise ValueError(f"this model was fitted on a table with columns {some} ...: give a data frame")
        if self.names:
            own = {str(name): name for name in X.columns}
            if missing := [name for name in self.names if name not in own]:
                raise ValueError(f"there is no column {missing[0]!r}, which the model was fitted on")
            X = np.stack([as_numbers(X[own[name]]) for name in self.names], axis=1)
        if self.columns is not None:
            X = np.asarray(X)
            if X.ndim != 2 or X.shape[1] != self.n_columns:
                raise ValueError(f"X must have {self.n_columns} columns, as when the model was fitted")
            X = X[:, self.columns]
        if self.center is None or self.scale is None:
            return X
        return (np.asarray(X, np.float64) - np.array(self.center)) / np.array(self.scale)

    def to_user(self, X: Any) -> Any:
        """What the model gives, in the user's units: a data frame if it was a table."""
        if (codec := self._of_any_kind) is not None:
            return codec.frame(codec.cells(np.asarray(X, np.float64)))
        if self.center is not None and self.scale is not None:
            X = X * np.array(self.scale) + np.array(self.center)
        if self.codec is None:
            return X
        codec = Codec.from_dict(self.codec)
        order = [self.names.index(column.name) for column in codec.schema.numeric]
        return codec.frame(Cells(np.asarray(X, np.float64)[:, order], np.zeros((len(X), 0), np.int64)))

    @property
    def _of_any_kind(self) -> Codec | None:
        """The types of a table's columns, if they are not all numbers without gaps."""
        codec = None if self.codec is None else Codec.from_dict(self.codec)
        return None if codec is None or codec.schema.is_plain else codec

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)
