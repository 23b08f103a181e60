"""Paths of rows in a fitted tree, and that tree made coarser or finer: levels, cut, merge and split."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from disentree.hierarchy import Hierarchy
from disentree.hierarchy.renaming import kept_names, with_names
from disentree.mimosa.constants import FIT
from disentree.mimosa.explain.names import leaf_name
from disentree.mimosa.explain.reasons import tree_names
from disentree.mimosa.fit import in_order
from disentree.mimosa.inputs import check_leaves, is_frame, is_path, with_gaps
from disentree.mimosa.mixed.model import TableModel
from disentree.mimosa.tree.component import Component, components_of
from disentree.mimosa.tree.levels import Levels
from disentree.mimosa.tree.steering import Steering
from disentree.rows import Blocks, in_blocks, sampled, taken
from disentree.rows.dask_parts import is_dask, lazily


class Steered:
    """The part of an estimator that puts rows on paths, and makes its tree coarser and finer."""

    hierarchy_: Hierarchy
    plain_hierarchy_: Hierarchy
    labels_: Int[np.ndarray, " n"]
    core_labels_: Int[np.ndarray, " n"]
    components_: list[Component]
    matches_: list[list[int]]
    embedding_: Float[np.ndarray, "m D"]
    features_: Float[np.ndarray, "m f"] | None
    table_: TableModel | None
    again_: list[Int[np.ndarray, "k _"]]
    given_names_: dict[str, Any] | None = None
    steering_: Steering | None  # what was merged and split since the fit
    split_models_: Sequence[Any] = ()  # of the leaves that were split, each fitted to the rows of one
    sample_: Int[np.ndarray, " m"] | None = None  # the rows that the tree was found in, as often as they count
    weights_: Int[np.ndarray, " n"] | None = None  # how often each row counts; None if all count alike
    column_weights_: Float[np.ndarray, " p"] | None = None
    _maps: Any
    _features: Any
    _rows_or: Any
    _fitted_rows: Any
    _rows: Any
    _with_rows: Any

    @abstractmethod
    def _found_proba(self, X: Any) -> Float[np.ndarray, "n found"]:
        """The probability of each path of the tree that was found."""

    def predict(self, X: Any) -> Any:
        """The likeliest path of new rows.

        Parameters
        ----------
        X : as for `fit`, or a dask array or data frame

        Returns
        -------
        array of shape (n,)
            Indices into `hierarchy_.paths`; a dask array of them for a dask collection.
        """
        if is_dask(X):
            return lazily(X, self.predict, None, np.int64)
        finest = in_blocks(X, self._finest_paths, FIT.landmarks)
        return finest if self.steering_ is None else self.steering_.paths(finest)

    def _finest_paths(self, X: Any) -> Int[np.ndarray, " n"]:
        return self._finest(X).argmax(axis=1)

    def predict_proba(self, X: Any) -> Float[np.ndarray, "n paths"]:
        """The probability of each path for new rows, given that each row is of one of the leaves.

        A row that is far from all leaves may well be certain to be on one rather than on another: `outlier_score`,
        and the column `strange` of `place`, say whether it is of any.

        Parameters
        ----------
        X : as for `fit`

        Returns
        -------
        array of shape (n, n_paths)
            Rows sum to 1. Of leaves that were merged, the sum.
        """
        finest = in_blocks(X, self._finest, FIT.landmarks)
        return finest if self.steering_ is None else self.steering_.probabilities(finest)

    def _finest(self, X: Any) -> Float[np.ndarray, "n finest"]:
        """The probability of each path of the tree before leaves were merged."""
        found = self._found_proba(X)
        return found if self.steering_ is None else self._finest_probabilities(found, X)

    @cached_property
    def _levels(self) -> Levels:
        check_is_fitted(self)
        Z, labels = self._maps.Z, self._maps.labels
        if self.steering_ is not None:
            return Levels(self.hierarchy_, Z, labels)
        leaf_of = None if self.table_ is None else self.table_.leaves_of(self.hierarchy_)
        return Levels(self.hierarchy_, Z, labels, self.again_, leaf_of)

    @property
    def levels_(self) -> list[dict[str, Any]]:
        """The tree at each number of leaves, from one leaf to all.

        Two leaves that differ least are merged again and again. `cut` gives the tree of a level.

        Returns
        -------
        list of dict
            The coarsest first: `n_leaves`; `bits`, which one Gaussian for each leaf saves over one for all rows,
            per row that was held out; `support`, how far parts of the rows that are searched by themselves
            bring the least certain leaf back (Jaccard overlap; None where the tree was not asked for that); and
            `paths`, for each leaf of the level the paths of this tree that are merged into it.

        Examples
        --------
        >>> from disentree import MIMOSA
        >>> from disentree.datasets import load_dataset
        >>> m = MIMOSA(random_state=0).fit(load_dataset("iris").X)
        >>> [level["n_leaves"] for level in m.levels_]
        [1, 2]
        """
        return self._levels.table

    @property
    def level_names_(self) -> list[list[str]]:
        """The names that the leaves have where the tree is cut at each of `levels_`.

        Returns
        -------
        list of list of str
            The coarsest first, in the order of `paths` there.
        """
        cuts = (self._steering.cut(self._levels, level["n_leaves"]) for level in self.levels_)
        return [[leaf_name(tree, path.index) for path in tree.paths] for tree in map(self._named, cuts)]

    @property
    def divisions_(self) -> list[dict[str, Any]]:
        """What each choice of the tree is worth, by itself.

        Returns
        -------
        list of dict
            For each categorical: `variable`, its column in `hierarchy_.variables`; `bits`, which one Gaussian for
            each option saves over one for all of them, per row of all that was held out; and `support` of each
            option, as in `levels_`.
        """
        return self._levels.divisions()

    @property
    def linkage_(self) -> Float[np.ndarray, "m 4"]:
        """The levels as `scipy.cluster.hierarchy` has them: two clusters that are merged, the bits per row lost by
        then, and the number of paths in both.

        Returns
        -------
        array of shape (n_paths - 1, 4)
        """
        return self._levels.linkage()

    def cut(self, n_leaves: int, *, X: Any = None) -> Any:
        """The tree with at most so many leaves: the finest of `levels_` that has no more.

        Parameters
        ----------
        n_leaves : int
        X : as for `fit`, default=None
            The rows that it was fitted to, if it was loaded from a folder: branches are then named by columns.

        Returns
        -------
        MIMOSA
            Another fitted estimator, on which all methods work. Rows are on the leaf that theirs was merged into:
            levels are nested.

        Examples
        --------
        >>> from disentree import MIMOSA
        >>> from disentree.datasets import load_dataset
        >>> blobs = load_dataset("blobs", n_samples=300, seed=0)
        >>> len(MIMOSA(random_state=0).fit(blobs.X).cut(n_leaves=1).hierarchy_.paths)
        1
        """
        check_is_fitted(self)
        check_leaves(n_leaves)
        own = self._with_rows(X)
        return own._steered(own._steering.cut(own._levels, n_leaves), own.split_models_)

    def merge(self, paths: Sequence[int], *, X: Any = None) -> Any:
        """The tree with some leaves as one.

        Parameters
        ----------
        paths : list of int
            Indices into `hierarchy_.paths`. Of leaves that are combinations of independent choices, two may differ
            in one of them, whose options are then merged.
        X : as for `fit`, default=None
            As in `cut`.

        Returns
        -------
        MIMOSA
            Another fitted estimator, on which all methods work.
        """
        check_is_fitted(self)
        count, some = len(self.hierarchy_.paths), list(dict.fromkeys(paths))
        if len(some) < 2 or not all(is_path(path, count) for path in some):
            raise ValueError(f"paths must be two or more different paths of 0 to {count - 1}, got {list(paths)}")
        steering = self._steering
        first, *others = (int(np.flatnonzero(steering.path_of == path)[0]) for path in some)
        for other in others:
            a, b = int(steering.path_of[first]), int(steering.path_of[other])
            steering = steering if a == b else steering.merging(a, b)
        models = list(self.split_models_)
        while (before := steering.without_split()) is not None:
            steering = before
            models.pop()
        return self._with_rows(X)._steered(steering, models)

    def split(self, path: int, *, X: Any = None) -> Any:
        """The tree with one leaf in several: in the two that were merged into it, or else in those that are found
        when its rows are fitted by themselves.

        Parameters
        ----------
        path : int
            Index into `hierarchy_.paths`.
        X : as for `fit`, default=None
            The rows that it was fitted to, without which a model that was loaded from a folder cannot look inside
            a leaf.

        Returns
        -------
        MIMOSA
            Another fitted estimator, on which all methods work. `merge` undoes it.
        """
        check_is_fitted(self)
        if not is_path(path, count := len(self.hierarchy_.paths)):
            raise ValueError(f"path must be a path of 0 to {count - 1}, got {path!r}")
        path, model = int(path), self._with_rows(X)
        before = self._steering.unmerging(path)
        if before is not None:
            return model._steered(before, self.split_models_)
        name, own = leaf_name(self.hierarchy_, path), self.labels_ == path
        fresh, rows, about, times = model._alone(own, name)
        inside = fresh.fit(rows, **about, sample_weight=times)
        if len(inside.hierarchy_.paths) < 2:
            raise ValueError(f"nothing was found inside {name} ({int(own.sum())} rows): it is one leaf")
        return model._with_parts(path, inside)

    def _with_parts(self, path: int, inside: Any) -> Any:
        """With a leaf in those of an estimator that was fitted to its rows."""
        names = [leaf_name(inside.hierarchy_, part.index) for part in inside.hierarchy_.paths]
        dimensions = [part.dimension for part in inside.hierarchy_.paths]
        steering = self._steering.splitting(path, names, dimensions, inside.labels_, inside.core_labels_)
        return self._steered(steering, [*self.split_models_, inside])

    @property
    def local_dimensions_(self) -> Int[np.ndarray, " n"]:
        """The dimension of the leaf of each row.

        Returns
        -------
        array of shape (n,)
        """
        return np.array([path.dimension for path in self.hierarchy_.paths])[self.labels_]

    @property
    def codes_(self) -> Float[np.ndarray, "n v"]:
        """Codes of the training rows, as `transform` gives them.

        Returns
        -------
        array of shape (n, n_variables)
        """
        check_is_fitted(self)
        labels, own = self.labels_, self._fitted_rows
        if self.sample_ is not None:
            own = in_blocks(self._rows_or(None), self._features, FIT.landmarks)
        out, on = np.full((len(labels), self.hierarchy_.n_variables), np.nan), labels >= 0
        out[on] = self._maps.encode(own[on], labels[on])
        return out

    # ---------------------------------------------------------------- inside

    @property
    def _steering(self) -> Steering:
        if self.steering_ is not None:
            return self.steering_
        enclosed = [list(component.parents) for component in self.components_]
        found = (self.plain_hierarchy_, self.hierarchy_, enclosed, self.labels_, self.core_labels_)
        return Steering(*found, matches=[list(columns) for columns in self.matches_])

    @property
    def _found_hierarchy(self) -> Hierarchy:
        """The tree that the search found, before it was steered."""
        return self.plain_hierarchy_ if self.steering_ is None else self.steering_.found

    def _finest_probabilities(self, found: Float[np.ndarray, "n k"], X: Any) -> Float[np.ndarray, "n finest"]:
        parts = [model.predict_proba(X) for model in self.split_models_]
        return self._steering.finest_probabilities(found, parts)

    def _alone(self, own: Bool[np.ndarray, " n"], name: str) -> tuple[Any, Any, Any, Any]:
        """Another estimator, not fitted, some rows, what is known of columns, and how often each row counts."""
        if self._rows is None:
            raise ValueError(
                f"a model that was loaded has no rows: give X, those that it was fitted to, to look inside {name}"
            )
        times = None if self.weights_ is None or (self.weights_[own] == 1).all() else self.weights_[own]
        if (n := int(own.sum() if times is None else (times > 0).sum())) < 2:
            raise ValueError(f"{name} has {n} rows: nothing can be found inside")
        estimator: Any = self
        fresh: Any = cast(Any, clone(estimator)).set_params(n_leaves=None)
        codec = None if self.table_ is None else self.table_.codec  # empty cells may be in other rows only
        weights, rows = self.column_weights_, taken(self._rows, np.flatnonzero(own))
        if weights is not None and is_frame(rows):  # of which not all columns may be in use inside
            names = estimator.feature_names_in_ if codec is None else [c.name for c in codec.used]
            weights = dict(zip(names, weights.tolist(), strict=True))
        return fresh, rows, {"codec": codec, "column_weights": weights}, times

    def _split_by(self, path: int, labels: Int[np.ndarray, " m"]) -> Any:
        """The tree with one leaf divided by labels that some of its rows have, -1 for the others."""
        fresh, rows, about, _ = self._alone(self.labels_ == path, leaf_name(self.hierarchy_, path))
        return self._with_parts(path, fresh._fit_once(rows, **about, labels=labels))

    def _finest_labels(self, X: Any, start: int = 0) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " n"], int]:
        """The likeliest path of each row before leaves were merged, and the same in cores."""
        proba = self._finest(X)
        finest = proba.argmax(axis=1)
        return finest, np.where(proba.max(axis=1) >= FIT.core, finest, -1), 0

    def _take_all(self, X: Any, drawn: Int[np.ndarray, " m"], only_drawn: bool) -> None:
        """Be about all rows of X, having been fitted to those that were drawn of them; or label those only."""
        rows = X
        if issparse(X):
            rows = Blocks.of(np.arange(X.shape[0])[:, None], step=FIT.landmarks).then(lambda own: X[own[:, 0]])
        finest, core, _ = in_order(Blocks.of(rows), self._finest_labels)
        self.weights_ = times = np.bincount(drawn, minlength=len(finest))
        if only_drawn:
            finest[times == 0] = core[times == 0] = -1
        self._rows = X if isinstance(X, Blocks) else with_gaps(X)
        self.sample_ = drawn if self.sample_ is None else drawn[self.sample_]
        steering = self.steering_
        self.labels_, self.core_labels_ = finest, core
        if steering is not None:
            self.steering_ = steering = replace(steering, labels=finest, core_labels=core)
            self.labels_, self.core_labels_ = steering.paths(finest), steering.paths(core)
        dimensions = [path.dimension for path in self.hierarchy_.paths]
        parents, enclosed = [c.parent for c in self.components_], [c.parents for c in self.components_]
        both = self.labels_, self.core_labels_
        self.components_ = components_of(
            self.embedding_, *both, dimensions, parents, enclosed, sample=self.sample_
        )

    def _steered(self, steering: Steering, models: Sequence[Any]) -> Any:
        """Another estimator with this tree."""
        out: Any = copy.copy(self)
        is_found = not (steering.splits or steering.merges)
        out.steering_, out.split_models_ = None if is_found else steering, models
        labels, core = steering.paths(steering.labels), steering.paths(steering.core_labels)
        tree, enclosed = steering.tree, steering.tree_enclosed()
        dimensions = [path.dimension for path in tree.paths]
        parents = [own[0] if own else None for own in enclosed]
        out.hierarchy_, out.plain_hierarchy_, out.labels_, out.core_labels_ = tree, tree, labels, core
        out.components_ = components_of(
            self.embedding_, labels, core, dimensions, parents, enclosed, sample=self.sample_
        )
        if self.table_ is not None:
            out.table_ = replace(self.table_, found=steering.found, origins=[] if is_found else steering.origins)
        out.matches_, out.stability_ = steering.matches if is_found else [], None
        out._rows = self._rows
        out._completed()
        Z, own = out._fitted_rows, out.sample_labels_
        out.hierarchy_ = self._named(steering, lambda some: out._maps.encode(Z[some], own[some]))
        return out

    def _named(self, steering: Steering, encode: Any = None) -> Hierarchy:
        """A tree with names: its own, or by the columns of the rows; of variables by what their codes move."""
        tree, named = steering.tree, steering.named_tree
        rows = None if self._rows is None else sampled(self._rows, self.sample_)
        if (steering.splits or steering.merges) and is_frame(rows):
            codec = None if self.table_ is None else self.table_.codec
            labels = sampled(steering.paths(steering.labels), self.sample_)
            told = tree_names(rows, bare := steering.unnamed_tree, labels, codec, encode)
            named = with_names(bare, told) if told["options"] else tree
        return named if self.given_names_ is None else kept_names(tree, named, self.given_names_)
