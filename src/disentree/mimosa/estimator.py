"""MIMOSA: the hierarchy from data alone (the paper's Algorithm 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int, Shaped

from disentree.geometry.subspaces import Tangents
from disentree.mimosa.assign import assign
from disentree.mimosa.base import BaseMIMOSA
from disentree.mimosa.finders.decompose import Decomposition, choose_decomposition
from disentree.mimosa.finders.noisy import flats_in_noise
from disentree.mimosa.inputs import check_common_settings, check_one_of, check_whole
from disentree.mimosa.judged import JudgedMIMOSA
from disentree.mimosa.labels import rows_of
from disentree.mimosa.paper.algorithm1_mimosa import PaperMIMOSA
from disentree.mimosa.representation.base import Representation
from disentree.mimosa.representation.choose import REPRESENTATIONS, load_representation, represent
from disentree.mimosa.tree import choose_parents, enclosure_ratios, shares_on_flats, tree_from_parents

LANDMARKS = {"linear": 40_000, "autoencoder": 200_000}  # the default of `max_landmarks`


class MIMOSA(BaseMIMOSA):
    """Find the tree of manifolds in a data set.

    Linear data is represented by its whitened principal components, other data by the latent of a smooth
    autoencoder. Around every point MIMOSA fits the lowest-dimensional subspace that holds more of its neighbors
    than chance would put there. Points on each other's subspaces are linked into components, and components that
    enclose others become their children. The only tolerance, how far from flat a neighborhood may be, is the one
    that gives the shortest description of the data. No parameter has to be set.

    Parameters
    ----------
    n_neighbors : int, default=40
        Size of the neighborhoods.
    representation : {"auto", "linear", "autoencoder"}, default="auto"
        The initial representation; "auto" takes the linear one if the spectrum of the data allows it.
    max_landmarks : int or None, default=None
        With more rows than this the structure is found on a random subset and the other rows are assigned to it.
        None: 40,000 of linear data, whose subspaces are exact at any distance, and 200,000 of other data, whose
        neighborhoods are the flatter the denser the points are.
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
        For every row an index into `hierarchy_.paths`.
    core_labels_ : array of shape (n,)
        The labels before points without a component were assigned to the likeliest one; -1 for those.
    components_ : list of Component
        One for each path.
    embedding_ : array of shape (n, D)
        The initial representation of the training rows.
    representation_ : Representation
        Takes new rows there.
    description_length_ : float
        Bits per row for its path, its coordinates on its component and its distance from it.
    tolerance_ : float
        How far neighbors may lie off a subspace, relative to their distance.
    local_dimensions_ : array
        The local dimension of every landmark.
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

    @classmethod
    def judged(cls, **settings: Any) -> JudgedMIMOSA:
        """Several finders and one judge, for data that is not exact: tables, clusters, curved or noisy manifolds.

        Parameters
        ----------
        **settings
            Parameters of `JudgedMIMOSA`.

        Returns
        -------
        JudgedMIMOSA
        """
        return JudgedMIMOSA(**settings)

    # ---------------------------------------------------------------- the steps

    def _check_settings(self) -> None:
        check_common_settings(self)
        check_whole(self, "n_neighbors", 2)
        check_one_of(self, "representation", REPRESENTATIONS)
        if self.max_landmarks is not None:
            check_whole(self, "max_landmarks", 2)

    def _represent(self, X: Shaped[np.ndarray, "n ..."], seed: np.random.SeedSequence) -> Representation:
        return represent(X, self.representation, seed, self.verbose)

    def _n_landmarks(self, n: int) -> int:
        most = LANDMARKS[self.representation_.kind] if self.max_landmarks is None else self.max_landmarks
        return min(n, most)

    def _decompose(self, Z: Float[np.ndarray, "n D"], seed: np.random.SeedSequence) -> Decomposition:
        with self._timed("components"):
            k = min(self.n_neighbors, len(Z) - 1)
            if Z.shape[1] == 0 or k < self.n_neighbors // 2:
                return _one_component(Z)  # too few points to tell
            found = None
            if (noise := self.representation_.noise) is not None:
                found = flats_in_noise(Z, noise, k, seed, self._workers)
            found = found or choose_decomposition(Z, k, seed, self._workers)
            return found if found.labels.max() >= 0 else _one_component(Z)

    def _build_tree(self, Z: Float[np.ndarray, "n D"], found: Decomposition) -> None:
        cores, dimensions = rows_of(found.labels), found.dimensions
        if found.points is None:
            noise, tolerance = 0.0, 3 * found.tolerance
        else:
            Z, noise, tolerance = found.points, 1.0, 0.0
        ratios = enclosure_ratios(Z, cores, dimensions, noise)
        shares = shares_on_flats(Z, found.tangents, cores, dimensions, tolerance, noise)
        parents = choose_parents(dimensions, ratios, (shares >= 0.5) | (ratios <= 3))
        self._set_tree(Z, found, cores, (*tree_from_parents(dimensions, parents), parents))

    def _label(
        self, Z: Float[np.ndarray, "n D"], core: Int[np.ndarray, " n"], landmarks: Int[np.ndarray, " m"]
    ) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " n"]]:
        """Rows that were not landmarks are in a core if they lie on their component."""
        labels = core.copy()
        left = np.flatnonzero(core < 0)
        if len(left):
            labels[left], off = assign(self.sheets_, Z[left], self.tolerance_, self._workers)
            new = np.setdiff1d(left, landmarks, assume_unique=True)
            fits = new[off[np.searchsorted(left, new)] <= self.tolerance_]
            core[fits] = labels[fits]
        return labels, core

    @classmethod
    def _loadable(cls) -> Sequence[type[BaseMIMOSA]]:
        return [cls, PaperMIMOSA]

    @classmethod
    def _load_representation(cls, path: Path) -> Representation:
        return load_representation(path)


def _one_component(Z: Float[np.ndarray, "n D"]) -> Decomposition:
    n, n_dims = Z.shape
    tangents = Tangents(np.full(n, n_dims), np.broadcast_to(np.eye(n_dims), (n, n_dims, n_dims)).copy())
    return Decomposition(np.zeros(n, dtype=np.int64), tangents, 1e-6, 0.0)


def compare_by_description_length(estimators: Mapping[str, BaseMIMOSA], X: Any) -> list[dict[str, Any]]:
    """Fit every estimator to `X` and sort them by description length.

    Parameters
    ----------
    estimators : dict of MIMOSA or PaperMIMOSA
        By name. They should share a representation (the same `representation` and `random_state`), in whose
        coordinates bits are counted.
    X : as for `MIMOSA.fit`

    Returns
    -------
    list of dict
        The shortest description first: name, description_length (bits per row), components (their number),
        coverage (fraction of rows in a core) and the fitted estimator.
    """
    rows = []
    for name, estimator in estimators.items():
        estimator.fit(X)
        rows.append(
            {
                "name": name,
                "description_length": estimator.description_length_,
                "components": len(estimator.components_),
                "coverage": float(np.mean(estimator.core_labels_ >= 0)),
                "estimator": estimator,
            }
        )
    return sorted(rows, key=lambda row: row["description_length"])
