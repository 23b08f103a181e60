"""What the default MIMOSA and the paper's share: the steps of Algorithm 1, and what a fitted model can do."""

from __future__ import annotations

import logging
import os
import time
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int, Shaped
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from disentree.hierarchy import Hierarchy
from disentree.mimosa.assign import Sheet, assign
from disentree.mimosa.component import Component, describe
from disentree.mimosa.finders.decompose import Decomposition
from disentree.mimosa.inputs import as_observations
from disentree.mimosa.representation.base import Representation
from disentree.mimosa.saving import load_mimosa, save_mimosa
from disentree.utils import progress
from disentree.utils.dask import is_dask, over_blocks

if TYPE_CHECKING:
    import networkx

log = logging.getLogger("disentree.mimosa")


class TreeEstimator(ClusterMixin, BaseEstimator):
    """What every estimator of a tree of components has: text, graph, progress."""

    random_state: int | None
    n_jobs: int | None
    verbose: bool
    hierarchy_: Hierarchy
    labels_: Int[np.ndarray, " n"]
    core_labels_: Int[np.ndarray, " n"]
    components_: list[Component]
    description_length_: float
    timings_: dict[str, float]

    @abstractmethod
    def fit(self, X: Any, y: Any = None) -> TreeEstimator:
        """Find components and hierarchy."""

    def fit_predict(self, X: Any, y: Any = None, **kwargs: Any) -> Int[np.ndarray, " n"]:
        """`fit` and return `labels_`."""
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

    # ---------------------------------------------------------------- inside

    @property
    def _workers(self) -> int:
        return -1 if self.n_jobs is None else self.n_jobs

    def _check(self, X: Any, fitting: bool = True) -> Shaped[np.ndarray, "n ..."]:
        return as_observations(self, X, fitting)

    @contextmanager
    def _timed(self, step: str) -> Iterator[None]:
        start = time.perf_counter()
        with progress.step(step, self.verbose, spinner=step != "representation"):
            yield
        self.timings_[step] = time.perf_counter() - start
        log.debug("%s: %.1f s", step, self.timings_[step])


class BaseMIMOSA(TreeEstimator):
    """Algorithm 1 of the paper: representation, components, hierarchy. Subclasses say how each is found."""

    def fit(self, X: Any, y: Any = None) -> BaseMIMOSA:
        """Find components and hierarchy.

        Parameters
        ----------
        X : array of shape (n, p), images of shape (n, h, w) or (n, h, w, c), or data frame
        y : ignored

        Returns
        -------
        self
        """
        self._check_settings()
        X = self._check(X)
        self.timings_: dict[str, float] = {}
        seeds = np.random.SeedSequence(self.random_state).spawn(3)
        with self._timed("representation"):
            self.representation_ = self._represent(X, seeds[0])
            self.embedding_ = self.representation_.transform(X)
        Z = self.embedding_
        # Rows in an order of the data's own, so that nothing depends on the order they came in.
        order = np.argsort(np.linalg.norm(Z, axis=1), kind="stable")
        n_landmarks = self._n_landmarks(len(Z))
        if n_landmarks < len(Z):
            chosen = np.random.default_rng(seeds[1]).choice(len(Z), n_landmarks, replace=False)
            order = order[np.sort(chosen)]
        found = self._decompose(Z[order], seeds[2])
        with self._timed("hierarchy"):
            self._build_tree(Z[order], found)
        with self._timed("assignment"):
            core = np.full(len(Z), -1)
            core[order] = np.where(found.labels >= 0, self._path_of_component[found.labels], -1)
            self.labels_, self.core_labels_ = self._label(Z, core, order)
        with self._timed("description"):
            self.components_, self.description_length_ = describe(
                self.sheets_, self._parents, Z, self.labels_, self.core_labels_
            )
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
        X = self._check(X, fitting=False)
        return assign(self.sheets_, self.representation_.transform(X), self.tolerance_, self._workers)[0]

    # ---------------------------------------------------------------- saving

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write `mimosa.json`, `mimosa.safetensors` and `representation.safetensors` into a folder, which is
        created if it does not exist."""
        check_is_fitted(self, "description_length_")
        save_mimosa(self, Path(folder))

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Any:
        """Read a model that `save` wrote; `MIMOSA.load` reads a `PaperMIMOSA` too."""
        return load_mimosa(Path(folder), cls._loadable())

    @classmethod
    def _loadable(cls) -> Sequence[type[BaseMIMOSA]]:
        """The classes that `load` may return, the usual one first."""
        return [cls]

    @classmethod
    @abstractmethod
    def _load_representation(cls, path: Path) -> Representation:
        """Read the representation of a saved model."""

    # ---------------------------------------------------------------- the steps

    @abstractmethod
    def _check_settings(self) -> None:
        """Raise a ValueError that names a parameter out of range, before any long work."""

    @abstractmethod
    def _represent(self, X: Shaped[np.ndarray, "n ..."], seed: np.random.SeedSequence) -> Representation:
        """Line 1."""

    @abstractmethod
    def _n_landmarks(self, n: int) -> int:
        """How many of n points the structure is found on."""

    @abstractmethod
    def _decompose(self, Z: Float[np.ndarray, "n D"], seed: np.random.SeedSequence) -> Decomposition:
        """Lines 2 to 5."""

    @abstractmethod
    def _build_tree(self, Z: Float[np.ndarray, "n D"], found: Decomposition) -> None:
        """Line 6: call `_set_tree`."""

    @abstractmethod
    def _label(
        self, Z: Float[np.ndarray, "n D"], core: Int[np.ndarray, " n"], landmarks: Int[np.ndarray, " m"]
    ) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " n"]]:
        """Labels and core labels of all points, given the core labels of the landmarks (-1 elsewhere)."""

    def _set_tree(
        self,
        Z: Float[np.ndarray, "n D"],
        found: Decomposition,
        cores: Sequence[np.ndarray],
        tree: tuple[Hierarchy, list[int], Sequence[int | None]],
    ) -> None:
        """Number everything by the hierarchy's paths. A tree is the hierarchy, the component of each of its paths,
        and the parent of each component."""
        self.hierarchy_, order, parents = tree
        dimensions = found.dimensions
        self._path_of_component = np.argsort(order)
        above = [parents[c] for c in order]
        self._parents = [None if p is None else int(self._path_of_component[p]) for p in above]
        self.sheets_ = [
            Sheet(Z[cores[c]], found.tangents.bases[cores[c], : dimensions[c]], found.curved, found.noise)
            for c in order
        ]
        self.tolerance_ = found.tolerance
        self.local_dimensions_ = found.tangents.dimensions
