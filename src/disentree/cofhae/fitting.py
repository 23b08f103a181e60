"""The stages of `COFHAE.fit` before the training loop: structure, targets, settings."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, cast

import numpy as np
from jaxtyping import Float, Int
from sklearn.base import clone

from disentree.cofhae import constants
from disentree.cofhae.algorithm2 import Settings
from disentree.cofhae.targets import Targets, align_targets, fit_subspaces, given_targets, leaf_targets
from disentree.cofhae.unrolling import cell_guides, guides
from disentree.geometry.linear_maps import is_tree
from disentree.hierarchy import Hierarchy
from disentree.mimosa.representation.autoencoder import autoencoder_representation
from disentree.mimosa.representation.base import Representation
from disentree.training.checkpoints import checkpoints_in
from disentree.training.data import ArraySource, Source, sample_rows


def make_mimosa(model: Any, seed: int) -> Any:
    """The estimator that finds the structure, not fitted."""
    if model.mimosa is not None:
        return cast(Any, clone(model.mimosa))
    from disentree.mimosa import MIMOSA

    return MIMOSA(random_state=seed, verbose=model.verbose)


def find_structure(model: Any, source: Source, seed: int) -> tuple[Hierarchy, Int[np.ndarray, " n"], Any]:
    """Hierarchy and paths, and the MIMOSA that found them: on a sample of data that is read in blocks."""
    mimosa = make_mimosa(model, seed)
    if isinstance(source, ArraySource):
        paths = mimosa.fit(source.X).labels_
    else:
        mimosa.fit(sample_rows(source, constants.MIMOSA_ROWS, np.random.default_rng(seed)))
        paths = np.concatenate([mimosa.predict(block) for block in source.blocks()])
    return mimosa.hierarchy_, np.asarray(paths, dtype=np.int64), mimosa


def find_targets(
    model: Any, source: Source, rng: np.random.Generator, codes: Float[np.ndarray, "n v"] | None = None
) -> Targets:
    """Targets for the continuous variables. The subspaces of flat leaves are added to the encoder's input."""
    layer, hierarchy, paths = model.input_, model.hierarchy_, model.paths_
    if codes is not None and layer.kind == "image":
        return given_targets(codes, hierarchy)
    if model.targets == "none" or layer.kind == "image":
        none = np.full((source.n_rows, hierarchy.n_variables), np.nan)
        return Targets.trusted(none, np.zeros(len(hierarchy.paths)))
    Z = np.concatenate([layer.geometry(block) for block in source.blocks()])
    subspaces = fit_subspaces(Z, hierarchy, paths)
    if model.encoder in ("auto", "mlp") and layer.network is None:
        trusted = [leaf.subspace for leaf in subspaces if leaf.trust > 0]
        layer.add_subspaces([(subspace.center, subspace.basis.T) for subspace in trusted])
    if codes is not None:
        return given_targets(codes, hierarchy)
    targets = leaf_targets(Z, hierarchy, paths, rng, subspaces)
    curved = np.flatnonzero(targets.trust == 0)
    if not len(curved) or not model.guided:
        return align_targets(targets, Z, paths, hierarchy, model.matches_)
    if layer.network is None and not is_tree(hierarchy.root):
        return cell_guides(Z, hierarchy, paths, rng)
    smooth = Z
    if layer.network is not None:
        smooth = np.concatenate([layer.prepare(block).cpu().numpy() for block in source.blocks()])
    targets = guides(Z, smooth.astype(np.float64), hierarchy, paths, curved, rng, targets)
    return align_targets(targets, Z, paths, hierarchy, model.matches_)


def find_representation(model: Any, source: Source, seed: int) -> Representation:
    """The autoencoder that MIMOSA with this seed encodes the data with."""
    whole = isinstance(source, ArraySource)
    X = np.asarray(source.X) if whole else sample_rows(source, constants.MIMOSA_ROWS, np.random.default_rng(seed))
    with nullcontext() if model.checkpoint is None else checkpoints_in(model.checkpoint):
        return autoencoder_representation(X, np.random.SeedSequence(seed).spawn(3)[0], model.verbose)


def settings_of(model: Any, guided: bool = False) -> Settings:
    """Parameters of the loss, with "auto" resolved."""
    penalty = model.penalty
    if penalty == "auto":
        deep = np.array([path.dimension for path in model.hierarchy_.paths]) > 1
        penalty = "adversarial" if (deep & (model.trust_ < 0.5)).any() else "none"
    return Settings(
        tau=model.tau,
        lambda1=model.lambda1,
        lambda2=model.lambda2,
        lambda3=model.lambda3,
        assignment=model.assignment,
        penalty=penalty,
        warm_up=model.warm_up,
        sigma=model.sigma,
        masks=model.masks,
        guided=model.guided if guided else 0.0,
    )
