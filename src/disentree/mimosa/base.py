"""What every estimator of a tree of components has: text, graph, progress, saving."""

from __future__ import annotations

import copy
import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_matrix, issparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from disentree.hierarchy import Hierarchy
from disentree.hierarchy.renaming import names_given, renamed
from disentree.mimosa.coordinates.representation import Representation
from disentree.mimosa.explain.explanation import Explanation
from disentree.mimosa.explain.factors import factors_of
from disentree.mimosa.explain.names import leaf_name
from disentree.mimosa.explain.reasons import explain_tree, with_lost
from disentree.mimosa.explain.sentences import lost_sentences
from disentree.mimosa.explain.telling import telling_frame
from disentree.mimosa.inputs import as_observations, is_frame, with_gaps
from disentree.mimosa.saving.folder import save_mimosa
from disentree.mimosa.saving.loading import load_mimosa
from disentree.mimosa.stability.stability import Stability
from disentree.mimosa.summary.summary import Summary, summarize
from disentree.mimosa.tree.component import Component
from disentree.mimosa.tree.lost_enclosures import lost_enclosures, lost_variables
from disentree.rows import opened, sampled

if TYPE_CHECKING:
    import networkx


class TreeEstimator(ClusterMixin, BaseEstimator):
    """What the default MIMOSA and the paper's share."""

    random_state: int | None
    n_jobs: int | None
    verbose: bool
    hierarchy_: Hierarchy
    plain_hierarchy_: Hierarchy  # the same with the names that it has before reasons are looked for
    labels_: Int[np.ndarray, " n"]
    core_labels_: Int[np.ndarray, " n"]
    components_: list[Component]
    description_length_: float
    embedding_: Float[np.ndarray, "m D"]
    sample_: Int[np.ndarray, " m"] | None = None  # the rows that these are; None for all
    representation_: Representation
    timings_: dict[str, float]
    shape_: tuple[int, ...]  # of a row
    stability_: Stability | None = None
    given_names_: dict[str, Any] | None = None  # by `rename`: new names by those in `plain_hierarchy_`
    matches_: list[list[int]]  # columns that are the same variable on different branches
    _saved: tuple[str, ...]  # fitted attributes that are saved, beside the hierarchy and what follows from them
    _rows: Any = None  # that it was fitted to, for reasons and doubt; neither saved nor copied

    @abstractmethod
    def fit(self, X: Any, y: Any = None) -> TreeEstimator:
        """Find components and hierarchy."""

    @abstractmethod
    def predict(self, X: Any) -> Any:
        """The path of new rows."""

    def fit_predict(self, X: Any, y: Any = None, **kwargs: Any) -> Int[np.ndarray, " n"]:
        """`fit` and return `labels_`."""
        fit: Any = self.fit
        return fit(X, **kwargs).labels_

    @property
    def sample_labels_(self) -> Int[np.ndarray, " m"]:
        """The labels of the rows that the tree was found in, those of `embedding_`.

        Returns
        -------
        array of shape (m,)
        """
        return self.labels_ if self.sample_ is None else self.labels_[self.sample_]

    # ---------------------------------------------------------------- reading the result

    def summary(self, full: bool = False) -> str:
        """What was found, what varies and how sure it is, in three sentences, and the tree, as text.

        Parameters
        ----------
        full : bool, default=False
            Whether all of the tree is shown; else as much as fits on a screen.

        Returns
        -------
        str

        Examples
        --------
        >>> from disentree import MIMOSA
        >>> from disentree.datasets import load_dataset
        >>> m = MIMOSA(random_state=0).fit(load_dataset("penguins").X)
        >>> print(m.summary().partition(":")[0])
        3 groups of rows
        """
        return self.summary_.text(full)

    @property
    def summary_(self) -> Summary:
        """What `summary` shows, as one object.

        Returns
        -------
        Summary
            With `sentences`, `footnote`, `text()`, `markdown()`, `html()` and `to_dict()`.
        """
        check_is_fitted(self)
        return self._summary(self.labels_)

    def _summary(self, labels: Int[np.ndarray, " n"]) -> Summary:
        """The summary of the tree with these rows on its branches."""
        stability = None if self.stability_ is None else self.stability_.to_dict()
        notes, counts = tuple(self._lost_in_words()), self.representation_.stabilizer.words
        told = (*([counts] if counts else []), *self._afterwards())
        return summarize(self.hierarchy_, labels, stability=stability, notes=notes, told=told, **self._evidence())

    def _afterwards(self) -> list[str]:
        """What was done to the tree after the search, and what could not be."""
        return []

    def _evidence(self) -> dict[str, Any]:
        """What `summarize` is to know beside the tree and its rows."""
        return {}

    @property
    def lost_(self) -> list[dict[str, Any]]:
        """Enclosures that `hierarchy_` does not hold, since a branch of it follows one parent.

        Returns
        -------
        list of dict
            `component` encloses `parent` (indices into `components_`), and yet does not have its `variables` in
            `hierarchy_` (columns): in the tree they look like variables of their own.
        """
        check_is_fitted(self)
        return lost_enclosures(self.hierarchy_, [component.parents for component in self.components_])

    def _lost_in_words(self) -> list[str]:
        def name_of(component: int) -> str:
            return f"component {component}{self._name_of(component)}"

        return lost_sentences(self.hierarchy_, self.lost_, self.matches_, name_of)

    def _name_of(self, component: int) -> str:
        """The last choice on the way to a component, if it has got a name."""
        if self.hierarchy_.to_dict() == self.plain_hierarchy_.to_dict():
            return ""
        choices = self.hierarchy_.paths[component].choices
        return "".join(f" ({self.hierarchy_.variables[column].options[k]})" for column, k in choices[-1:])

    def to_networkx(self) -> networkx.DiGraph:
        """Which component encloses which; an edge leads from a component to one that encloses it directly.

        Returns
        -------
        networkx.DiGraph
            Nodes are components, with `dimension`, `size` and `path`. An edge has `in_tree`: whether `hierarchy_`
            follows it. The edges with it are a tree; all of them may give a component several parents.
        """
        import networkx

        check_is_fitted(self)
        graph = networkx.DiGraph()
        for c, component in enumerate(self.components_):
            name = self.hierarchy_.paths[c].name
            graph.add_node(c, dimension=component.dimension, size=component.size, path=name)
        for i, component in enumerate(self.components_):
            for parent in component.parents:
                graph.add_edge(parent, i, in_tree=not lost_variables(self.hierarchy_, i, parent))
        return graph

    @property
    def factors_(self) -> list[dict[str, Any]]:
        """The choices of a product: categoricals beside each other at the root, which do not depend on each other.

        For each a dict with its name, its column of codes, its options and the number of continuous variables that
        each of them opens. Empty if there are not two of them.
        """
        check_is_fitted(self)
        return factors_of(self.hierarchy_)

    def explain(self, X: Any = None) -> Explanation:
        """Why the tree branches where it does, in terms of the columns of the data.

        Parameters
        ----------
        X : as for `fit`, default=None
            Rows to explain the tree by; None takes those that it was fitted to. A model that was saved and loaded
            has none.

        Returns
        -------
        Explanation
            `print` shows it as sentences; `.splits` and `.leaves` are lists of dicts.
        """
        check_is_fitted(self)
        if len(self.shape_) > 1 or getattr(self._rows if X is None else X, "ndim", 2) > 2:
            advice = "a COFHAE shows what its variables do to them"
            raise ValueError(f"reasons are told in terms of columns, and images have none: {advice}")
        if X is not None and (getattr(X, "ndim", 2) == 1 or np.shape(X)[:1] == (1,)):
            raise ValueError("reasons compare rows, and X is one row: `why` says why it is on its leaf")
        if X is None:
            X, labels = sampled(self._rows_or(None), self.sample_), self.sample_labels_
        else:
            labels = self.predict(X)
        names = getattr(self, "names_", None)
        if issparse(X) or names is not None:
            rows = X if issparse(X) else self._check(X, fitting=False)  # numbers, whatever a frame holds
            X, shown = telling_frame(csr_matrix(rows), np.asarray(labels), names)
            labels = np.asarray(labels)[shown]
        table = getattr(self, "table_", None)
        found = explain_tree(X, self.hierarchy_, labels, codec=None if table is None else table.codec)
        found = with_lost(found, self.hierarchy_, self.lost_, self.matches_)
        return replace(found, summary=self._summary(np.asarray(labels)).sentences)

    def rename(self, names: Mapping[Any, str]) -> Any:
        """Give other names to leaves, variables or options of `hierarchy_`. They are saved, and stay where the
        tree is made coarser or finer.

        Parameters
        ----------
        names : dict
            New names: by path, an index into `hierarchy_.paths`, or by the old name of a leaf, of a variable, of
            an option, or ``"variable=option"`` where several variables have such an option.

        Returns
        -------
        self

        Examples
        --------
        >>> from disentree import MIMOSA
        >>> from disentree.datasets import load_dataset
        >>> m = MIMOSA(random_state=0).fit(load_dataset("blobs", n_samples=300, seed=0).X)
        >>> m.rename({0: "round"}).hierarchy_.paths[0].name
        'c1=round'
        """
        check_is_fitted(self)
        before = self.hierarchy_
        if isinstance(names, Mapping):
            known = {name for v in before.variables for name in (v.name, *v.options)}
            leaves = {leaf_name(before, path.index): path.index for path in before.paths if path.choices}
            names = {old if old in known else leaves.get(old, old): new for old, new in names.items()}
        self.hierarchy_ = renamed(before, names)
        given = names_given(self.plain_hierarchy_, before, self.hierarchy_)
        earlier = self.given_names_ or {"variables": {}, "options": {}}
        self.given_names_ = {
            "variables": {**earlier["variables"], **given["variables"]},
            "options": {
                v: {**earlier["options"].get(v, {}), **given["options"].get(v, {})}
                for v in {**earlier["options"], **given["options"]}
            },
        }
        return self

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

    @property
    def verdict_(self) -> str:
        """What was found, in a sentence: the first of `summary`."""
        return self.summary_.sentences[0]

    # ---------------------------------------------------------------- saving

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write `mimosa.json`, `mimosa.safetensors` and `representation.safetensors` into a folder.

        `MODEL_CARD.md` beside them tells readers what the model is.

        Parameters
        ----------
        folder : path
            It is created if it does not exist.
        """
        check_is_fitted(self, "description_length_")
        save_mimosa(self, Path(folder))

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Any:
        """Read a model that `save` wrote.

        Parameters
        ----------
        folder : path

        Returns
        -------
        MIMOSA or PaperMIMOSA
            Whichever was saved; `PaperMIMOSA.load` refuses a `MIMOSA`.
        """
        return load_mimosa(Path(folder), cls._loadable())

    @classmethod
    def _loadable(cls) -> Sequence[type[TreeEstimator]]:
        """The classes that `load` may return, the usual one first."""
        return [cls]

    @classmethod
    @abstractmethod
    def _load_representation(cls, path: Path) -> Representation:
        """Read the representation of a saved model."""

    # ---------------------------------------------------------------- inside

    def _html_repr(self) -> str:
        """What a notebook shows: the summary once it is fitted."""
        return self.summary_.html() if hasattr(self, "hierarchy_") else estimator_html_repr(self)

    def __getstate__(self) -> dict[str, Any]:
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_rows"}

    def _completed(self) -> TreeEstimator:
        """With what is made of the fitted attributes and not saved; called after fitting and loading."""
        return self

    def _rows_or(self, X: Any) -> Any:
        """The rows that it was fitted to: those that are given, or those that it still has."""
        check_is_fitted(self)
        rows = self._rows if X is None else X
        if rows is None:
            raise ValueError("a model that was loaded has no rows: give X, the rows that it was fitted to")
        n = rows.shape[0] if issparse(rows) else len(rows)
        if n != len(self.labels_):
            raise ValueError(f"X must be the {len(self.labels_)} rows that it was fitted to, got {n}")
        return rows

    def _with_rows(self, X: Any) -> Any:
        """With the rows that it was fitted to, where they are given: a model that was loaded has none."""
        if X is None:
            return self
        out: Any = copy.copy(self)
        X, names = with_gaps(opened(X)), getattr(self, "feature_names_in_", None)
        if is_frame(X) and getattr(self, "table_", None) is None and names is not None:
            X = X.loc[:, [str(name) in names for name in X.columns]]
        out._rows = self._rows_or(X)
        return out

    @property
    def _workers(self) -> int:
        return -1 if self.n_jobs is None else self.n_jobs

    def _check(self, X: Any, fitting: bool = True) -> Any:
        return as_observations(self, X, fitting)
