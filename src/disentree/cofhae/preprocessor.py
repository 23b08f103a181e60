"""Between rows as their user has them and the numbers (features) that a model is fitted to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from disentree.hierarchy import Hierarchy
from disentree.mimosa.inputs import is_frame
from disentree.mimosa.mixed.model import TableModel, table_without_branches
from disentree.mimosa.saving.folder import table_from_json, table_to_json
from disentree.tables import Cells, Codec
from disentree.tables.frames import as_pandas
from disentree.tables.kinds import as_numbers
from disentree.training.data import is_blocks


@dataclass(frozen=True)
class Preprocessor:
    """How rows become features, and features rows again; without arguments they are the same.

    Data frames with columns of other kinds than numbers, or with empty cells, have a `table`, or at least a
    `codec`. Frames of numbers have a `codec` for the types of their columns.
    """

    table: TableModel | None = None  # says which columns exist on which path
    codec: Codec | None = None  # the types of the columns
    names: tuple[str, ...] = ()  # the columns of numbers that are picked from a frame
    columns: tuple[int, ...] | None = None  # those that are picked from an array, None for all
    n_columns: int | None = None  # that the array has
    in_units: bool = True  # whether the tree was looked for in the units of the rows, or in features
    center: tuple[float, ...] | None = None  # subtracted from each column, which is then divided by its scale
    scale: tuple[float, ...] | None = None

    @classmethod
    def of(cls, X: Any) -> Preprocessor:
        """That of rows whose tree is not known, or was not found by MIMOSA."""
        if not is_frame(X):
            return cls()
        codec = Codec.fit(X)
        if not codec.used:
            reasons = "; ".join(f"{c.name}: {c.note}" for c in codec.schema.left_out[:3])
            raise ValueError(f"X has no column that can be used ({reasons})")
        return cls(codec=codec) if codec.schema.is_plain else cls(table=table_without_branches(X, codec))

    @cached_property
    def frame_codec(self) -> Codec | None:
        """The types of the columns of a data frame; None for anything else."""
        return self.codec if self.table is None else self.table.codec

    @cached_property
    def mixed(self) -> Codec | None:
        """The types of columns that are not all numbers without gaps: it makes features of cells. None for those
        that are."""
        codec = self.frame_codec
        return None if codec is None or (codec.schema.is_plain and self.table is None) else codec

    def to_searched(self, X: Any) -> Any:
        """Rows as the MIMOSA that found the tree knows them: with the columns in use, in their own units."""
        if self.mixed is not None or is_blocks(X):
            return X
        if not self.in_units:
            return self.to_features(X)
        return self._picked(X, as_frame=True)

    def to_features(self, X: Any) -> Any:
        """Rows as the model's networks know them."""
        if self.mixed is not None:
            return self.mixed.features(self.mixed.read(X))
        X = self._picked(X)
        if self.center is None or self.scale is None:
            return X
        return (np.asarray(X, np.float64) - np.array(self.center)) / np.array(self.scale)

    def _picked(self, X: Any, as_frame: bool = False) -> Any:
        """The columns in use: those of a frame with names as numbers."""
        X = as_pandas(X)
        if self.names and not is_frame(X):
            some = ", ".join(self.names[:3])
            raise ValueError(f"this model was fitted on a table with columns {some} ...: give a data frame")
        if self.names:
            own = {str(name): name for name in X.columns}
            if missing := [name for name in self.names if name not in own]:
                raise ValueError(f"there is no column {missing[0]!r}, which the model was fitted on")
            numbers = {name: as_numbers(X[own[name]]) for name in self.names}
            X = type(X)(numbers) if as_frame else np.stack(list(numbers.values()), axis=1)
        if self.columns is not None:
            X = np.asarray(X)
            if X.ndim != 2 or X.shape[1] != self.n_columns:
                raise ValueError(f"X must have {self.n_columns} columns, as when the model was fitted")
            X = X[:, list(self.columns)]
        return X

    def from_features(self, features: Float[np.ndarray, "n ..."], hierarchy: Hierarchy, codes: ArrayLike) -> Any:
        """Rows in the units of their user, a data frame if they were one; cells of columns that do not exist on
        the path of a row's code are empty."""
        if self.table is not None:
            return self.table.frame(features.astype(np.float64), hierarchy, hierarchy.path_of(codes))
        if self.mixed is not None:
            return self.mixed.frame(self.mixed.cells(features.astype(np.float64)))
        if self.center is not None and self.scale is not None:
            features = features * np.array(self.scale) + np.array(self.center)
        if self.codec is None:
            return features
        names = self.names or [column.name for column in self.codec.schema.columns]
        numbers = features[:, [names.index(column.name) for column in self.codec.schema.numeric]]
        return self.codec.frame(Cells(numbers.astype(np.float64), np.zeros((len(features), 0), np.int64)))

    def to_dict(self) -> dict[str, Any]:
        """As JSON: what differs from the default."""
        out = {name: getattr(self, name) for name in ("n_columns", "names", "columns", "center", "scale")}
        out["in_units"] = None if self.in_units else False
        out["table"] = None if self.table is None else table_to_json(self.table)
        out["codec"] = None if self.codec is None else self.codec.to_dict()
        return {name: value for name, value in out.items() if value is not None and value != ()}

    @classmethod
    def from_dict(cls, about: dict[str, Any]) -> Preprocessor:
        """What `to_dict` gave, also when it has been JSON."""
        made = {"table": table_from_json, "codec": Codec.from_dict, "n_columns": int, "in_units": bool}
        return cls(**{name: made.get(name, tuple)(value) for name, value in about.items()})
