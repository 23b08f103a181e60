"""Algorithm 1, MIMOSA: the paper's estimator, step by step, with the settings of its appendix."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int, Shaped
from sklearn.utils.validation import check_is_fitted

from disentree.errors import NoComponentFound
from disentree.geometry.neighbors import nearest_neighbors
from disentree.hierarchy.renaming import with_names
from disentree.mimosa.base import TreeEstimator
from disentree.mimosa.coordinates.representation import Representation
from disentree.mimosa.density.sheet import Sheet, assign
from disentree.mimosa.explain.reasons import tree_names
from disentree.mimosa.finders.flats.decompose import Decomposition
from disentree.mimosa.finders.labels import rows_of
from disentree.mimosa.inputs import check_between, check_common_settings, check_one_of, check_whole, is_frame
from disentree.mimosa.paper.algorithm3_local_svd import local_svd
from disentree.mimosa.paper.algorithm4_tangent_plane_cos import similar_neighbors
from disentree.mimosa.paper.algorithm5_build_component import build_components
from disentree.mimosa.paper.algorithm6_merge_components import common_edge_frac, merge_components
from disentree.mimosa.paper.algorithm7_construct_hierarchy import construct_hierarchy
from disentree.mimosa.search.steps import Steps
from disentree.mimosa.tree.building import in_order
from disentree.mimosa.tree.component import describe
from disentree.rows.dask_parts import is_dask, lazily
from disentree.utils.extras import needing


class PaperMIMOSA(TreeEstimator):
    """The paper's algorithm with its settings by their names; `MIMOSA.paper(...)` makes one.

    Points that are in no component keep the label -1: `labels_` equals `core_labels_`. `predict`, which the
    paper does not have, assigns new points to the likeliest component as the default `MIMOSA` does. Points are
    taken in the order of their distance from the origin, so that the result does not depend on the order of rows.

    Parameters
    ----------
    initial_dim : int, default=4
        Dimension of the autoencoder's latent. The paper takes it from the truth: 3 for Chopsticks of depth 2,
        but 4 for `either` and 5 for `both`; 4 at depth 3, but 5 for `either` and 7 for `both`; 7 for
        Spaceshapes.
    num_nearest_neighbors : int, default=40
        Size of a neighborhood, the point itself included.
    ransac_frac : float, default=2/3
        The fraction of a neighborhood that the second SVD is fitted to; 1 for no second SVD.
    eig_cumsum_thresh : float, default=0.95
        The fraction of variance that the local dimensions must explain.
    eig_decay_thresh : float, default=4
        The factor by which the variance must drop after them.
    cos_simil_thresh : float, default=0.99
        The least cosine between tangent planes of neighbors that are joined (Spaceshapes: 0.95).
    contagion_num : int, default=5
        The number of members that must have a point as similar neighbor for it to join (Spaceshapes: 3).
    min_size_init : float or int, default=0.0002
        Smaller components are dropped before merging: a fraction of the rows if below 1, else a number of rows.
    min_size_merged : float or int, default=0.02
        Smaller components are dropped after merging: likewise.
    min_common_edge_frac : callable, float or None, default=None
        For each dimension the fraction of edge points that components must share to be merged; None for
        2^-(d+1) + 2^-(d+2), a number for that many times as much.
    neighbor_lengthscale_mult : float, default=10
        A component encloses another if this is at most that many times its neighbor distance away.
    ransac_first_dimension : {0, 1}, default=0
        Reconstruction errors are aggregated from this dimension on: 1 in the text, 0 in the published code.
    activation : {"softplus", "relu"}, default="softplus"
        Of the autoencoder. ReLU folds manifolds sharply, where local SVDs change discontinuously.
    representation : {"autoencoder", "given"}, default="autoencoder"
        "given" if `X` is the initial representation already; `initial_dim` is not used then.
    whiten : float, default=0
        Principal components of the representation are divided by this power of their standard deviations: 0 leaves
        it as it is, as the published code does, 0.5 halves the logarithm of its condition number, 1 whitens it.
    epochs : int, default=50
        Of the autoencoder's training.
    batch_size : int, default=256
        Of the autoencoder's training.
    learning_rate : float, default=0.001
        Of the autoencoder's training; divided by ten after half and after three quarters of the epochs.
    random_state : int or None, default=0
        Seed; None for a different result every time.
    n_jobs : int or None, default=None
        Threads for neighbor searches; None or -1 for all cores. The result does not depend on it.
    verbose : bool, default=False
        Show progress on stderr.

    Attributes
    ----------
    hierarchy_ : Hierarchy
    labels_, core_labels_ : arrays of shape (n,)
        For every row an index into `hierarchy_.paths`, -1 for rows in no component.
    components_ : list of Component
        One for each path.
    embedding_ : array of shape (n, D)
        The initial representation of the training rows.
    representation_ : Representation
        Takes new rows there.
    description_length_ : float
        Bits per row for its path, its coordinates on its component and its distance from it.
    tolerance_ : float
        How far off a tangent plane `predict` expects points, relative to their distance.
    local_dimensions_ : array of shape (n,)
        The local dimension of every row, in the order in which rows were visited.
    timings_ : dict of float
        Seconds of each step; their sum is the time of `fit`.
    n_pieces_ : int
        Number of components before merging.
    pieces_ : array of shape (n,)
        For every row the component that it is in before merging, -1 for none; not saved.

    Examples
    --------
    >>> from disentree.datasets import load_dataset
    >>> ds = load_dataset("chopsticks-depth2-slope", n_samples=2000, seed=0)
    >>> m = PaperMIMOSA(representation="given").fit(ds.codes[ds.paths == 1][:, [0, 2]])
    >>> len(m.hierarchy_.paths)
    1
    """

    def __init__(
        self,
        *,
        initial_dim: int = 4,
        num_nearest_neighbors: int = 40,
        ransac_frac: float = 2 / 3,
        eig_cumsum_thresh: float = 0.95,
        eig_decay_thresh: float = 4.0,
        cos_simil_thresh: float = 0.99,
        contagion_num: int = 5,
        min_size_init: float = 0.0002,
        min_size_merged: float = 0.02,
        min_common_edge_frac: Callable[[int], float] | float | None = None,
        neighbor_lengthscale_mult: float = 10.0,
        ransac_first_dimension: int = 0,
        activation: str = "softplus",
        representation: str = "autoencoder",
        whiten: float = 0.0,
        epochs: int = 50,
        batch_size: int = 256,
        learning_rate: float = 1e-3,
        random_state: int | None = 0,
        n_jobs: int | None = None,
        verbose: bool = False,
    ):
        self.initial_dim = initial_dim
        self.num_nearest_neighbors = num_nearest_neighbors
        self.ransac_frac = ransac_frac
        self.eig_cumsum_thresh = eig_cumsum_thresh
        self.eig_decay_thresh = eig_decay_thresh
        self.cos_simil_thresh = cos_simil_thresh
        self.contagion_num = contagion_num
        self.min_size_init = min_size_init
        self.min_size_merged = min_size_merged
        self.min_common_edge_frac = min_common_edge_frac
        self.neighbor_lengthscale_mult = neighbor_lengthscale_mult
        self.ransac_first_dimension = ransac_first_dimension
        self.activation = activation
        self.representation = representation
        self.whiten = whiten
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    _saved = (
        "embedding_",
        "labels_",
        "core_labels_",
        "local_dimensions_",
        "sheets_",
        "tolerance_",
        "description_length_",
        "matches_",
        "timings_",
        "n_pieces_",
        "pieces_",
    )

    # ---------------------------------------------------------------- fitting

    def fit(self, X: Any, y: Any = None) -> PaperMIMOSA:
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
        self._rows, X = X, self._check(X)
        step = Steps(bool(self.verbose))
        self.matches_ = []
        with step("representation"):
            # the first of three, as where the data decides about more than the representation
            self.representation_ = self._represent(X, np.random.SeedSequence(self.random_state).spawn(3)[0])
            self.embedding_ = self.representation_.transform(X)
        Z = self.embedding_
        # Rows in an order of the data's own, so that nothing depends on the order they came in.
        order = np.argsort(np.linalg.norm(Z, axis=1), kind="stable")
        found = self._decompose(Z[order], step)
        self.pieces_ = self.pieces_[np.argsort(order)]
        with step("hierarchy"):
            path_of, parents, direct = self._build_tree(Z[order], found)
        with step("description"):
            self.core_labels_ = np.full(len(Z), -1)
            self.core_labels_[order] = np.where(found.labels >= 0, path_of[found.labels], -1)
            self.labels_ = self.core_labels_.copy()
            self.components_, self.description_length_ = describe(
                self.sheets_, parents, direct, Z, self.labels_, self.core_labels_
            )
        self.plain_hierarchy_ = self.hierarchy_
        if is_frame(self._rows):
            with step("names"):
                names = tree_names(self._rows, self.hierarchy_, self.labels_)
                self.hierarchy_ = with_names(self.hierarchy_, names)
        self.timings_ = step.timings
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
            return lazily(X, self.predict, None, np.int64)
        X = self._check(X, fitting=False)
        Z = self.representation_.transform(X)
        return assign(self.sheets_, Z, self.tolerance_, self.num_nearest_neighbors, self._workers)[0]

    # ---------------------------------------------------------------- the steps

    def _check_settings(self) -> None:
        check_common_settings(self)
        for name, least in (
            ("initial_dim", 1),
            ("num_nearest_neighbors", 2),
            ("contagion_num", 1),
            ("ransac_first_dimension", 0),
            ("epochs", 1),
            ("batch_size", 1),
        ):
            check_whole(self, name, least)
        for name, low, high in (
            ("ransac_frac", 1e-9, 1),
            ("eig_cumsum_thresh", 0, 1),
            ("eig_decay_thresh", 1, np.inf),
            ("cos_simil_thresh", 0, 1),
            ("min_size_init", 0, np.inf),
            ("min_size_merged", 0, np.inf),
            ("neighbor_lengthscale_mult", 0, np.inf),
            ("ransac_first_dimension", 0, 1),
            ("learning_rate", 0, np.inf),
            ("whiten", 0, 1),
        ):
            check_between(self, name, low, high)
        if self.min_common_edge_frac is not None and not callable(self.min_common_edge_frac):
            check_between(self, "min_common_edge_frac", 0)
        check_one_of(self, "activation", ("softplus", "relu"))
        check_one_of(self, "representation", ("autoencoder", "given"))
        if self.representation != "given" and self.num_nearest_neighbors <= self.initial_dim:
            raise ValueError(
                f"num_nearest_neighbors must exceed initial_dim, got {self.num_nearest_neighbors} "
                f"and {self.initial_dim}"
            )

    def _represent(self, X: Shaped[np.ndarray, "n ..."], seed: np.random.SeedSequence) -> Representation:
        """Line 1."""
        with needing("MIMOSA.paper"):  # torch is slow to import
            from disentree.mimosa.paper.autoencoder import flat_autoencoder, given

        if self.representation == "given":
            if (dims := int(np.prod(X.shape[1:]))) >= self.num_nearest_neighbors:
                raise ValueError(
                    f"a given representation must have fewer dimensions than num_nearest_neighbors="
                    f"{self.num_nearest_neighbors}, got {dims}"
                )
            latent = given(X)
        else:
            latent = flat_autoencoder(
                X,
                self.initial_dim,
                seed,
                epochs=self.epochs,
                batch_size=self.batch_size,
                learning_rate=self.learning_rate,
                activation=self.activation,
                verbose=self.verbose,
            )
        return latent.whitened(latent.transform(X), self.whiten) if self.whiten else latent

    def _decompose(self, Z: Float[np.ndarray, "n D"], step: Steps) -> Decomposition:
        """Lines 2 to 5."""
        k = min(self.num_nearest_neighbors - 1, len(Z) - 1)
        with step("neighbors"):
            _, neighbors = nearest_neighbors(Z, k, self._workers)
        with step("local SVD"):
            tangents = local_svd(
                Z,
                neighbors,
                self.ransac_frac,
                self.eig_cumsum_thresh,
                self.eig_decay_thresh,
                self.ransac_first_dimension,
            )
        with step("growing"):
            similar = similar_neighbors(tangents, neighbors, self.cos_simil_thresh)
            pieces = build_components(neighbors, similar, self.contagion_num)
        with step("merging"):
            min_size_init = self._n_rows(self.min_size_init, len(Z))
            large = np.bincount(pieces) >= max(min_size_init, 1)
            self.n_pieces_ = int(large.sum())
            self.pieces_ = np.where(large[pieces], (np.cumsum(large) - 1)[pieces], -1)
            labels = merge_components(
                Z,
                tangents,
                pieces,
                neighbors,
                min_size_init=min_size_init,
                min_size_merged=self._n_rows(self.min_size_merged, len(Z)),
                cos_simil_thresh=self.cos_simil_thresh,
                min_common_edge_frac=self._least_common_edge,
                n_jobs=self._workers,
            )
        if labels.max(initial=-1) < 0:
            raise NoComponentFound(
                "no component was found that has min_size_merged="
                f"{self.min_size_merged:g} of the rows: lower cos_simil_thresh or contagion_num"
            )
        # For predict, which the paper does not have: points may be off a plane by what planes may differ by.
        tolerance = float(np.sqrt(max(1 - self.cos_simil_thresh**2, 1e-6)))
        return Decomposition(labels, tangents, tolerance, 0.0)

    def _build_tree(
        self, Z: Float[np.ndarray, "n D"], found: Decomposition
    ) -> tuple[Int[np.ndarray, " c"], list[int | None], list[tuple[int, ...]]]:
        """Line 6, and everything numbered by the hierarchy's paths: the path of each component, the parent of each
        path, and all that it encloses directly."""
        cores, dimensions = rows_of(found.labels), found.dimensions
        mult = self.neighbor_lengthscale_mult
        self.hierarchy_, order, above, direct = construct_hierarchy(Z, cores, dimensions, mult, self._workers)
        path_of = np.argsort(order)
        parents, enclosed = in_order(order, above, direct)
        self.sheets_ = [Sheet(Z[cores[c]], found.tangents.bases[cores[c], : dimensions[c]]) for c in order]
        self.tolerance_ = found.tolerance
        self.local_dimensions_ = found.tangents.dimensions
        return path_of, parents, enclosed

    def _least_common_edge(self, d: int) -> float:
        asked = self.min_common_edge_frac
        if callable(asked):
            return asked(d)
        return common_edge_frac(d) * (1.0 if asked is None else asked)

    @staticmethod
    def _n_rows(size: float, n: int) -> int:
        return round(size * n) if size < 1 else int(size)

    @classmethod
    def _load_representation(cls, path: Path) -> Representation:
        with needing("MIMOSA.paper"):  # torch is slow to import
            from disentree.mimosa.paper.autoencoder import load_latent

        return load_latent(path)
