"""Which path a row is on: that of the MIMOSA that found the tree, or of the encoder if the tree was given."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from disentree.cofhae.base import AutoencoderEstimator
from disentree.rows.dask_parts import is_dask
from disentree.training.data import blocks_of, is_blocks


class PathEstimator(AutoencoderEstimator):
    """The part of COFHAE that assigns rows to paths."""

    def transform(self, X: Any, paths: ArrayLike | None = None) -> Any:
        """Codes of X for `hierarchy_`.

        Parameters
        ----------
        X : array-like, data frame, dask array or blocks of rows
            Rows of the same kind as in `fit`.
        paths : array-like of int of shape (n,), default=None
            The path that each row is coded on; None, and for rows with -1: that of `mimosa_`, or of the encoder.

        Returns
        -------
        array of shape (n, n_variables)
            NaN where a variable is not active. A dask array if X is one.
        """
        check_is_fitted(self, "autoencoder_")
        if is_dask(X) or (paths is None and self._judge is None):
            return super().transform(X)
        chosen = None if paths is None else np.asarray(paths, dtype=np.int64)
        if self._judge is not None and (chosen is None or (chosen < 0).any()):
            found = self._judged(X, "predict")
            chosen = found if chosen is None else np.where(chosen < 0, found, chosen)
        return self._codes(X, chosen)

    @property
    def _judge(self) -> Any:
        """The MIMOSA that says which path a row is on. The paper's does not; nor does one that does not know rows
        as they come."""
        is_given = getattr(self.mimosa_, "representation", None) == "given"
        knows = hasattr(self.mimosa_, "predict_proba") and not is_given
        return self.mimosa_ if knows else None

    def _judged(self, X: Any, method: str) -> Any:
        """What a method of `mimosa_` says about rows."""
        blocks = blocks_of(X) if is_blocks(X) else [self.preprocessor_.to_searched(X)]
        return np.concatenate([getattr(self._judge, method)(block) for block in blocks])

    @torch.no_grad()
    def predict_proba(self, X: Any) -> Float[np.ndarray, "n paths"]:
        """The probability of each path: that of `mimosa_`, or if the structure was given that of the encoder.

        Parameters
        ----------
        X : array-like, data frame or blocks of rows
            Rows of the same kind as in `fit`.

        Returns
        -------
        array of shape (n, n_paths)
            Rows sum to 1.
        """
        check_is_fitted(self, "autoencoder_")
        if self._judge is not None:
            return self._judged(X, "predict_proba")
        self.autoencoder_.eval()
        choices = self.autoencoder_.mask.path_options().T
        out = []
        for block in self._read_again(X).blocks():
            code = self.autoencoder_.encode(self.input_.to_input(self.input_.prepare(block)))
            joint = (code.log_p.cpu().double() @ choices.double()).exp()
            out.append((joint / joint.sum(dim=1, keepdim=True)).numpy())
        return np.concatenate(out)
