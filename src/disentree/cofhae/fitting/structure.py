"""The structure that `COFHAE.fit` is not given: found by MIMOSA, also in data frames and in blocks of rows."""

from __future__ import annotations

import logging
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from sklearn.base import clone

from disentree.cofhae import constants
from disentree.cofhae.preprocessor import Preprocessor
from disentree.hierarchy import Hierarchy
from disentree.mimosa import MIMOSA
from disentree.mimosa.coordinates.autoencoder import autoencoder_representation, untold
from disentree.mimosa.coordinates.representation import Representation, as_float, as_rows
from disentree.mimosa.inputs import is_frame
from disentree.training.checkpoints import checkpoints_in
from disentree.training.data import ArraySource, Source, sample_rows

log = logging.getLogger("disentree.cofhae")


@dataclass(frozen=True)
class Structure:
    """The tree that a code follows."""

    hierarchy: Hierarchy
    paths: Int[np.ndarray, " n"]  # of the rows, -1 for none
    preprocessor: Preprocessor
    matches: list[list[int]]  # columns that are the same variable on different branches
    mimosa: Any = None  # the estimator that found it
    representation: Any = None  # its coordinates
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
        list(getattr(mimosa, "matches_", [])),
        mimosa,
        getattr(mimosa, "representation_", None) if table is None else None,
        getattr(mimosa, "codes_", None) if is_frame(X) else None,
    )


def tells_more(model: Any, source: Source, representation: Any, seed: int) -> bool:
    """Whether the latent of an autoencoder tells more of images that it has not seen than as many principal
    components as leaves have dimensions. Asked where MIMOSA took principal components of few images, which it does
    without trying anything else."""
    if getattr(representation, "kind", None) != "linear" or not isinstance(source, ArraySource):
        return True
    X = np.asarray(source.X)
    held = np.random.default_rng(seed).permutation(len(X)) < max(len(X) // 10, 1)
    found = autoencoder_representation(X[~held], np.random.SeedSequence(seed), model.verbose)
    d = max(path.dimension for path in model.hierarchy_.paths)
    left = as_float(as_rows(X[held]), found.pixel_scale).astype(np.float64) - found.mean
    axes = found.weights[:, :d].astype(np.float64)  # principal axes of images: those that the network begins with
    by_components = np.square(left - left @ axes @ axes.T).sum() / np.square(left).sum().clip(1e-300)
    share = untold(found, X[held])
    if share >= by_components:
        log.info(
            "an autoencoder leaves %.0f %% of new images untold, %d principal components %.0f %%: these are taken",
            100 * share, d, 100 * by_components,
        )  # fmt: skip
    return bool(share < by_components)


def find_representation(model: Any, source: Source, seed: int) -> Representation:
    """The autoencoder that MIMOSA with this seed encodes the data with."""
    whole = isinstance(source, ArraySource)
    X = np.asarray(source.X) if whole else sample_rows(source, constants.MIMOSA_ROWS, np.random.default_rng(seed))
    with nullcontext() if model.checkpoint is None else checkpoints_in(model.checkpoint):
        return autoencoder_representation(X, np.random.SeedSequence(seed).spawn(3)[0], model.verbose)
