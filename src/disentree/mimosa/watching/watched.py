"""New rows beside those that a tree was found in: which fit nowhere, and what changed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.sparse import csr_matrix, issparse, vstack
from sklearn.utils.validation import check_is_fitted

from disentree.geometry.neighbors import thinned
from disentree.hierarchy.renaming import kept_names
from disentree.mimosa.constants import FIT
from disentree.mimosa.coordinates.choosing import Coordinates
from disentree.mimosa.coordinates.columns import Columns
from disentree.mimosa.coordinates.reach import Reach
from disentree.mimosa.coordinates.representation import Representation, as_rows
from disentree.mimosa.density.candidate import Candidate, LeafCandidate
from disentree.mimosa.density.structureless import Background, background_of, fits_nowhere
from disentree.mimosa.explain.names import leaf_name
from disentree.mimosa.finders.constants import FINDERS
from disentree.mimosa.finders.protocol import Rows
from disentree.mimosa.inputs import named
from disentree.mimosa.search.rare_pieces import Kind, with_kinds
from disentree.mimosa.search.search import Outcome, improved
from disentree.mimosa.search.structure import Known
from disentree.mimosa.watching.drift import Drift, Told, drift_of
from disentree.mimosa.watching.update import Kept, Update, new_kinds
from disentree.rows import sampled
from disentree.utils.threads import threads


class Watched:
    """The part of an estimator that compares later rows with those that it was fitted to."""

    hierarchy_: Any
    plain_hierarchy_: Any
    candidate_: Candidate
    embedding_: Float[np.ndarray, "m D"]
    features_: Float[np.ndarray, "m f"] | None
    sample_: Int[np.ndarray, " m"] | None
    labels_: Int[np.ndarray, " n"]
    reach_: Reach
    representation_: Representation
    description_length_: float
    table_: Any
    steering_: Any
    names_: list[str] | None
    candidates_: list[dict[str, Any]]
    saved_bits_: float
    saved_bits_doubt_: float
    silent_: list[str]
    floor_: Float[np.ndarray, " D"]
    columns_: Columns | None
    kept_: Kept | None = None  # of rows that came since the fit
    shape_: tuple[int, ...]
    random_state: int | None
    n_neighbors: int
    place: Any
    _rows: Any
    _fit_once: Any
    _check: Any
    _tabular: Any
    _found_hierarchy: Any

    @abstractmethod
    def predict(self, X: Any) -> Any:
        """The likeliest path of new rows."""

    @abstractmethod
    def _placed(self, X: Any) -> tuple[Float[np.ndarray, "n found"], Float[np.ndarray, " n"]]:
        """The probability of each path of the tree that was found, and the bits that each row takes."""

    @abstractmethod
    def _numbers(self, X: Any) -> Any:
        """What the representation takes of rows."""

    def drift(self, X: Any, *, level: float = 0.05) -> Drift:
        """Which leaves have another share of new rows, and on which new rows are stranger, beyond chance.

        Parameters
        ----------
        X : as for `fit`, but in memory: no path, and nothing of Dask
            New rows.
        level : float, default=0.05
            How often anything may be told to have changed where nothing did.

        Returns
        -------
        Drift
            `print` tells in words what changed; `.changed` is whether anything did, and `.table` has the shares
            and bits of each leaf, those of the training rows beside them.

        Examples
        --------
        >>> from disentree import MIMOSA
        >>> from disentree.datasets import load_dataset
        >>> X = load_dataset("blobs", n_samples=1000, seed=0).X
        >>> m = MIMOSA(random_state=0).fit(X[:500])
        >>> print(m.drift(X[500:]))
        Nothing changed beyond chance in 500 new rows.
        >>> m.drift(X[500:] + 1).changed
        True
        """
        check_is_fitted(self)
        if isinstance(level, bool) or not 0 < level < 1:
            raise ValueError(f"level must be between 0 and 1, got {level!r}")
        names = [leaf_name(self.hierarchy_, path.index) for path in self.hierarchy_.paths]
        before = self._training()
        broad = Background.fit(self.embedding_, np.full(self.embedding_.shape[1], np.finfo(float).tiny))
        own = -broad.mixed(self.candidate_.log_density(self.embedding_), self.embedding_) / np.log(2)
        held_out = max(0.0, self.description_length_ - float(own.mean()))
        return drift_of(before, self._told(X), names, held_out, level)

    def update(self, X: Any) -> Update:
        """Place new rows, keep those that fit nowhere, and make a leaf of them once there are enough of a kind.

        Kept rows are searched as rare kinds are: what a valley separates from everything else, and parts of the
        rows bring back, is a leaf. It joins the tree, whose other leaves stay as they are, and its rows join
        those that the model was fitted to. At most 6,000 rows are kept, and saved with the model.

        Parameters
        ----------
        X : as for `fit`, but in memory: no path, and nothing of Dask
            New rows.

        Returns
        -------
        Update
            `print` tells in words what they brought; `.placed` is where they are, and `.leaves` are the names of
            leaves that have formed. Tables with categories or empty cells, images, products of choices and trees
            that were cut or split keep their leaves: new kinds are told only.

        Examples
        --------
        >>> import numpy as np
        >>> from disentree import MIMOSA
        >>> from disentree.datasets import load_dataset
        >>> X = load_dataset("blobs", n_samples=500, seed=0).X
        >>> m = MIMOSA(random_state=0).fit(X)
        >>> new = 40 + np.random.default_rng(0).normal(size=(60, X.shape[1]))
        >>> print(m.update(new[:20]))
        20 rows, of which 20 fit nowhere.
        20 rows are kept.
        >>> update = m.update(new[20:])
        >>> len(update.leaves), len(np.unique(m.predict(new)))
        (1, 1)
        """
        check_is_fitted(self)
        if getattr(self, "floor_", None) is None:
            raise ValueError("the model was saved by a version that kept no rows: fit it again to update it")
        placed = self.place(X)
        mine = self._row_features(X)[~placed["fits"].to_numpy()]
        mine = np.asarray(mine.toarray() if issparse(mine) else mine, dtype=np.float64)
        kept = Kept(mine[:0]) if self.kept_ is None else self.kept_
        self.kept_ = kept = kept.with_more(mine, len(placed), self.random_state)
        kinds: list[Kind] = []
        if kept.is_enough:
            some = self.embedding_[thinned(np.arange(len(self.embedding_)), FINDERS.searched)]
            estimator: Any = self
            jobs = estimator._workers
            rows = Rows(some, self.floor_, self.columns_, n_neighbors=self.n_neighbors, n_jobs=jobs)
            with threads(jobs):
                kinds = new_kinds(self.candidate_, rows, self._kept_coordinates(), self._n_seen, self.random_state)
            self.kept_ = replace(kept, looked=len(kept.rows))
        sizes, why_not = [len(kind.own) for kind in kinds], self._no_new_leaves() if kinds else ""
        names = self._with_leaves(kinds) if kinds and not why_not else []
        return Update(placed, names, sizes, len(self.kept_.rows), why_not)

    @property
    def _n_seen(self) -> int:
        """Rows that were fitted or came later."""
        return len(self.labels_) + (0 if self.kept_ is None else self.kept_.seen)

    def _no_new_leaves(self) -> str:
        """Why no leaf can join the tree; "" if one can."""
        if self.table_ is not None:
            return "in a table with categories or empty cells leaves are found by a fit"
        if self.columns_ is None or len(self.shape_) > 1:
            return "leaves of images are found by a fit"
        if self.candidate_.product is not None:
            return "the tree is a product of choices"
        if self._rows is None and self.names_ is not None:
            return "a model of sparse rows that was loaded has none of them"
        if self.sample_ is not None:
            return "the tree was looked for in some of the rows"
        return "" if self.steering_ is None else "the tree was cut, merged or split"

    def _with_leaves(self, kinds: Sequence[Kind]) -> list[str]:
        """Be a model with new leaves, whose names are returned."""
        assert self.kept_ is not None
        kept, n = self.kept_, self._n_seen
        own = np.unique(np.concatenate([kind.own for kind in kinds]))
        before = LeafCandidate(self.candidate_.finder, self.candidate_.components, self.candidate_.shares)
        found = with_kinds(before, kinds, n)
        fitted = self._fitted_numbers()
        if issparse(fitted):
            rows: Any = csr_matrix(vstack([fitted, csr_matrix(kept.rows[own])]))
        else:
            rows = np.concatenate([fitted, kept.rows[own]])
        old = Outcome(
            before,
            self.candidates_,
            self.description_length_,
            self.saved_bits_,
            self.saved_bits_doubt_,
            tuple(self.silent_),
        )
        Z = self._kept_coordinates()[own]
        saved = (found.log_density(Z) - before.log_density(Z)).sum() / np.log(2) / n
        outcome = improved(old, replace(found, finder=f"{before.finder} + new rows"), float(saved), 0.0, 0.0)
        before_them, n_rows = fitted.shape[0], rows.shape[0]
        known = Known(outcome, np.arange(before_them, n_rows))
        coordinates = Coordinates(self.representation_, self.floor_, self.columns_)
        given, weights = self.given_names_, self.column_weights_
        reach, were_known, names = self.reach_, self._rows is not None, getattr(self, "feature_names_in_", None)
        self._fit_once(
            rows if names is None else named(rows, list(names)), None, known=known, coordinates=coordinates
        )
        if given is not None:
            self.hierarchy_ = kept_names(self.plain_hierarchy_, self.hierarchy_, given)
            self.given_names_ = given
        self.column_weights_ = weights
        self.reach_, self.kept_ = reach, Kept(np.delete(kept.rows, own, axis=0), kept.seen)
        self._rows = self._rows if were_known else None
        return [leaf_name(self.hierarchy_, int(path)) for path in np.unique(self.labels_[before_them:])]

    def _fitted_numbers(self) -> Any:
        """The rows that were fitted, as far as they are known."""
        if self._rows is None:
            return self.representation_.inverse_transform(self.embedding_)
        return self._check(self._rows, fitting=False)

    def _kept_coordinates(self) -> Float[np.ndarray, "r D"]:
        assert self.kept_ is not None
        rows = self.kept_.rows
        if self.table_ is not None:
            return self.reach_(self.representation_, self.table_.numbers(self.table_.codec.cells(rows)))[0]
        return self.reach_(self.representation_, rows.reshape(len(rows), *self.shape_))[0]

    def _row_features(self, X: Any) -> Any:
        """The features of rows of a table, else the numbers of each."""
        if self.table_ is not None:
            return self.table_.codec.features(self.table_.codec.read(self._tabular(X)))
        return as_rows(self._check(X, fitting=False))

    def _training(self) -> Told:
        """What is known of training rows."""
        some = thinned(np.arange(len(self.embedding_)), FIT.landmarks)
        paths, Z = sampled(self.labels_, self.sample_)[some], self.embedding_[some]
        if self.table_ is None:
            return Told(paths, self._bits(Z), self._nowhere(Z))
        assert self.features_ is not None
        labels = sampled(self.labels_ if self.steering_ is None else self.steering_.labels, self.sample_)
        rows = self.table_.frame(self.features_[some], self._found_hierarchy, labels[some])
        return Told(paths, self._placed(rows)[1], self._nowhere(Z))

    def _told(self, X: Any) -> Told:
        """What is known of new rows."""
        Z = self._within_reach(X)
        bits = self._bits(Z) if self.table_ is None else self._placed(X)[1]
        return Told(np.asarray(self.predict(X)), bits, self._nowhere(Z))

    def _bits(self, Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, " n"]:
        return -self.candidate_.log_density(Z) / np.log(2)

    def _within_reach(self, X: Any) -> Float[np.ndarray, "n D"]:
        return self.reach_(self.representation_, self._numbers(X))[0]

    def _nowhere(self, Z: Float[np.ndarray, "n D"]) -> Bool[np.ndarray, " n"]:
        """Which rows fit no leaf."""
        broad, out = background_of(self.embedding_, len(self.labels_)), np.empty(len(Z), bool)
        for start in range(0, len(Z), FIT.landmarks):
            some = Z[start : start + FIT.landmarks]
            out[start : start + len(some)] = fits_nowhere(self.candidate_.log_density(some), broad, some)
        return out
