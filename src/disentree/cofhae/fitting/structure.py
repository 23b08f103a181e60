"""The structure that `COFHAE.fit` is not given: found by MIMOSA, also in data frames and in blocks of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from sklearn.base import clone

from disentree.cofhae import constants
from disentree.cofhae.preprocessor import Preprocessor
from disentree.hierarchy import Hierarchy
from disentree.mimosa import MIMOSA
from disentree.mimosa.inputs import is_frame
from disentree.training.data import ArraySource, Source, sample_rows


@dataclass(frozen=True)
class Structure:
    """The tree that a code follows."""

    hierarchy: Hierarchy
    paths: Int[np.ndarray, " n"]  # of the rows, -1 for none
    preprocessor: Preprocessor
    mimosa: Any = None  # the estimator that found it
    codes: Float[np.ndarray, "n v"] | None = None  # of the rows, whose variables the names of the tree are of


def ask_mimosa(model: Any, X: Any, source: Source, preprocessor: Preprocessor, seed: int) -> Structure:
    """The structure that MIMOSA finds in X, of which `source` has the features: a data frame with the names of its
    columns, which name branches; data that is read in blocks by a sample."""
    settings = {"random_state": seed, "verbose": model.verbose, "placement": model.placement}
    mimosa: Any = MIMOSA(**settings) if model.mimosa is None else clone(model.mimosa)
    if isinstance(source, ArraySource):
        paths = mimosa.fit(X if is_frame(X) else source.X).labels_
    else:
        mimosa.fit(sample_rows(source, constants.MIMOSA_ROWS, np.random.default_rng(seed)))
        paths = np.concatenate([mimosa.predict(block) for block in source.blocks()])
    table = getattr(mimosa, "table_", None)
    return Structure(
        mimosa.hierarchy_,
        np.asarray(paths, dtype=np.int64),
        preprocessor if table is None else Preprocessor(table=table),
        mimosa,
        getattr(mimosa, "codes_", None) if is_frame(X) else None,
    )
