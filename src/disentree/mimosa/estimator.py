"""MIMOSA: the tree of manifolds from data alone, by several finders and one judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.sparse import issparse
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from disentree.mimosa.base import TreeEstimator
from disentree.mimosa.coordinates.choosing import REPRESENTATIONS, load_representation
from disentree.mimosa.coordinates.reach import Reach
from disentree.mimosa.coordinates.representation import Representation
from disentree.mimosa.coordinates.transformed import Transformed, told_apart_by
from disentree.mimosa.density.candidate import Candidate
from disentree.mimosa.explain.compared.comparing import Comparing
from disentree.mimosa.explain.placing import Placing
from disentree.mimosa.fit import Fit, codec_of, fit, placed, searched
from disentree.mimosa.inputs import (
    check_common_settings,
    check_leaves,
    check_one_of,
    check_some,
    check_whole,
    columns_in_use,
    counted_rows,
    is_frame,
    numbered,
    remember_columns,
    sparse_rows,
    weights_in_use,
    weights_of,
    without_columns,
)
from disentree.mimosa.mixed.model import TableModel
from disentree.mimosa.paper.algorithm1_mimosa import PaperMIMOSA
from disentree.mimosa.search.judge import log2_density
from disentree.mimosa.search.structure import Settings
from disentree.mimosa.stability.resampled import Resampled
from disentree.mimosa.stability.stability import Stability
from disentree.mimosa.steering.asked import check_partial_labels, rows_drawn, steered_in_words, with_labels
from disentree.mimosa.steering.steered import Steered
from disentree.mimosa.summary.wording import runner_up
from disentree.mimosa.tree.codes import LeafMaps
from disentree.mimosa.watching.watched import Watched
from disentree.rows import Blocks, opened, taken
from disentree.tables import Codec
from disentree.tables.frames import as_pandas
from disentree.utils.threads import threads


class MIMOSA(Steered, Watched, Placing, Comparing, TransformerMixin, Transformed, TreeEstimator, Resampled):
    """Find the tree of manifolds in a data set.

    Several finders propose decompositions into leaves: mixtures of Gaussians, an atlas of charts for flat or
    curved manifolds. Each is a density, and so are models without structure. The one that describes other rows in
    the fewest bits is chosen, if it saves some beyond doubt. Leaves that enclose others become their children.

    Parameters
    ----------
    n_neighbors : int, default=40
        Size of the neighborhoods in which exact subspaces, and sheets in the latent of an autoencoder, are found.
    representation : {"auto", "linear", "autoencoder", "graph"} or transformer, default="auto"
        "auto" takes principal components for tables, and for 2,000 images or more an autoencoder if its latent
        tells 85 % of the variance of others. "graph" is for images of kinds, and for cells, of which only the
        nearest are alike: leaves are groups of neighbors. What a transformer, with `fit` and `transform`, makes of
        X is searched in its place; such a model cannot be saved.
    max_landmarks : int or None, default=None
        With more rows than this the structure is found on a random subset and the other rows are assigned to it.
        None: 20,000 of a table and 200,000 of the latent of an autoencoder.
    placement : {"auto", "down"}, default="auto"
        A variable that does the same on all branches of a choice stands above them ("auto") or on each ("down").
    n_leaves : int or None, default=None
        At most so many leaves: `cut` after the fit. None for as many as are found.
    random_state : int or None, default=0
        Seed; None for a different result every time.
    n_jobs : int or None, default=None
        Threads for neighbor searches; None or -1 for all cores. The result does not depend on it.
    verbose : bool, default=False
        Show progress on stderr.

    Attributes
    ----------
    hierarchy_ : Hierarchy
    labels_ : array of shape (n,)
        For every row an index into `hierarchy_.paths`, the likeliest.
    core_labels_ : array of shape (n,)
        The same for rows whose path is nearly certain, -1 for the others.
    components_ : list of Component
        One for each path.
    matches_ : list of list of int
        Columns of `hierarchy_.variables` that are the same variable on different branches, not on all of a choice:
        one of a leaf that encloses others, then those of leaves that the tree does not put above it; or any.
    candidates_ : list of dict
        What was proposed, the chosen one first and then by bits: finder, components (their number), dimensions,
        bits (held-out, per row, of the same rows and columns for all), seconds, why_not: why one of fewer bits was
        not chosen, and left_out: what its finder did not look at. In tables with empty cells also branches.
    description_length_ : float
        Held-out bits per row of the chosen one, relative to a density of 1 in the coordinates of `embedding_`.
    saved_bits_ : float
        Bits per row that it saves over the best model without structure; 0 if there is no structure.
    saved_bits_doubt_ : float
        The standard error of `saved_bits_`.
    candidate_ : Candidate
        The chosen decomposition, as a density over `embedding_`.
    embedding_ : array of shape (m, D)
        The initial representation of the rows that the tree was found in: all, or those of `sample_`.
    sample_ : array of shape (m,) or None
        The rows that the tree was found in; None for all. Of more than 200,000 a sample, and those of rare kinds.
    representation_ : Representation
        Takes new rows there.
    table_ : TableModel or None
        Of a data frame with other columns than numbers, or with empty cells.
    stability_ : Stability or None
        What `stability` measured last.
    told_ : list of str
        What of `partial_labels` could not be done, and why.
    interrupted_ : bool
        Whether Ctrl-C ended the search.
    timings_ : dict of float
        Seconds of each step.

    Examples
    --------
    >>> from disentree.datasets import load_dataset
    >>> ds = load_dataset("chopsticks-depth2-slope", n_samples=2000, seed=0)
    >>> m = MIMOSA().fit(ds.X)
    >>> print(m.hierarchy_)
    ○ z1
    ◇ c1
    ├── stop ∅
    └── branch1
        └── ○ z2
    >>> m.candidates_[0]["finder"]
    'subspaces'
    """

    def __init__(
        self,
        *,
        n_neighbors: int = 40,
        representation: Any = "auto",
        max_landmarks: int | None = None,
        placement: str = "auto",
        n_leaves: int | None = None,
        random_state: int | None = 0,
        n_jobs: int | None = None,
        verbose: bool = False,
    ):
        self.n_neighbors = n_neighbors
        self.representation = representation
        self.max_landmarks = max_landmarks
        self.placement = placement
        self.n_leaves = n_leaves
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags: Any = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        return tags

    @classmethod
    def paper(cls, **settings: Any) -> PaperMIMOSA:
        """The paper's algorithm, step by step, with its settings by their names.

        Parameters
        ----------
        **settings
            Parameters of `PaperMIMOSA`.

        Returns
        -------
        PaperMIMOSA
        """
        return PaperMIMOSA(**settings)

    _saved = (
        *(f"{f.name}_" for f in fields(Fit) if not f.name.endswith(("hierarchy", "components", "representation"))),
        *("stability_", "steering_", "given_names_", "told_", "kept_", "names_", "others_", "telling_"),
        *("weights_", "column_weights_"),  # hierarchies, components and representation are saved apart
    )
    candidate_: Candidate
    candidates_: list[dict[str, Any]]
    saved_bits_: float
    saved_bits_doubt_: float
    reach_: Reach  # of the training rows
    usual_bits_: float  # of a training row
    strange_from_: float  # the outlier score that one training row in a thousand exceeds
    nowhere_: int = 0  # training rows that fit no leaf; not in the first files
    table_: TableModel | None
    features_: Float[np.ndarray, "m f"] | None  # of the rows of a table, for the maps of its leaves
    stability_: Stability | None
    given_names_: dict[str, Any] | None
    told_: list[str]
    names_: list[str] | None = None  # of the columns of a sparse matrix
    silent_: list[str]  # finders that proposed nothing, and need not be asked for a part of the rows
    interrupted_: bool
    _maps: LeafMaps  # from rows and paths to codes

    # ---------------------------------------------------------------- fitting

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        codec: Codec | None = None,
        sample_weight: Any = None,
        column_weights: Any = None,
        partial_labels: Any = None,
        within: Any = None,
        feature_names: Any = None,
    ) -> MIMOSA:
        """Find components and hierarchy.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, p), images of shape (n, h, w) or (n, h, w, c), data frame, path
            An array may have empty cells, NaN. A data frame, of pandas or polars, or what an SQLite cursor or a
            DuckDB query holds, may have them too, and columns of numbers, whole numbers, truth values, text,
            categories and dates. A path is that of a table, an .npy, a folder of tables, or a pattern such as
            "parts/*.parquet"; files and Dask collections are read a block at a time.
        y : None, default=None
            Ignored.
        codec : Codec, default=None
            What the columns of a data frame are, if that is not to be inferred.
        sample_weight : array of shape (n,), default=None
            How often each row counts: whole weights are numbers of equal rows; by others rows are drawn.
        column_weights : dict by column, or array of shape (p,), default=None
            How far rows are apart in a column, or what categories say, times what it is; 0 leaves it out.
        partial_labels : array of shape (n,), default=None
            Whole numbers, -1 where unknown. Rows of two labels are not one leaf, and rows of one label are one,
            unless they are over a thousand times likelier apart; `told_` says what could not be done.
        within : truth values, numbers of rows, or a leaf, default=None
            Look in these rows only; the others have the label -1. A leaf is one that was found in them before.
        feature_names : list of str, default=None
            The columns of a sparse matrix, for names and reasons. It stays sparse: those of its principal
            components that are beyond chance are searched.

        Returns
        -------
        self
        """
        X = opened(X)
        if isinstance(within, int | str) and not isinstance(within, bool):
            check_is_fitted(self)
            within = self.labels_ == self._path_of(within)
        if all(one is None for one in (sample_weight, partial_labels, within)):
            return self._fit_once(X, codec, column_weights, feature_names)
        X = X if isinstance(X, Blocks) or hasattr(X, "shape") else np.asarray(X)
        n = len(X) if isinstance(X, Blocks) else X.shape[0]
        rows = rows_drawn(n, sample_weight, within, self.random_state)
        labels = None if partial_labels is None else check_partial_labels(partial_labels, n)
        self._fit_once(X if rows is None else taken(X, rows), codec, column_weights, feature_names)
        if rows is not None:
            self._take_all(X, rows, within is not None)
        if labels is not None:
            self.__dict__.update(with_labels(self, labels).__dict__)
        return self

    def _fit_once(
        self, X: Any, codec: Codec | None, column_weights: Any = None, names: Any = None, **known: Any
    ) -> MIMOSA:
        """Fit rows that all count once. Fields of `Settings` are what is known about them: labels, or leaves."""
        self._check_settings()
        X, given_rows = self._first(X, column_weights=column_weights, feature_names=names), X
        X, names = sparse_rows(X, names)
        most = None if known or self.representation == "autoencoder" else self.max_landmarks or 1
        fitted, (X, rest) = X, searched(X, most, self.random_state)
        frame, given = None, None if isinstance(fitted, np.ndarray) or getattr(fitted, "names", 0) is None else X
        if is_frame(X):
            codec = codec_of(X, rest, codec)
            column_weights = weights_in_use(column_weights, codec)
            X, codec = columns_in_use(*without_columns(X, codec, column_weights))
            frame = X
            rest = None if rest is None else rest.with_columns(list(frame.columns))
        is_table = frame is not None and codec is not None and not codec.schema.is_plain
        rows = remember_columns(self, frame, given) if is_table else self._check(X)
        if not is_table and column_weights is None and self.representation == "auto":
            rows, frame, codec, names = counted_rows(rows, frame, codec, names)
        weights = None if column_weights is None else weights_of(column_weights, rows, codec if is_table else None)
        settings = replace(self._settings, column_weights=weights, **known)
        with threads(self._workers):
            found = fit(rows, settings, self.random_state, codec, frame, rest, names)
        self.__dict__.update({f"{one.name}_": getattr(found, one.name) for one in fields(found)})
        self.stability_, self.steering_, self.split_models_ = None, None, ()
        self._rows = (rows if issparse(rows) else X) if rest is None else fitted
        self.given_names_, self.told_, self.kept_, self.names_ = None, [], None, names
        self.weights_, self.column_weights_ = None, weights
        self._rows, rows = (given_rows, told_apart_by(given_rows)) if self._has_transformer else (self._rows, rows)
        self._keep_others(rows)
        if self.n_leaves is not None and self.n_leaves < len(self.hierarchy_.paths):
            self.__dict__.update(self._completed().cut(self.n_leaves).__dict__)
        return self._completed()

    def _completed(self) -> MIMOSA:
        self.__dict__.pop("_levels", None)  # those of another tree
        self._maps = LeafMaps(self._fitted_rows, self.hierarchy_, self.sample_labels_, self.matches_)
        return self

    @property
    def _fitted_rows(self) -> Float[np.ndarray, "m f"]:
        return self.embedding_ if self.features_ is None else self.features_

    @property
    def _settings(self) -> Settings:
        names = ("n_neighbors", "representation", "max_landmarks", "placement", "column_weights_")
        given = {name.rstrip("_"): getattr(self, name) for name in names}
        given |= {"representation": "auto"} if self._has_transformer else {}
        return Settings(**given, n_jobs=self._workers, verbose=bool(self.verbose))

    def _found_proba(self, X: Any) -> Float[np.ndarray, "n found"]:
        return self._placed(X)[0]

    def _placed(self, X: Any) -> tuple[Float[np.ndarray, "n found"], Float[np.ndarray, " n"]]:
        """The probability of each path of the tree that was found, and the bits that each row takes."""
        check_is_fitted(self)
        table = self.table_
        rows = self._check(X, fitting=False) if table is None else table.codec.read(self._tabular(X))
        own = self._found_hierarchy, self.reach_, self.representation_
        return placed(self.candidate_, table, *own, rows)

    def _features(self, X: Any) -> Float[np.ndarray, "n f"]:
        """What maps of leaves take: the embedding, or the features of a table."""
        if self.table_ is None:
            return self._transform(X)
        return self.table_.codec.features(self.table_.codec.read(self._tabular(X)))

    def score(self, X: Any, y: Any = None) -> float:
        """How well the model describes rows: minus the bits per row, in the units of X. `GridSearchCV` can choose
        by it. Of a data frame with columns of other kinds, the numbers count that leaves were looked for in.

        Parameters
        ----------
        X : as for `fit`, but in memory: no path, and nothing of Dask
            Rows that it was not fitted to.
        y : None, default=None
            Ignored.

        Returns
        -------
        float
            Higher is better; only differences mean something.
        """
        return float(
            log2_density(self.candidate_, self.representation_, self.embedding_, self._transform(X)).mean()
        )

    def _tabular(self, X: Any) -> Any:
        """Rows that are taken as a data frame as such a frame."""
        return check_some(as_pandas(X) if self.table_ is None else numbered(as_pandas(X)))

    def _transform(self, X: Any) -> Float[np.ndarray, "n D"]:
        return self.representation_.transform(self._numbers(X))

    def _numbers(self, X: Any) -> Any:
        """What the representation takes of rows."""
        check_is_fitted(self)
        if self.table_ is None:
            return self._check(X, fitting=False)
        return self.table_.numbers(self.table_.codec.read(self._tabular(X)))

    def _afterwards(self) -> list[str]:
        return [*steered_in_words(self.steering_), *self.told_]

    def _evidence(self) -> dict[str, Any]:
        return {
            "evidence": self.divisions_,
            "saved": None if self.steering_ else float(self.saved_bits_),  # of the tree that was found
            "doubt": float(self.saved_bits_doubt_),
            "runner_up": runner_up(self.candidates_),
            "nowhere": self.nowhere_,
        }

    def _check_settings(self) -> None:
        check_common_settings(self)
        check_whole(self, "n_neighbors", 2)
        if not self._has_transformer:
            check_one_of(self, "representation", REPRESENTATIONS)
        check_one_of(self, "placement", ("auto", "down"))
        if self.n_leaves is not None:
            check_leaves(self.n_leaves)
        if self.max_landmarks is not None:
            check_whole(self, "max_landmarks", 2)

    @classmethod
    def _loadable(cls) -> Sequence[type[TreeEstimator]]:
        return [cls, PaperMIMOSA]

    @classmethod
    def _load_representation(cls, path: Path) -> Representation:
        return load_representation(path)
