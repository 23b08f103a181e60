"""What differs between two leaves, column by column, and rows by leaf in a figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float, Int
from sklearn.utils.validation import check_is_fitted

from disentree.hierarchy import Hierarchy
from disentree.mimosa.explain.columns import Columns, read_columns
from disentree.mimosa.explain.compared.drawing import draw_rows
from disentree.mimosa.explain.formatting import category_text, percent
from disentree.mimosa.explain.names import leaf_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
from disentree.rows import sampled


class Comparing:
    """The part of an estimator that sets leaves side by side."""

    hierarchy_: Hierarchy
    labels_: Int[np.ndarray, " n"]
    embedding_: Float[np.ndarray, "n D"]
    shape_: tuple[int, ...]
    table_: Any
    _rows: Any  # that it was fitted to, None if it was loaded

    @property
    def leaf_names_(self) -> np.ndarray:
        """The name of each leaf: `m.leaf_names_[m.predict(X)]` has names in place of numbers.

        Returns
        -------
        array of str

        Examples
        --------
        >>> from disentree import MIMOSA
        >>> from disentree.datasets import load_dataset
        >>> iris = load_dataset("iris").X
        >>> m = MIMOSA(random_state=0).fit(iris)
        >>> print(m.leaf_names_[m.predict(iris.head(1))][0])
        petal length (cm) ≤ 2
        """
        check_is_fitted(self)
        return np.array([leaf_name(self.hierarchy_, path.index) for path in self.hierarchy_.paths], dtype=object)

    def compare(self, first: int | str, second: int | str, X: Any = None) -> Any:
        """What differs between two leaves, by column, the column that tells them apart best first.

        Parameters
        ----------
        first, second : int or str
            Leaves: indices into `hierarchy_.paths`, or their names.
        X : as for `fit`, default=None
            Rows to compare them by; None takes those that it was fitted to. A model that was loaded has none.

        Returns
        -------
        DataFrame
            A row for each column of the data, by its name: `bits`, what a value tells on average about which of
            the two leaves a row is on (1 is all there is to know); `first` and `second`, the middle value and the
            middle half of numbers, or the most frequent value, of either leaf; and `words`, the difference in a
            sentence.

        Examples
        --------
        >>> from disentree import MIMOSA
        >>> from disentree.datasets import load_dataset
        >>> print(MIMOSA(random_state=0).fit(load_dataset("iris").X).compare(0, 1)["words"].iloc[0])
        higher in the first: 1.6, and 0.2 in the second
        """
        import pandas as pd

        check_is_fitted(self)
        a, b = (self._path_of(leaf) for leaf in (first, second))
        if a == b:
            raise ValueError(f"first and second must be two leaves, got {first!r} and {second!r}")
        columns, labels = self._told_columns(X)
        rows = [np.flatnonzero(labels == leaf) for leaf in (a, b)]
        for leaf, own in zip((first, second), rows, strict=True):
            if not len(own):
                raise ValueError(f"there is no row on {leaf!r}: nothing can be compared")
        told = [_compared(columns, j, *rows) for j in range(len(columns.names))]
        out = pd.DataFrame(told, columns=pd.Index(["bits", "first", "second", "words"]))
        out.index = pd.Index(columns.names, name="column")
        return out.sort_values("bits", ascending=False, kind="stable")

    def plot(self, columns: Sequence[str] | None = None, X: Any = None, *, ax: Any = None) -> Axes:
        """Rows by leaf, in two columns or on a map.

        Parameters
        ----------
        columns : two names, default=None
            Columns of numbers; those of an array are x1, x2, ... None for the map: the two directions in which
            the rows differ most.
        X : as for `fit`, default=None
            Rows to draw; None takes those that it was fitted to. A model that was loaded has only their map.
        ax : matplotlib Axes or None, default=None
            Where to draw; None for a new figure.

        Returns
        -------
        matplotlib Axes

        Examples
        --------
        >>> from disentree import MIMOSA
        >>> from disentree.datasets import load_dataset
        >>> m = MIMOSA(random_state=0).fit(load_dataset("iris").X)
        >>> m.plot(["petal length (cm)", "sepal width (cm)"]).get_xlabel()
        'petal length (cm)'
        """
        check_is_fitted(self)
        names = list(self.leaf_names_)
        if columns is None:
            own: Any = self
            own_rows = self.embedding_, own.sample_labels_
            Z, labels = own_rows if X is None else (own._transform(X), own.predict(X))
            return draw_rows(_two_directions(Z), labels, names, ("direction 1", "direction 2"), ax)
        table, labels = self._told_columns(X)
        if isinstance(columns, str) or len(columns) != 2:
            raise ValueError(f"columns must be two names, got {columns!r}")
        for name in columns:
            if name not in table.number_names:
                known = ", ".join(table.number_names)
                raise ValueError(f"there is no column of numbers {name!r}; there are {known}")
        points = table.numbers[:, [table.number_names.index(name) for name in columns]]
        return draw_rows(points, labels, names, (str(columns[0]), str(columns[1])), ax)

    # ---------------------------------------------------------------- inside

    def _path_of(self, leaf: int | str) -> int:
        """The path of a leaf that is given by its number or name."""
        names = list(self.leaf_names_)
        if isinstance(leaf, str):
            if leaf not in names:
                raise ValueError(f"there is no leaf {leaf!r}; there are {', '.join(map(repr, names))}")
            return names.index(leaf)
        whole = isinstance(leaf, int | np.integer) and not isinstance(leaf, bool)
        if not whole or not 0 <= leaf < len(names):
            raise ValueError(f"a leaf must be a name or a path of 0 to {len(names) - 1}, got {leaf!r}")
        return int(leaf)

    def _told_columns(self, X: Any) -> tuple[Columns, Int[np.ndarray, " n"]]:
        """The columns of rows, and their paths."""
        if len(self.shape_) > 1:
            raise ValueError("leaves are compared in terms of columns, and images have none")
        if X is None and self._rows is None:
            raise ValueError("a model that was loaded has no rows: give X")
        own: Any = self
        labels = own.sample_labels_ if X is None else own.predict(X)
        codec = None if self.table_ is None else self.table_.codec
        rows = sampled(self._rows, own.sample_) if X is None else X
        return read_columns(own._tabular(rows), codec=codec), labels


def _two_directions(Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "n 2"]:
    """Rows in the two directions in which they differ most; zeros where there are fewer."""
    centered = Z - Z.mean(axis=0)
    axes = np.linalg.eigh(centered.T @ centered)[1][:, ::-1][:, :2]
    return np.pad(centered @ axes, ((0, 0), (0, 2 - axes.shape[1])))


def _compared(
    columns: Columns, j: int, first: Int[np.ndarray, " m"], second: Int[np.ndarray, " k"]
) -> tuple[float, str, str, str]:
    """Bits, both leaves and their difference in words, of one column."""
    p = columns.numbers.shape[1]
    if j < p:
        values = columns.numbers[:, j]
        cells = _cells(values, np.isnan(values))
        sides = [_of_numbers(columns, j, values[rows]) for rows in (first, second)]
        middles = [
            np.nanmedian(values[rows]) if (~np.isnan(values[rows])).any() else np.nan for rows in (first, second)
        ]
        words = ""
        if not np.isnan(middles).any() and middles[0] != middles[1]:
            a, b = (columns.show(j, float(middle)) for middle in middles)
            words = f"{'higher' if middles[0] > middles[1] else 'lower'} in the first: {a}, and {b} in the second"
    else:
        cells = columns.categories[:, j - p]
        levels = columns.levels[j - p]
        counts = [np.bincount(cells[rows] + 1, minlength=len(levels) + 1) / len(rows) for rows in (first, second)]
        sides = [_of_categories(levels, share) for share in counts]
        gap = counts[0][1:] - counts[1][1:]
        words = ""
        if len(levels) and np.abs(gap).max() > 0:
            k = int(np.abs(gap).argmax())
            share = [percent(float(own[k + 1])) for own in counts]
            words = f"{category_text(levels[k])}: {share[0]} of the first, {share[1]} of the second"
    empty = [float(columns.empty[rows, j].mean()) for rows in (first, second)]
    if empty[0] != empty[1]:
        gaps = f"empty: {percent(empty[0])} of the first, {percent(empty[1])} of the second"
        words = f"{words}; {gaps}" if words and abs(empty[0] - empty[1]) < 1 else gaps
    return _told_bits(cells, first, second), sides[0], sides[1], words or "no difference"


def _cells(values: Float[np.ndarray, " n"], empty: Bool[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
    """Numbers by tenths of all rows; -1 where empty."""
    out = np.full(len(values), -1)
    if not empty.all():
        limits = np.unique(np.quantile(values[~empty], np.linspace(0, 1, 11)[1:-1]))
        out[~empty] = np.searchsorted(limits, values[~empty], side="left")
    return out


def _told_bits(cells: Int[np.ndarray, " n"], first: Int[np.ndarray, " m"], second: Int[np.ndarray, " k"]) -> float:
    """What a cell tells about which of two leaves, each as likely, a row is on; without what chance would."""
    k = int(cells.max(initial=0)) + 2
    shares = np.stack([np.bincount(cells[rows] + 1, minlength=k) / len(rows) for rows in (first, second)])
    mean = shares.mean(axis=0)
    seen = mean > 0

    def entropy(share: Float[np.ndarray, " c"]) -> float:
        return -float((share[share > 0] * np.log2(share[share > 0])).sum())

    told = entropy(mean) - np.mean([entropy(share) for share in shares])
    chance = (seen.sum() - 1) / (4 * np.log(2)) * (1 / len(first) + 1 / len(second)) / 2
    return float(np.clip(told - chance, 0.0, 1.0))


def _of_numbers(columns: Columns, j: int, values: Float[np.ndarray, " m"]) -> str:
    there = values[~np.isnan(values)]
    if not len(there):
        return "empty"
    low, middle, high = (columns.show(j, float(q)) for q in np.quantile(there, [0.25, 0.5, 0.75]))
    return middle if low == high else f"{middle} ({low} to {high})"


def _of_categories(levels: Sequence[str], share: Float[np.ndarray, " c"]) -> str:
    k = int(share.argmax())
    return "empty" if k == 0 else f"{category_text(levels[k - 1])} ({percent(float(share[k]))})"
