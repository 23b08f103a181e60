"""MIMOSA: the tree of manifolds from data alone, by several finders and one judge."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Shaped
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from disentree.mimosa.base import TreeEstimator
from disentree.mimosa.coordinates.choosing import (
    REPRESENTATIONS,
    Coordinates,
    choose_coordinates,
    landmarks,
    latent_coordinates,
    white_noise,
)
from disentree.mimosa.coordinates.loading import load_representation
from disentree.mimosa.coordinates.representation import Representation
from disentree.mimosa.explain.factors import factor_columns
from disentree.mimosa.explain.verdict import verdict, what_it_saves
from disentree.mimosa.finders.protocol import Rows
from disentree.mimosa.inputs import check_common_settings, check_one_of, check_whole, is_frame
from disentree.mimosa.mixed.estimator import TableTreeEstimator
from disentree.mimosa.paper.algorithm1_mimosa import PaperMIMOSA
from disentree.mimosa.search.search import Outcome, finders_for, search
from disentree.mimosa.stability.stability import Found, Stability, product_summary, stability_of
from disentree.mimosa.tree.arrange import arrange_leaves
from disentree.mimosa.tree.codes import codes_of, find_matches, log2_density
from disentree.mimosa.tree.component import Component, components_of
from disentree.tables import Codec
from disentree.tables.frames import as_pandas
from disentree.utils.dask import is_dask, over_blocks

LANDMARKS = {"linear": 20_000, "autoencoder": 200_000}  # the default of `max_landmarks`
FEWEST_KNOWN = 100  # rows of a table without an empty cell among the numbers, for others to be left out
CORE = 0.9  # probability of a row's path, for the row to be in the core of its component


class MIMOSA(TransformerMixin, TableTreeEstimator):
    """Find the tree of manifolds in a data set.

    Several finders propose decompositions into leaves: mixtures of Gaussians for clusters, an atlas of charts for
    flat or curved manifolds of any dimension, exact or in noise. Each is a density, and so are the models without
    structure (one Gaussian, one probabilistic PCA, one Gaussian with transformed columns). The one that describes
    rows that it was not fitted to in the fewest bits is chosen; if it saves none beyond doubt, the answer is one
    component. Leaves that enclose others become their children. No parameter has to be set.

    Parameters
    ----------
    n_neighbors : int, default=40
        Size of the neighborhoods in which exact subspaces, and sheets in the latent of an autoencoder, are found.
    representation : {"auto", "linear", "autoencoder"}, default="auto"
        The initial representation. "auto" takes principal components for tables, and for images an autoencoder if
        there are 2,000 and its latent tells at least 85 % of the variance of images that it was not trained on.
    max_landmarks : int or None, default=None
        With more rows than this the structure is found on a random subset and the other rows are assigned to it.
        None: 20,000 of a table and 200,000 of the latent of an autoencoder.
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
    lost_ : list of dict
        Enclosures that `hierarchy_` does not hold, since a branch of it follows one parent: `component` encloses
        `parent`, whose `variables` (columns of `hierarchy_`) it does not have in the tree.
    matches_ : list of list of int
        Columns of `hierarchy_.variables` that are the same variable on different branches: one of a leaf that
        encloses others, then those of leaves that the tree does not put above it.
    candidates_ : list of dict
        What was proposed, the chosen one first and then by bits: finder, components (their number), dimensions,
        bits (held-out, per row, of the same rows and columns for all), seconds, and why_not: why one of fewer bits
        was not chosen. In tables with empty cells also branches: how many by what exists are counted in.
    description_length_ : float
        Held-out bits per row of the chosen one, relative to a density of 1 in the coordinates of `embedding_`.
    saved_bits_ : float
        Bits per row that it saves over the best model without structure; 0 if there is no structure.
    saved_bits_doubt_ : float
        The standard error of `saved_bits_`.
    candidate_ : Candidate
        The chosen decomposition, as a density over `embedding_`.
    embedding_ : array of shape (n, D)
        The initial representation of the training rows.
    representation_ : Representation
        Takes new rows there.
    table_ : TableModel or None
        For a data frame with other columns than numbers, or with empty cells: what its columns are, which things
        exist in some rows only, and how rows get to their paths. The finders search the numbers that all rows
        have, and `candidate_` and `embedding_` are of these.
    stability_ : Stability or None
        What `stability` measured last.
    interrupted_ : bool
        Whether Ctrl-C ended the search: it then chose among what had been found.
    verdict_ : str
        What was found and how sure it is, in a sentence.
    timings_ : dict of float
        Seconds of each step; their sum is the time of `fit`.

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
        representation: str = "auto",
        max_landmarks: int | None = None,
        random_state: int | None = 0,
        n_jobs: int | None = None,
        verbose: bool = False,
    ):
        self.n_neighbors = n_neighbors
        self.representation = representation
        self.max_landmarks = max_landmarks
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

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
        "embedding_",
        "labels_",
        "core_labels_",
        "local_dimensions_",
        "candidate_",
        "candidates_",
        "description_length_",
        "matches_",
        "saved_bits_",
        "saved_bits_doubt_",
        "table_",
        "features_",
        "stability_",
        "interrupted_",
        "timings_",
    )
    # For fits to a part of the rows: how strict tests are, and coordinates if they are to be those of all rows.
    _rigor: float = 1.0
    _unasked: tuple[str, ...] = ()  # finders
    _silent: tuple[str, ...] = ()  # finders that had nothing to offer
    _coordinates: Coordinates | None = None
    stability_: Stability | None = None
    interrupted_: bool = False  # of files without it

    # ---------------------------------------------------------------- fitting

    def fit(self, X: Any, y: Any = None, *, codec: Codec | None = None) -> MIMOSA:
        """Find components and hierarchy.

        Parameters
        ----------
        X : array of shape (n, p), images of shape (n, h, w) or (n, h, w, c), or data frame
            A data frame, of pandas or polars, may have columns of numbers, whole numbers, truth values, text,
            categories and dates, and empty cells.
        y : None, default=None
            Ignored.
        codec : Codec, default=None
            What the columns of a data frame are, if that is not to be inferred.

        Returns
        -------
        self
        """
        self._check_settings()
        X = as_pandas(X)
        self.timings_: dict[str, float] = {}
        self.table_ = self.features_ = self.stability_ = None
        self.matches_ = []
        self._rows = X
        seeds = np.random.SeedSequence(self.random_state).spawn(4)
        if is_frame(X):
            codec = Codec.fit(X) if codec is None else codec
            if not codec.schema.is_plain:
                self._fit_table(X, codec, seeds)
                self.matches_ = find_matches(self)
                self._name_tree(X, self.table_.codec if self.table_ is not None else codec)
                return self
        outcome, Z = self._find(self._check(X), seeds)
        with self._timed("hierarchy"):
            self._set_hierarchy(outcome.candidate, Z)
        with self._timed("assignment"):
            self._assign(self.candidate_.posteriors(self.embedding_))
            self.components_ = self._components(self.candidate_.dimensions, self._parents, self._enclosed)
            self.matches_ = find_matches(self)
        self._name_tree(X, codec)
        return self

    def _find(
        self,
        X: Shaped[np.ndarray, "n ..."],
        seeds: Sequence[np.random.SeedSequence],
        known: Bool[np.ndarray, " n"] | None = None,
    ) -> tuple[Outcome, Float[np.ndarray, "m D"]]:
        """What the finders found and the judge chose, and the rows in the embedding that they saw: those that are
        known, if these are not too few."""
        seen = X if known is None or known.sum() < FEWEST_KNOWN else X[known]
        with self._timed("representation"):
            coordinates = self._coordinates
            if coordinates is None:
                coordinates = choose_coordinates(seen, self.representation, seeds[0], self.verbose)
            self.representation_ = coordinates.representation
            self.embedding_ = self.representation_.transform(X)
        Z = self.embedding_ if seen is X else self.representation_.transform(seen)
        most = LANDMARKS[self.representation_.kind] if self.max_landmarks is None else self.max_landmarks
        Z = Z[landmarks(Z, int(most), seeds[1])]
        self._floor, columns = coordinates.floor, coordinates.columns
        noise = None if columns is None else white_noise(seen, columns, coordinates.decomposed)
        rows = Rows(Z, self._floor, columns, noise, self.n_neighbors, self._workers, self._rigor)
        finders = [finder for finder in finders_for(rows) if finder.name not in self._unasked]
        outcome = search(rows, finders, seeds[2], self._timed)
        self.candidates_, self._silent = outcome.table, outcome.silent
        self.interrupted_ = outcome.interrupted
        self.description_length_ = outcome.description_length
        self.saved_bits_, self.saved_bits_doubt_ = outcome.saved_bits, outcome.doubt
        return outcome, Z

    def _assign(self, proba: Float[np.ndarray, "n paths"]) -> None:
        self.labels_ = proba.argmax(axis=1)
        self.core_labels_ = np.where(proba.max(axis=1) >= CORE, self.labels_, -1)
        self.local_dimensions_ = np.array([path.dimension for path in self.hierarchy_.paths])[self.labels_]

    def predict(self, X: Any) -> Any:
        """The likeliest path of new rows.

        Parameters
        ----------
        X : as for `fit`, or a dask array

        Returns
        -------
        array of shape (n,)
            Indices into `hierarchy_.paths`; a dask array of them for a dask array.
        """
        check_is_fitted(self)
        if is_dask(X):
            return over_blocks(X, self.predict, None, np.int64)
        return self.predict_proba(X).argmax(axis=1)

    def predict_proba(self, X: Any) -> Float[np.ndarray, "n paths"]:
        """The probability of each path for new rows.

        Parameters
        ----------
        X : as for `fit`

        Returns
        -------
        array of shape (n, n_paths)
            Rows sum to 1.
        """
        check_is_fitted(self)
        if self.table_ is None:
            return self.candidate_.posteriors(self._transform(X))
        cells = self.table_.codec.read(X)
        return self._table_proba(cells, self._core(cells))

    def outlier_score(self, X: Any) -> Float[np.ndarray, " n"]:
        """How strange new rows are: the bits that each takes more than training rows do on average.

        Parameters
        ----------
        X : as for `fit`

        Returns
        -------
        array of shape (n,)
            Higher is stranger; training rows are around 0.
        """
        bits = -self.candidate_.log_density(self._transform(X)) / np.log(2)
        if self.table_ is None:
            return bits - self.description_length_
        # The description of a table counts more than the numbers that are compared here.
        return bits + float(self.candidate_.log_density(self.embedding_).mean()) / np.log(2)

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
        paths = self.predict_proba(X).argmax(axis=1)
        if self.table_ is None:
            return codes_of(self, self._transform(X), paths)
        codec = self.table_.codec
        return codes_of(self, codec.features(codec.read(X)), paths)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the variables of `hierarchy_`.

        Parameters
        ----------
        input_features : None, default=None
            Ignored.

        Returns
        -------
        array of str
        """
        check_is_fitted(self)
        return np.array([v.name for v in self.hierarchy_.variables], dtype=object)

    def score(self, X: Any, y: Any = None) -> float:
        """How well the model describes rows: minus the bits per row, in the units of X. `GridSearchCV` can choose
        by it. Of a data frame with columns of other kinds, the numbers count that leaves were looked for in.

        Parameters
        ----------
        X : as for `fit`
            Rows that it was not fitted to.
        y : None, default=None
            Ignored.

        Returns
        -------
        float
            Higher is better; only differences mean something.
        """
        return float(log2_density(self, self._transform(X)).mean())

    def _transform(self, X: Any) -> Float[np.ndarray, "n D"]:
        check_is_fitted(self)
        if self.table_ is not None:
            return self._core(self.table_.codec.read(X))
        return self.representation_.transform(self._check(X, fitting=False))

    def stability(
        self,
        n_resamples: int = 20,
        *,
        X: Any = None,
        fraction: float | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Stability:
        """How often each leaf comes back when parts of the rows are fitted again.

        Each resample is a random half of the rows (four fifths of fewer than 1,000) and another seed. The result
        is kept as `stability_`, and `summary` shows it. Ctrl-C ends with what was finished.

        Parameters
        ----------
        n_resamples : int, default=20
        X : as for `fit`, default=None
            The rows that the model was fitted to, if it was loaded from a folder.
        fraction : float or None, default=None
            The part of the rows that each resample has.
        checkpoint : path or None, default=None
            A file to which every finished resample is written; with it, a call that was stopped goes on.

        Returns
        -------
        Stability

        Examples
        --------
        >>> from disentree.datasets import load_dataset
        >>> ds = load_dataset("chopsticks-depth2-slope", n_samples=2000, seed=0)
        >>> print(MIMOSA(n_jobs=1).fit(ds.X).stability(n_resamples=3).verdict)
        A tree is well supported: 2 leaves.
        """
        rows = self._rows_or(X)
        codec = None if self.table_ is None else self.table_.codec
        coordinates = None
        if self.representation_.kind == "autoencoder":  # a network for each resample would take too long
            rows, coordinates = self.embedding_, latent_coordinates(self.embedding_)
        self.stability_ = stability_of(
            self,
            rows,
            Found.of(self),
            n_resamples=n_resamples,
            fraction=fraction,
            n_jobs=self.n_jobs,
            checkpoint=checkpoint,
            codec=codec,
            coordinates=coordinates,
            unasked=self._silent,
            verbose=bool(self.verbose),
            seconds=sum(self.timings_.values()),
        )
        return self.stability_

    @property
    def verdict_(self) -> str:
        """What was found and how sure it is, in a sentence."""
        check_is_fitted(self)
        return verdict(self.hierarchy_) if self.stability_ is None else self.stability_.verdict

    def summary(self) -> str:
        """The tree with sizes and dimensions, how it was found, and what it saves, as text.

        Returns
        -------
        str
        """
        tree = super().summary()
        if self.table_ is not None:
            tree = "\n".join([self._table_summary(), *self._lost_in_words()])
        if self.table_ is None and factor_columns(self.hierarchy_):
            head = tree.partition("\n")[0]
            tree = f"{head}\n{product_summary(self.hierarchy_, self.labels_, self.stability_)}"
        if np.isnan(self.saved_bits_):  # saved by a version that compared nothing
            return tree
        found = what_it_saves(self.candidates_, self._found_by(), self.saved_bits_, self.saved_bits_doubt_)
        return f"{self.verdict_}\n{tree}\n{found}"

    # ---------------------------------------------------------------- the steps

    def _check_settings(self) -> None:
        check_common_settings(self)
        check_whole(self, "n_neighbors", 2)
        check_one_of(self, "representation", REPRESENTATIONS)
        if self.max_landmarks is not None:
            check_whole(self, "max_landmarks", 2)

    def _components(
        self, dimensions: Sequence[int], parents: Sequence[int | None], enclosed: Sequence[tuple[int, ...]]
    ) -> list[Component]:
        labels = (self.labels_, self.core_labels_)
        return components_of(self.embedding_, *labels, dimensions, parents, enclosed)

    def _set_hierarchy(self, found: Any, Z: Float[np.ndarray, "n D"]) -> None:
        """The tree of the chosen leaves, which are numbered by its paths."""
        tree = arrange_leaves(found, Z)
        self.hierarchy_, self.candidate_ = tree.hierarchy, tree.candidate
        self._parents, self._enclosed = tree.parents, tree.enclosed

    @classmethod
    def _loadable(cls) -> Sequence[type[TreeEstimator]]:
        return [cls, PaperMIMOSA]

    @classmethod
    def _load_representation(cls, path: Path) -> Representation:
        return load_representation(path)
