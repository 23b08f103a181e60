"""New rows beside those that a tree was found in: which fit nowhere, and what changed."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from sklearn.utils.validation import check_is_fitted

from disentree.geometry.neighbors import thinned
from disentree.mimosa.constants import FIT
from disentree.mimosa.coordinates.reach import Reach
from disentree.mimosa.coordinates.representation import Representation
from disentree.mimosa.density.candidate import Candidate
from disentree.mimosa.density.constants import DENSITY
from disentree.mimosa.density.structureless import Background, background_of, fits_nowhere
from disentree.mimosa.explain.names import leaf_name
from disentree.mimosa.watching.drift import Drift, Told, drift_of
from disentree.rows import sampled


class Watched:
    """The part of an estimator that compares later rows with those that it was fitted to."""

    hierarchy_: Any
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
        X : as for `fit`
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
        for start in range(0, len(Z), DENSITY.rows_at_a_time):
            some = Z[start : start + DENSITY.rows_at_a_time]
            out[start : start + len(some)] = fits_nowhere(self.candidate_.log_density(some), broad, some)
        return out
