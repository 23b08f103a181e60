"""How often resamples of the rows bring back the tree of an estimator."""

from __future__ import annotations

import os
from abc import abstractmethod
from dataclasses import replace
from typing import Any

from disentree.mimosa.coordinates.choosing import latent_coordinates
from disentree.mimosa.search.structure import Settings
from disentree.mimosa.stability.comparing import Found
from disentree.mimosa.stability.resampling import resample
from disentree.mimosa.stability.stability import Stability
from disentree.rows import sampled


class Resampled:
    """The part of an estimator that fits parts of its rows again."""

    hierarchy_: Any
    labels_: Any
    components_: Any
    representation_: Any
    embedding_: Any
    table_: Any
    sample_: Any
    steering_: Any
    timings_: dict[str, float]
    silent_: list[str]
    stability_: Stability | None

    @property
    @abstractmethod
    def _settings(self) -> Settings:
        """What a fit is asked for."""

    @abstractmethod
    def _rows_or(self, X: Any) -> Any:
        """The rows that it was fitted to."""

    @abstractmethod
    def _check(self, X: Any, fitting: bool = True) -> Any:
        """Rows as an array."""

    def stability(
        self,
        n_resamples: int = 20,
        *,
        X: Any = None,
        fraction: float | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Stability:
        """How often each leaf comes back when parts of the rows are fitted again.

        Each resample is a random half of the rows (four fifths of fewer than 1,000) and another seed. That takes
        about as long as so many fits; without it, `levels_` and `summary` say how far parts of the rows brought
        leaves back in the search. `summary` shows the result, `stability_`. Ctrl-C ends with what was finished. If
        leaves were merged or split, what is found in the parts is cut to as many leaves.

        Parameters
        ----------
        n_resamples : int, default=20
        X : as for `fit`, default=None
            The rows that the model was fitted to, if it was loaded from a folder.
        fraction : float or None, default=None
            Of the rows in each resample.
        checkpoint : path or None, default=None
            A file to which every finished resample is written; with it, a call that was stopped goes on.

        Returns
        -------
        Stability

        Examples
        --------
        >>> from disentree.datasets import load_dataset
        >>> ds = load_dataset("chopsticks-depth2-slope", n_samples=2000, seed=0)
        >>> from disentree import MIMOSA
        >>> print(MIMOSA(n_jobs=1).fit(ds.X).stability(n_resamples=3).verdict)
        Every group came back in at least 100% of 3 resamples of the rows.
        """
        rows, settings = self._rows_or(X), replace(self._settings, skipped=tuple(self.silent_))
        if self.representation_.kind == "autoencoder":  # a network for each resample would take too long
            rows = self.embedding_
            settings = replace(settings, coordinates=latent_coordinates(rows), column_weights=None)
        else:
            rows = sampled(rows, self.sample_)
            rows = rows if self.table_ is not None else self._check(rows, fitting=False)
        labels = sampled(self.labels_, self.sample_)
        self.stability_ = resample(
            rows,
            Found(self.hierarchy_, labels, [c.parent for c in self.components_]),
            settings,
            None if self.table_ is None else self.table_.codec,
            n_resamples=n_resamples,
            fraction=fraction,
            checkpoint=checkpoint,
            seconds=sum(self.timings_.values()),
            n_leaves=None if self.steering_ is None else len(self.hierarchy_.paths),
        )
        return self.stability_
