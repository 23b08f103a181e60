"""MIMOSA: the hierarchy from data alone (the paper's Algorithm 1)."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int, Shaped
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from disentree.mimosa.assign import Sheet, assign, residuals
from disentree.mimosa.finders.decompose import Decomposition, choose_decomposition
from disentree.mimosa.finders.noisy import flats_in_noise
from disentree.mimosa.finders.tangents import Tangents
from disentree.mimosa.inputs import as_observations
from disentree.mimosa.representation.linear import Representation, represent
from disentree.mimosa.tree import (
    choose_parents,
    enclosure_ratios,
    shares_on_flats,
    tree_from_parents,
)
from disentree.utils import progress as _progress
from disentree.utils.dask import is_dask, over_blocks

if TYPE_CHECKING:
    import networkx

log = logging.getLogger("disentree.mimosa")

LANDMARKS = {"linear": 40_000, "autoencoder": 200_000}
FLOAT_BITS = 24  # what a coordinate is worth: the precision of a float


@dataclass(frozen=True)
class Component:
    """One manifold of the data: a path of the hierarchy."""

    dimension: int
    indices: Int[np.ndarray, " m"]  # rows of the training data that are labelled with it
    core_indices: Int[np.ndarray, " c"]  # those that it was found from
    parent: int | None  # the component that it encloses and hangs below, as an index into `components_`
    center: Float[np.ndarray, " D"]  # in the embedding
    spread: Float[np.ndarray, " D"]  # standard deviations along its own principal axes, largest first

    @property
    def size(self) -> int:
        return len(self.indices)


class MIMOSA(ClusterMixin, BaseEstimator):
    """Find the tree of manifolds in a data set.

    Nothing has to be set. Linear data is represented by its whitened principal components, other data by a
    smooth autoencoder; around every point the lowest-dimensional flat that holds more of its neighbours than
    chance would is fitted; points on each other's flats are linked into components; components that enclose
    others become their children. The one tolerance that this needs, how far from flat a neighbourhood is, is
    the one that describes the data in the fewest bits.

    Parameters
    ----------
    n_neighbors : int, default=40
        Size of the neighbourhoods.
    representation : {"auto", "linear", "autoencoder"}, default="auto"
        The initial representation; "auto" takes the linear one when the spectrum of the data allows it.
    max_landmarks : int or None, default=None
        With more rows than this the structure is found on a random subset and the rest is assigned to it.
        None: 40,000 of linear data, whose flats are exact however far apart points are, and 200,000 of other
        data, whose sheets are the flatter the denser the points.
    random_state : int, default=0
    n_jobs : int or None, default=None
        Threads for neighbour searches; None uses all cores. The result does not depend on it.
    verbose : bool, default=False
        Show progress on stderr.

    Attributes
    ----------
    hierarchy_ : Hierarchy
    labels_ : array of shape (n,)
        For every row an index into `hierarchy_.paths`.
    core_labels_ : array of shape (n,)
        The same before points without a component were assigned to the likeliest one; -1 for those.
    components_ : list of Component
        One for each path.
    embedding_ : array of shape (n, D)
    description_length_ : float
        Bits per row for its path, its coordinates on its component and its distance from it.
    tolerance_ : float
        How far neighbours may lie off a flat, relative to their distance.
    timings_ : dict of seconds for each step

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
    def paper(cls, **settings: Any) -> MIMOSA:
        """The paper's algorithm, step by step, with its settings by their names: see `PaperMIMOSA`."""
        from disentree.mimosa.paper.estimator import PaperMIMOSA

        return PaperMIMOSA(**settings)

    def fit(self, X: Any, y: Any = None) -> MIMOSA:
        """Find components and hierarchy of `X`: vectors (n, p), images (n, h, w[, c]) or a data frame."""
        X = self._check(X)
        self.timings_: dict[str, float] = {}
        seeds = np.random.SeedSequence(self.random_state).spawn(3)
        with self._timed("representation"):
            self.representation_ = self._represent(X, seeds[0])
            self.embedding_ = self.representation_.transform(X)
        Z = self.embedding_
        # Rows in an order of the data's own, so that nothing depends on the order they came in.
        order = np.argsort(np.linalg.norm(Z, axis=1), kind="stable")
        most = self.max_landmarks
        if most is None:
            most = LANDMARKS[self.representation_.kind]
        if len(order) > most:
            chosen = np.random.default_rng(seeds[1]).choice(len(Z), most, replace=False)
            order = order[np.sort(chosen)]
        with self._timed("components"):
            found = self._decompose(Z[order], seeds[2])
        with self._timed("hierarchy"):
            self._build_tree(Z[order], found)
        with self._timed("assignment"):
            core = np.full(len(Z), -1)
            core[order] = np.where(found.labels >= 0, self._path_of_component[found.labels], -1)
            self._label(Z, core, order)
        with self._timed("description"):
            self._describe()
        return self

    def predict(self, X: Any) -> Any:
        """The likeliest path of new rows, as an array; of a dask array the dask array of them."""
        check_is_fitted(self)
        if is_dask(X):
            return over_blocks(X, self.predict, None, np.int64)
        X = self._check(X, fitting=False)
        return assign(self.sheets_, self.representation_.transform(X), self.tolerance_, self._workers)[0]

    def fit_predict(self, X: Any, y: Any = None, **kwargs: Any) -> Int[np.ndarray, " n"]:
        return self.fit(X).labels_

    # ---------------------------------------------------------------- reading the result

    def summary(self) -> str:
        """The tree with sizes and dimensions, as text."""
        check_is_fitted(self)
        n, n_components = len(self.labels_), len(self.components_)
        children: dict[int | None, list[int]] = {}
        for c, component in enumerate(self.components_):
            children.setdefault(component.parent, []).append(c)
        lines = [
            f"{n} rows, {n_components} component{'s' * (n_components != 1)}, "
            f"{100 * np.mean(self.core_labels_ >= 0):.1f} % of rows in their cores, "
            f"{self.description_length_:.1f} bits per row"
        ]

        def add(parent: int | None, indent: str) -> None:
            below = children.get(parent, [])
            for i, c in enumerate(below):
                last = i == len(below) - 1
                component = self.components_[c]
                share = 100 * component.size / n
                lines.append(
                    f"{indent}{'└── ' if last else '├── '}component {c}: {component.dimension}-D, "
                    f"{component.size} row{'s' * (component.size != 1)} ({share:.1f} %)"
                )
                add(c, indent + ("    " if last else "│   "))

        add(None, "")
        return "\n".join(lines)

    def to_networkx(self) -> networkx.DiGraph:
        """The tree of components; an edge leads from a component to one that encloses it."""
        import networkx

        check_is_fitted(self)
        graph = networkx.DiGraph()
        for c, component in enumerate(self.components_):
            name = self.hierarchy_.paths[c].name
            graph.add_node(c, dimension=component.dimension, size=component.size, path=name)
        graph.add_edges_from((c.parent, i) for i, c in enumerate(self.components_) if c.parent is not None)
        return graph

    # ---------------------------------------------------------------- saving

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write `mimosa.json`, `mimosa.safetensors` and `representation.safetensors` into a folder, which is made
        if need be."""
        from disentree.mimosa.saving import save_mimosa

        check_is_fitted(self, "description_length_")
        save_mimosa(self, Path(folder))

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> MIMOSA:
        """Read what `save` wrote: a `MIMOSA`, or a `PaperMIMOSA` if it was one."""
        from disentree.mimosa.saving import load_mimosa

        model = load_mimosa(Path(folder))
        if not isinstance(model, cls):
            raise ValueError(f"{os.fspath(folder)} holds a {type(model).__name__}, not a {cls.__name__}")
        return model

    # ---------------------------------------------------------------- the steps

    @property
    def _workers(self) -> int:
        return -1 if self.n_jobs is None else self.n_jobs

    def _check(self, X: Any, fitting: bool = True) -> Shaped[np.ndarray, "n ..."]:
        return as_observations(self, X, fitting)

    def _represent(self, X: Shaped[np.ndarray, "n ..."], seed: np.random.SeedSequence) -> Representation:
        return represent(X, self.representation, seed, self.verbose)

    def _decompose(self, Z: Float[np.ndarray, "n D"], seed: np.random.SeedSequence) -> Decomposition:
        k = min(self.n_neighbors, len(Z) - 1)
        if Z.shape[1] == 0 or k < self.n_neighbors // 2:
            return _one_component(Z)  # too little to see structure in: one component
        found = None
        if (noise := self.representation_.noise) is not None:
            found = flats_in_noise(Z, noise, k, seed, self._workers)
        found = found or choose_decomposition(Z, k, seed, self._workers)
        return found if found.labels.max() >= 0 else _one_component(Z)

    def _build_tree(self, Z: Float[np.ndarray, "n D"], found: Decomposition) -> None:
        cores = [np.flatnonzero(found.labels == c) for c in range(found.labels.max() + 1)]
        dimensions = found.dimensions
        if found.points is None:
            noise, tolerance = 0.0, 3 * found.tolerance
        else:
            Z, noise, tolerance = found.points, 1.0, 0.0
        ratios = enclosure_ratios(Z, cores, dimensions, noise)
        shares = shares_on_flats(Z, found.tangents, cores, dimensions, tolerance, noise)
        parents = choose_parents(dimensions, ratios, self._encloses(ratios, shares))
        self._set_tree(Z, found, cores, parents)

    def _encloses(self, ratios: np.ndarray, shares: np.ndarray) -> np.ndarray:
        return (shares >= 0.5) | (ratios <= 3)

    def _set_tree(
        self,
        Z: Float[np.ndarray, "n D"],
        found: Decomposition,
        cores: Sequence[np.ndarray],
        parents: Sequence[int | None],
    ) -> None:
        """Number everything by the hierarchy's paths."""
        dimensions = found.dimensions
        self.hierarchy_, order = tree_from_parents(dimensions, parents)
        self._path_of_component = np.argsort(order)
        self._parents = [None if parents[c] is None else int(self._path_of_component[parents[c]]) for c in order]
        self.sheets_ = [
            Sheet(Z[cores[c]], found.tangents.bases[cores[c], : dimensions[c]], found.curved, found.noise)
            for c in order
        ]
        self.tolerance_ = found.tolerance
        self.local_dimensions_ = found.tangents.dimensions

    def _label(
        self, Z: Float[np.ndarray, "n D"], core: Int[np.ndarray, " n"], seen: Int[np.ndarray, " m"]
    ) -> None:
        """Core labels for rows that were not landmarks, and labels for all."""
        self.labels_ = core.copy()
        left = np.flatnonzero(core < 0)
        if len(left):
            self.labels_[left], off = assign(self.sheets_, Z[left], self.tolerance_, self._workers)
            unseen = np.setdiff1d(left, seen, assume_unique=True)
            fits = unseen[off[np.searchsorted(left, unseen)] <= self.tolerance_]
            core[fits] = self.labels_[fits]
        self.core_labels_ = core

    def _describe(self) -> None:
        Z = self.embedding_
        self.components_: list[Component] = []
        bits = 0.0
        rest = len(Z) - np.count_nonzero(self.labels_ >= 0)
        for c, sheet in enumerate(self.sheets_):
            rows = np.flatnonzero(self.labels_ == c)
            points = Z[rows] if len(rows) else sheet.points
            spread = np.linalg.svd(points - points.mean(axis=0), compute_uv=False) / np.sqrt(len(points))
            self.components_.append(
                Component(
                    sheet.dimension,
                    rows,
                    np.flatnonzero(self.core_labels_ == c),
                    self._parents[c],
                    points.mean(axis=0),
                    np.pad(spread, (0, Z.shape[1] - len(spread))),
                )
            )
            if len(rows):
                steps = np.maximum(residuals(sheet) * 2.0**FLOAT_BITS, 1.0)
                across = (Z.shape[1] - sheet.dimension) * np.log2(steps).mean()
                bits += len(rows) * (sheet.dimension * FLOAT_BITS + across - np.log2(len(rows) / len(Z)))
        bits += rest * Z.shape[1] * FLOAT_BITS + (rest * -np.log2(rest / len(Z)) if rest else 0.0)
        self.description_length_ = float(bits / len(Z))

    @contextmanager
    def _timed(self, step: str):
        start = time.perf_counter()
        with _progress.step(step, self.verbose, spinner=step != "representation"):
            yield
        self.timings_[step] = time.perf_counter() - start
        log.debug("%s: %.1f s", step, self.timings_[step])


def _one_component(Z: Float[np.ndarray, "n D"]) -> Decomposition:
    n, n_dims = Z.shape
    tangents = Tangents(np.full(n, n_dims), np.broadcast_to(np.eye(n_dims), (n, n_dims, n_dims)).copy())
    return Decomposition(np.zeros(n, dtype=np.int64), tangents, 1e-6, 0.0)


def compare_by_description_length(estimators: dict[str, MIMOSA], X: Any) -> list[dict[str, Any]]:
    """Fit every estimator to `X` and list them by the bits per row that they need, the best first.

    The estimators should share a representation (the same `representation` and `random_state`): bits are
    counted in its coordinates.
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
