"""The structure that `COFHAE.fit` is not given: found by MIMOSA, also in data frames and in blocks of rows."""

from __future__ import annotations

import logging
from contextlib import nullcontext
from typing import Any, cast

import numpy as np
from jaxtyping import Int
from sklearn.base import clone

from disentree.cofhae import constants
from disentree.hierarchy import Hierarchy
from disentree.mimosa import MIMOSA
from disentree.mimosa.coordinates.autoencoder import autoencoder_representation, untold
from disentree.mimosa.coordinates.representation import Representation, as_float, as_rows
from disentree.mimosa.inputs import is_frame
from disentree.mimosa.mixed.model import TableModel, table_without_branches
from disentree.tables import Codec
from disentree.training.checkpoints import checkpoints_in
from disentree.training.data import ArraySource, Source, sample_rows
from disentree.training.session import pick_seed

log = logging.getLogger("disentree.cofhae")


def make_mimosa(model: Any, seed: int) -> Any:
    """The estimator that finds the structure, not fitted."""
    if model.mimosa is not None:
        return cast(Any, clone(model.mimosa))
    return MIMOSA(random_state=seed, verbose=model.verbose)


def read_frame(model: Any, X: Any, hierarchy: Any, paths: Any, table: TableModel | None) -> tuple[Any, Any, Any]:
    """Features for a data frame with columns of any kind, and its structure; anything else as it is. Sets the
    attributes of the model that describe its columns."""
    model.table_ = model.codec_ = model.units_ = model.mimosa_ = None
    if not is_frame(X):
        return X, hierarchy, paths
    codec = Codec.fit(X) if table is None else table.codec  # numbers may have been declared categories
    if table is None and codec.schema.is_plain:
        model.codec_ = codec
        return X, hierarchy, paths
    if hierarchy is None:
        model.mimosa_ = make_mimosa(model, pick_seed(model.random_state)).fit(X)
        hierarchy, paths, model.table_ = model.mimosa_.hierarchy_, model.mimosa_.labels_, model.mimosa_.table_
    else:
        model.table_ = table_without_branches(X, codec) if table is None else table
    codec = model.table_.codec
    return codec.features(codec.read(X)), hierarchy, paths


def find_structure(model: Any, source: Source, seed: int) -> tuple[Hierarchy, Int[np.ndarray, " n"], Any]:
    """Hierarchy and paths, and the MIMOSA that found them: on a sample of data that is read in blocks."""
    mimosa = make_mimosa(model, seed)
    if isinstance(source, ArraySource):
        paths = mimosa.fit(source.X).labels_
    else:
        mimosa.fit(sample_rows(source, constants.MIMOSA_ROWS, np.random.default_rng(seed)))
        paths = np.concatenate([mimosa.predict(block) for block in source.blocks()])
    return mimosa.hierarchy_, np.asarray(paths, dtype=np.int64), mimosa


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
    rows, new = (as_float(as_rows(part), found.pixel_scale).astype(np.float64) for part in (X[~held], X[held]))
    mean = rows.mean(axis=0)
    directions = np.linalg.svd(rows - mean, full_matrices=False)[2][:d]
    left = new - mean
    by_components = np.square(left - left @ directions.T @ directions).sum() / np.square(left).sum().clip(1e-300)
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
