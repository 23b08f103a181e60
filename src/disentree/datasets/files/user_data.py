"""A user's observations as the algorithms get them, and the steps that tables and arrays share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float, Int, Num

from disentree.datasets.files.wording import columns_in_words
from disentree.errors import UserError
from disentree.hierarchy import Hierarchy
from disentree.tables import Codec, Schema

LARGEST = 1e307  # differences of larger values are not finite
LARGEST_RAW, SMALLEST_RAW = 1e15, 1e-15  # of values that are not standardized: networks compute in float32
RESOLUTION = 1e-8  # of a column: its middle half may not be a smaller part of the distance to its farthest value


@dataclass(frozen=True, eq=False)
class UserData:
    """A user's observations as the algorithms get them.

    Attributes
    ----------
    name : str
        Name of the file or folder.
    kind : {"table", "series", "images"}
        Columns with names, vectors, or images.
    X : array of shape (n, ...)
        The observations.
    policy : tuple of str
        One sentence for everything that was changed or left out.
    feature_names : tuple of str
        Names of the columns of a table.
    rows : array of shape (n,), optional
        Which rows of the file are in `X`; None for all.
    columns : array of shape (d,), optional
        Which columns of an array are in `X`; None for all.
    n_columns : int, optional
        How many columns the array has.
    center, scale : array of shape (d,), optional
        What was subtracted from each column, and what it was then divided by; None if it was not standardized.
    codes : array of shape (n, v), optional
        True codes, if the file has them.
    hierarchy : Hierarchy, optional
        The tree of these codes.
    frame : DataFrame, optional
        The columns of a table that are in use, in their own units and with their empty cells.
    schema : Schema, optional
        What the columns of a table are, those that were left out included. `X` are the features that
        `codec` makes of `frame`, or the standardized columns if all of them are numbers without gaps.
    everything : Blocks, optional
        All rows of a file, of which `X` and `frame` are a sample; None if they are all.
    labels : array of shape (n,) of str, optional
        The known class of each row, which is no part of `X`; "" if it is not known.
    """

    name: str
    kind: Literal["table", "series", "images"]
    X: Num[np.ndarray, "n ..."]
    policy: tuple[str, ...]
    feature_names: tuple[str, ...] = ()
    rows: Int[np.ndarray, " n"] | None = None
    center: Float[np.ndarray, " d"] | None = None
    scale: Float[np.ndarray, " d"] | None = None
    codes: Float[np.ndarray, "n v"] | None = None
    hierarchy: Hierarchy | None = None
    frame: Any = None
    schema: Schema | None = None
    codec: Codec | None = None
    labels: Any = None
    columns: Int[np.ndarray, " d"] | None = None
    n_columns: int | None = None
    everything: Any = None

    @property
    def has_truth(self) -> bool:
        """Whether true codes are known."""
        return self.codes is not None and self.hierarchy is not None

    @property
    def searched(self) -> Num[np.ndarray, "n ..."]:
        """The rows that a tree is looked for in: vectors in their own units, anything else as `X`.

        Standardized, columns that are equal in some rows (a = b) have different zeros and units. `X` is taken if
        squares of the values, or of their differences, are not numbers that float64 can tell apart.
        """
        if self.center is None or self.scale is None:
            return self.X
        own = self.X * self.scale + self.center if self.frame is None else self.frame.to_numpy(dtype=np.float64)
        largest, extent = np.abs(own).max(axis=0), np.ptp(own, axis=0)
        tame = (largest >= SMALLEST_RAW) & (largest <= LARGEST_RAW) & (extent > RESOLUTION * largest)
        return own if tame.all() else self.X

    def __len__(self) -> int:
        return len(self.X)

    def take(self, rows: Int[np.ndarray, " m"]) -> UserData:
        """Some of the rows, with everything else as it is.

        Parameters
        ----------
        rows : array of shape (m,)
            Indices of rows of `X`.

        Returns
        -------
        UserData
        """
        kept = self.rows[rows] if self.rows is not None else rows
        codes = None if self.codes is None else self.codes[rows]
        frame = None if self.frame is None else self.frame.iloc[rows].reset_index(drop=True)
        labels = None if self.labels is None else self.labels[rows]
        return replace(self, X=self.X[rows], rows=kept, codes=codes, frame=frame, labels=labels)


def without_missing(
    values: Float[np.ndarray, "n d"], names: list[str], max_missing: float, policy: list[str], path: Path
) -> tuple[Float[np.ndarray, "m k"], Int[np.ndarray, " k"], Int[np.ndarray, " m"]]:
    """Leave out columns and rows with missing values, and columns with a single value: the values that are left,
    their columns and their rows in the file."""
    missing = ~np.isfinite(values)
    share = missing.mean(axis=0)
    sparse = share > max_missing
    if sparse.all():
        raise UserError(f"{path} misses more than {max_missing:.0%} of the values in every numeric column")
    if sparse.any():
        gone = [names[j] for j in np.flatnonzero(sparse)]
        policy.append(f"left out {columns_in_words(gone)}: more than {max_missing:.0%} of the values missing")
    kept = np.flatnonzero(~sparse)
    complete = ~missing[:, kept].any(axis=1)
    if not complete.any():
        raise UserError(f"{path} has no row without a missing value")
    if not complete.all():
        policy.append(f"left out {int((~complete).sum()):,} of {len(values):,} rows: a value missing")
    values = values[np.ix_(complete, kept)]
    constant = is_constant(values)
    if constant.all():
        raise UserError(f"{path} has no column with more than one value")
    if constant.any():
        policy.append(
            f"left out {columns_in_words([names[j] for j in kept[constant]])}: the same value in every row"
        )
    return values[:, ~constant], kept[~constant], np.flatnonzero(complete)


def is_constant(values: Float[np.ndarray, "n d"]) -> Bool[np.ndarray, " d"]:
    """Columns whose values differ by rounding only."""
    largest = np.abs(values).max(axis=0)
    return values.max(axis=0) / 2 - values.min(axis=0) / 2 <= 4 * np.finfo(np.float64).eps * largest


def make_vectors(
    path: Path,
    kind: Literal["table", "series"],
    X: Float[np.ndarray, "n d"],
    names: list[str],
    rows: Int[np.ndarray, " n"],
    scaled: bool,
    policy: list[str],
) -> UserData:
    """Vectors as `UserData`, standardized if they are to be; an error if a column has values that no calculation
    can tell apart."""
    _check_range(X, names, scaled, path)
    center = scale = None
    what = f"{X.shape[1]} column{'s' * (X.shape[1] != 1)}"
    if scaled:
        center, scale = center_and_scale(X)
        X = (X - center) / scale
        policy.append(f"{what} standardized: mean 0, standard deviation 1")
    else:
        policy.append(f"{what} taken as they are")
    given = tuple(names) if kind == "table" else ()
    return UserData(path.stem, kind, X, tuple(policy), given, rows, center, scale)


def center_and_scale(X: Float[np.ndarray, "n d"]) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, " d"]]:
    """Mean and standard deviation of each column, whatever its magnitude.

    Squares of 1e200 and 1e-200 are not numbers that float64 has, and a sum of values near 1e15 loses their
    differences, so both are computed from differences to the first row in units of the largest.
    """
    off = X - X[0]
    unit = np.abs(off).max(axis=0)
    unit[unit == 0] = 1.0
    relative = off / unit
    return X[0] + unit * relative.mean(axis=0), unit * relative.std(axis=0)


def _check_range(X: Float[np.ndarray, "n d"], names: list[str], scaled: bool, path: Path) -> None:
    for j, name in enumerate(names):
        low, high = float(X[:, j].min()), float(X[:, j].max())
        advice = f"leave it out with --drop {name}, or change its unit" if " " not in name else "change its unit"
        if high / 4 - low / 4 > LARGEST / 4:
            raise UserError(f"{path}: column {name!r} has values from {low:.3g} to {high:.3g}: {advice}")
        if not scaled and not SMALLEST_RAW <= max(abs(low), abs(high)) <= LARGEST_RAW:
            raise UserError(
                f"{path}: column {name!r} has values from {low:.3g} to {high:.3g}, which must be standardized"
            )
        first, middle, third = np.quantile(X[:, j], (0.25, 0.5, 0.75))
        farthest = max(high - middle, middle - low)
        if 0 < third - first < RESOLUTION * farthest:
            outlier = high if high - middle > middle - low else low
            raise UserError(
                f"{path}: column {name!r} has values as far out as {outlier:.3g}, beside which half of its values "
                f"do not differ ({first:.3g} to {third:.3g}): correct them, or leave the column out"
            )
