"""What a fitted tree says about single rows: where they are, how sure that is, and which columns decided it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from disentree.geometry.neighbors import thinned
from disentree.hierarchy import Hierarchy
from disentree.mimosa.constants import FIT
from disentree.mimosa.explain.constants import EXPLAIN
from disentree.mimosa.explain.formatting import category_text, listed, number_text, percent
from disentree.mimosa.explain.names import leaf_name
from disentree.mimosa.explain.telling import telling_columns
from disentree.mimosa.inputs import is_frame, is_numbered, numbered
from disentree.rows import Blocks, concatenated, in_blocks, opened, taken
from disentree.tables import Cells
from disentree.tables.frames import as_pandas


class Placing:
    """The part of an estimator that tells about rows, one by one."""

    hierarchy_: Hierarchy
    table_: Any
    usual_bits_: float  # of a training row
    strange_from_: float
    _maps: Any  # from rows and paths to codes
    _features: Any
    labels_: Int[np.ndarray, " n"]
    names_: list[str] | None
    # Some of the rows that were fitted: numbers, of a table also the codes of categories; not in the first files.
    others_: Float[np.ndarray, "_ _"] | None = None
    telling_: Int[np.ndarray, " _"] | None = None  # columns of sparse rows that tell leaves apart

    @abstractmethod
    def predict(self, X: Any) -> Any:
        """The likeliest path of new rows."""

    @abstractmethod
    def predict_proba(self, X: Any) -> Float[np.ndarray, "n paths"]:
        """The probability of each path for new rows."""

    @abstractmethod
    def _placed(self, X: Any) -> tuple[Float[np.ndarray, "n found"], Float[np.ndarray, " n"]]:
        """The probability of each path of the tree that was found, and the bits that each row takes."""

    @abstractmethod
    def _within_reach(self, X: Any) -> Float[np.ndarray, "n D"]:
        """Rows in coordinates in which densities are numbers."""

    @abstractmethod
    def _nowhere(self, Z: Float[np.ndarray, "n D"]) -> Bool[np.ndarray, " n"]:
        """Which rows fit no leaf."""

    def outlier_score(self, X: Any) -> Float[np.ndarray, " n"]:
        """How strange new rows are: the bits that each takes more than training rows do on average.

        All columns in use count: numbers, by the density of the leaves; categories; what exists and its numbers;
        and whether these contradict each other.

        Parameters
        ----------
        X : as for `fit`

        Returns
        -------
        array of shape (n,)
            Higher is stranger; training rows are around 0, and one in a thousand is above `strange_from_`.

        Examples
        --------
        >>> from disentree import MIMOSA
        >>> from disentree.datasets import load_dataset
        >>> penguins = load_dataset("penguins").X
        >>> m = MIMOSA(random_state=0).fit(penguins)
        >>> bool(m.outlier_score(penguins.head(1).assign(body_mass_g=1e6))[0] > m.strange_from_)
        True
        """
        return in_blocks(X, self._strangeness, FIT.landmarks)

    def _strangeness(self, X: Any) -> Float[np.ndarray, " n"]:
        return self._placed(X)[1] - self.usual_bits_

    def transform(self, X: Any) -> Float[np.ndarray, "n v"]:
        """Codes of rows within the leaves: on the likeliest path of each, by an affine map of its leaf.

        Parameters
        ----------
        X : as for `fit`

        Returns
        -------
        array of shape (n, n_variables)
            Codes for `hierarchy_`, NaN where a variable is not active. Continuous variables have mean 0 and
            deviation 1 over the training rows, but for those that share zero and unit with one on another branch
            (`matches_`). `COFHAE` learns curved maps where those are better.
        """
        return in_blocks(X, self._encoded, FIT.landmarks)

    def _encoded(self, X: Any) -> Float[np.ndarray, "n v"]:
        return self._maps.encode(self._features(X), self.predict(X))

    def place(self, X: Any) -> Any:
        """Where rows are in the tree, beside their index.

        Parameters
        ----------
        X : as for `fit`

        Returns
        -------
        DataFrame
            A row for each of X: `path` (an index into `hierarchy_.paths`), `leaf` (its name), `probability` (of
            the path, given that the row is of one of them), `strange` (whether it is: the bits that the row
            takes more than training rows do on average) and `fits` (False if its numbers fit no leaf: a broad
            density that stands for one stray row describes them better). If a row has a category that the model
            was not fitted on, also `unseen`: which ones, "" for other rows.

        Examples
        --------
        >>> from disentree import MIMOSA
        >>> from disentree.datasets import load_dataset
        >>> penguins = load_dataset("penguins").X
        >>> list(MIMOSA(random_state=0).fit(penguins).place(penguins.tail(2)).columns)
        ['path', 'leaf', 'probability', 'strange', 'fits']
        """
        import pandas as pd

        X = opened(X)
        if isinstance(X, Blocks):
            told = concatenated(list(X.map(self._placed_block)) or [self.place(X.empty)])
            return told.fillna({"unseen": ""}) if "unseen" in told else told
        proba = self.predict_proba(X)
        paths = self.predict(X)
        names = np.array([leaf_name(self.hierarchy_, path.index) for path in self.hierarchy_.paths], dtype=object)
        told = {"path": paths, "leaf": names[paths], "probability": proba[np.arange(len(proba)), paths]}
        told["strange"] = self.outlier_score(X)
        told["fits"] = ~self._nowhere(self._within_reach(X))
        unseen = [] if self.table_ is None or not is_frame(X) else self.table_.codec.unseen(X)
        if any(unseen):
            told["unseen"] = np.array(unseen, dtype=object)
        return pd.DataFrame(told, index=_index_of(X))

    def _placed_block(self, rows: Any, start: int) -> Any:
        return self.place(rows)

    def why(self, X: Any) -> Any:
        """Why rows are on their leaves: the leaf, the runner-up, and the columns that decided between them.

        A column counts as many bits as the leaf is ahead more with it than with the value of another row in its
        place: on average over some rows, and over whether the other columns are those of the row or of the other
        one.

        Parameters
        ----------
        X : as for `fit`, but in memory: no path, and nothing of Dask
            Rows with columns. The other rows are some that were fitted, kept with the model.

        Returns
        -------
        Series of str
            A sentence for each row, beside the index of X.

        Examples
        --------
        >>> from disentree import MIMOSA
        >>> from disentree.datasets import load_dataset
        >>> iris = load_dataset("iris").X
        >>> print(MIMOSA(random_state=0).fit(iris).why(iris.head(1)).iloc[0].partition(",")[0])
        petal length (cm) ≤ 2 (99.9 %)
        """
        import pandas as pd

        check_is_fitted(self)
        X = as_pandas(X)
        if not is_frame(X) and np.ndim(X) != 2:
            raise ValueError(
                f"reasons are told in terms of columns, and images have none (got shape {np.shape(X)})"
            )
        frame = _as_frame(X, self.names_)
        if len(self.hierarchy_.paths) < 2:
            return pd.Series(["all rows are one leaf"] * len(frame), index=_index_of(X), dtype=object)
        as_array, proba = not is_frame(X) or is_numbered(X), self.predict_proba(X)
        first, second = np.argsort(-proba, axis=1, kind="stable")[:, :2].T
        bits = self._decisive_bits(frame, self._others(frame, as_array), (first, second), as_array)
        ahead = _ahead(proba, first, second)
        texts = [
            self._reason(proba[i], int(first[i]), int(second[i]), ahead[i], bits[i], frame.iloc[i])
            for i in range(len(frame))
        ]
        return pd.Series(texts, index=_index_of(X), dtype=object)

    def _keep_others(self, rows: Any) -> None:
        """Keep what reasons compare a row with: some of the rows that were fitted."""
        self.others_ = self.telling_ = None
        if len(np.shape(rows)) != 2:  # images
            return
        n = rows.shape[0]
        some = taken(rows, np.linspace(0, n - 1, min(n, EXPLAIN.other_rows)).astype(int))
        if self.table_ is not None:
            cells = self.table_.codec.read(numbered(some))
            self.others_ = np.concatenate([cells.numbers, cells.categories], axis=1)
        elif issparse(rows):
            self.others_ = some.toarray().astype(np.float64)
            shown = thinned(np.arange(n), FIT.landmarks)
            self.telling_ = telling_columns(rows[shown], self.labels_[shown])
        else:
            self.others_ = np.asarray(some, dtype=np.float64)

    def _others(self, frame: Any, as_array: bool) -> Any:
        """The rows that a row is compared with, with those columns of a frame that count."""
        import pandas as pd

        if self.others_ is None and getattr(self, "transformer_", None) is not None:
            raise ValueError(
                "reasons compare columns of numbers, and the transformer was given others: give it numbers"
            )
        if self.others_ is None:
            raise ValueError(
                "the model was saved by a version that kept no rows to compare with: fit it again to ask why"
            )
        if self.table_ is not None:
            p = len(self.table_.codec.schema.numeric)
            cells = Cells(self.others_[:, :p], self.others_[:, p:].astype(np.int64))
            out = self.table_.codec.frame(cells)
            if as_array:
                return out.set_axis([frame.columns[int(name)] for name in out.columns], axis=1)
            own = {str(name): name for name in frame.columns}
            return out[[name for name in out.columns if name in own]].rename(columns=own)
        names = frame.columns if as_array else getattr(self, "feature_names_in_", frame.columns)
        return pd.DataFrame(self.others_, columns=pd.Index(names))

    def _decisive_bits(
        self, frame: Any, some: Any, both: tuple[Int[np.ndarray, " n"], Int[np.ndarray, " n"]], as_array: bool
    ) -> Float[np.ndarray, "n p"]:
        """For each row and each column by how many bits the first path is ahead of the second more with the
        column's value than with that of other rows; of sparse rows only for columns that tell leaves apart."""
        import pandas as pd

        n, m = len(frame), len(some)
        mine, other = frame.iloc[np.repeat(np.arange(n), m)], some.iloc[np.tile(np.arange(m), n)]
        mine, other = mine.reset_index(drop=True), other.reset_index(drop=True)
        unused = [name for name in frame.columns if name not in other]
        other = pd.concat([other, mine[unused]], axis=1)[list(frame.columns)]
        paths = np.repeat(both[0], m), np.repeat(both[1], m)

        def ahead(rows: Any) -> Float[np.ndarray, " n"]:
            found = self.predict_proba(rows.to_numpy() if as_array else rows)
            return _ahead(found, *paths).reshape(n, m).mean(axis=1)

        whole, nothing = ahead(mine), ahead(other)
        out = np.zeros((n, len(frame.columns)))
        for j in np.arange(len(frame.columns)) if self.telling_ is None else self.telling_:
            name = frame.columns[j]
            if name in unused:
                continue
            without, alone = mine.copy(), other.copy()
            without[name], alone[name] = other[name], mine[name]
            out[:, j] = 0.5 * (whole - ahead(without) + ahead(alone) - nothing)
        return out

    def _reason(
        self,
        proba: Float[np.ndarray, " paths"],
        first: int,
        second: int,
        ahead: float,
        bits: Float[np.ndarray, " p"],
        row: Any,
    ) -> str:
        leaf, rival = (leaf_name(self.hierarchy_, path) for path in (first, second))
        text = f"{leaf} ({percent(float(proba[first]))}), {_bits(ahead)} ahead of {rival}"
        named = [
            f"{name} {_value(value)} ({_bits(float(b))})"
            for name, value, b in zip(row.index, row, bits, strict=True)
        ]
        least = max(EXPLAIN.least_bits, EXPLAIN.small_share * float(np.abs(bits).max()))
        order = np.argsort(-np.abs(bits), kind="stable")[: EXPLAIN.listed]
        speak_for = [named[j] for j in order if bits[j] >= least]
        against = [named[j] for j in order if bits[j] <= -least]
        text += f": {listed(speak_for)}" if speak_for else ": no column decides by itself"
        return f"{text}; against it {listed(against)}." if against else f"{text}."


def _ahead(
    proba: Float[np.ndarray, "n paths"], first: Int[np.ndarray, " n"], second: Int[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """By how many bits one path is likelier than another, at most so many that more say nothing."""
    rows = np.arange(len(proba))
    logs = np.log2(np.maximum(proba, np.finfo(float).tiny))
    return np.clip(logs[rows, first] - logs[rows, second], -EXPLAIN.most_bits, EXPLAIN.most_bits)


def _as_frame(X: Any, names: Sequence[str] | None = None) -> Any:
    if is_frame(X) and not is_numbered(X):
        return X
    import pandas as pd

    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X)
    return pd.DataFrame(X, columns=pd.Index(names or [f"x{j + 1}" for j in range(X.shape[1])]))


def _index_of(X: Any) -> Any:
    return X.index if is_frame(X) else None


def _value(value: Any) -> str:
    """The value of a cell, as in "area is Coast"."""
    if value is None or value != value:
        return "is empty"
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        return f"= {number_text(float(value))}"
    return f"is {category_text(str(value))}"


def _bits(bits: float) -> str:
    return f"{bits:.1f} bits" if abs(bits) < EXPLAIN.most_bits else f"{EXPLAIN.most_bits:g} bits or more"
