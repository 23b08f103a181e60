"""MIMOSA: the tree of manifolds from data alone, by several finders and one judge."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int, Shaped
from sklearn.utils.validation import check_is_fitted

from disentree.mimosa.base import TreeEstimator
from disentree.mimosa.candidate import Candidate
from disentree.mimosa.component import Component
from disentree.mimosa.coordinates import REPRESENTATIONS, choose_coordinates
from disentree.mimosa.enclosure import enclosures
from disentree.mimosa.finders.noisy_subspaces import WhiteNoise
from disentree.mimosa.finders.structureless import Columns
from disentree.mimosa.inputs import check_common_settings, check_one_of, check_whole
from disentree.mimosa.paper.algorithm1_mimosa import PaperMIMOSA
from disentree.mimosa.representation.base import Representation
from disentree.mimosa.representation.linear import linear_representation
from disentree.mimosa.representation.loading import load_representation
from disentree.mimosa.saving import as_loaded
from disentree.mimosa.search import latent_finders, search, table_finders
from disentree.mimosa.tree import choose_parents, tree_from_parents
from disentree.utils.dask import is_dask, over_blocks

LANDMARKS = {"linear": 20_000, "autoencoder": 200_000}  # the default of `max_landmarks`
CORE = 0.9  # probability of a row's path, for the row to be in the core of its component


class MIMOSA(TreeEstimator):
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
        The initial representation. "auto" takes principal components for tables and an autoencoder for images.
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
        The same for rows whose path is all but certain, -1 for the others.
    components_ : list of Component
        One for each path.
    candidates_ : list of dict
        What was proposed, the chosen one first and then by bits: finder, components (their number), dimensions,
        bits (held-out, per row) and seconds.
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
        "saved_bits_",
        "saved_bits_doubt_",
        "timings_",
    )

    # ---------------------------------------------------------------- fitting

    def fit(self, X: Any, y: Any = None) -> MIMOSA:
        """Find components and hierarchy.

        Parameters
        ----------
        X : array of shape (n, p), images of shape (n, h, w) or (n, h, w, c), or data frame
        y : None, default=None
            Ignored.

        Returns
        -------
        self
        """
        self._check_settings()
        X = self._check(X)
        self.timings_: dict[str, float] = {}
        seeds = np.random.SeedSequence(self.random_state).spawn(3)
        with self._timed("representation"):
            coordinates = choose_coordinates(X, self.representation, seeds[0], self.verbose)
            self.representation_, floor, columns = (
                coordinates.representation,
                coordinates.floor,
                coordinates.columns,
            )
            self.embedding_ = self.representation_.transform(X)
        Z = self.embedding_
        rows = self._landmarks(Z, seeds[1])
        floor, columns = coordinates.floor, coordinates.columns
        if columns is None:
            finders = latent_finders(self.n_neighbors, self._workers)
        else:
            noise = self._white_noise(X, columns)
            finders = table_finders(floor, columns, noise, self.n_neighbors, self._workers)
        outcome = search(Z[rows], floor, columns, finders, seeds[2], self._timed)
        self.candidates_ = outcome.table
        self.description_length_ = outcome.description_length
        self.saved_bits_, self.saved_bits_doubt_ = outcome.saved_bits, outcome.doubt
        with self._timed("hierarchy"):
            self._set_hierarchy(outcome.candidate, Z[rows])
        with self._timed("assignment"):
            proba = self.candidate_.posteriors(Z)
            self.labels_ = proba.argmax(axis=1)
            self.core_labels_ = np.where(proba.max(axis=1) >= CORE, self.labels_, -1)
            dimensions = self.candidate_.dimensions
            self.local_dimensions_ = np.array(dimensions)[self.labels_]
            self.components_ = self._components(Z)
        return self

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
        Z = self._transform(X)
        return self.candidate_.posteriors(Z)

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
        Z = self._transform(X)
        bits = -self.candidate_.log_density(Z) / np.log(2)
        return bits - self.description_length_

    def _transform(self, X: Any) -> Float[np.ndarray, "n D"]:
        check_is_fitted(self)
        return self.representation_.transform(self._check(X, fitting=False))

    def summary(self) -> str:
        """The tree with sizes and dimensions, how it was found, and what it saves, as text.

        Returns
        -------
        str
        """
        tree = super().summary()
        chosen, others = self.candidates_[0], self.candidates_[1:]
        if np.isnan(self.saved_bits_):  # saved by a version that compared nothing
            return tree
        if not self.saved_bits_:
            dimension = chosen["dimensions"][0]
            found = f"no structure found: one cloud of {dimension} dimension{'s' * (dimension != 1)}"
        else:
            saved = f"{self.saved_bits_:.2f} ± {self.saved_bits_doubt_:.2f} bits per row"
            found = f"found by {chosen['finder']}; saves {saved} over the best model without structure"
        for other in others[:1]:
            leaves = f"{other['components']} component{'s' * (other['components'] != 1)}"
            more = f"{other['bits'] - chosen['bits']:+.2f} bits per row"
            found += f"\nrunner-up: {other['finder']}, {leaves}, {more}"
        return f"{tree}\n{found}"

    # ---------------------------------------------------------------- the steps

    def _check_settings(self) -> None:
        check_common_settings(self)
        check_whole(self, "n_neighbors", 2)
        check_one_of(self, "representation", REPRESENTATIONS)
        if self.max_landmarks is not None:
            check_whole(self, "max_landmarks", 2)

    def _white_noise(self, X: Shaped[np.ndarray, "n ..."], columns: Columns) -> WhiteNoise | None:
        """White noise that shows in the spectrum of a table, in the coordinates of the embedding."""
        found = linear_representation(X)
        if found is None or found.noise is None:
            return None
        weights = columns.basis @ found.weights
        center = np.linalg.pinv(columns.basis.T) @ (found.mean - columns.mean)
        return WhiteNoise(center, weights, found.noise)

    def _landmarks(self, Z: Float[np.ndarray, "n D"], seed: np.random.SeedSequence) -> Int[np.ndarray, " m"]:
        """Rows that the structure is found on, in an order of the data's own, so that nothing depends on the order
        they came in."""
        order = np.argsort(np.linalg.norm(Z, axis=1), kind="stable")
        most = LANDMARKS[self.representation_.kind] if self.max_landmarks is None else self.max_landmarks
        if len(order) <= most:
            return order
        return order[np.sort(np.random.default_rng(seed).choice(len(Z), most, replace=False))]

    def _components(self, Z: Float[np.ndarray, "n D"]) -> list[Component]:
        """What can be said about each leaf; one without rows has its center at the origin."""
        out = []
        for c, (dimension, parent) in enumerate(zip(self.candidate_.dimensions, self._parents, strict=True)):
            rows, core = np.flatnonzero(self.labels_ == c), np.flatnonzero(self.core_labels_ == c)
            points = Z[rows] if len(rows) else np.zeros((1, Z.shape[1]))
            center = points.mean(axis=0)
            spread = np.linalg.svd(points - center, compute_uv=False) / np.sqrt(len(points))
            spread = np.pad(spread, (0, Z.shape[1] - len(spread)))
            out.append(Component(dimension, rows, core, parent, center, spread))
        return out

    def _set_hierarchy(self, found: Any, Z: Float[np.ndarray, "n D"]) -> None:
        """The tree of the chosen leaves, which are numbered by its paths."""
        dimensions = found.dimensions
        encloses, distance = enclosures(found, Z, found.posteriors(Z).argmax(axis=1))
        parents = choose_parents(dimensions, distance, encloses)
        self.hierarchy_, order = tree_from_parents(dimensions, parents)
        path_of = np.argsort(order)
        above = [parents[c] for c in order]
        self._parents = [None if p is None else int(path_of[p]) for p in above]
        chosen = Candidate(found.finder, [found.components[c] for c in order], found.shares[order], found.details)
        self.candidate_ = as_loaded(chosen)  # so that a saved model predicts the same to the last bit

    @classmethod
    def _loadable(cls) -> Sequence[type[TreeEstimator]]:
        return [cls, PaperMIMOSA]

    @classmethod
    def _load_representation(cls, path: Path) -> Representation:
        return load_representation(path)
