"""The stages of `COFHAE.fit` around the training loop: structure, targets, settings, and good manners."""

from __future__ import annotations

import copy
import math
import warnings
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from jaxtyping import Int
from sklearn.base import clone

from disentree.autoencoders.data import ArraySource, Source, sample_rows
from disentree.autoencoders.saving import save_checkpoint
from disentree.autoencoders.session import fitting_threads, flushed_denormals, reporter
from disentree.autoencoders.targets import Targets, fit_flats, leaf_targets
from disentree.autoencoders.training import Batches, Diverged, Settings, State, train
from disentree.hierarchy import Hierarchy

if TYPE_CHECKING:
    from disentree.autoencoders.cofhae import COFHAE

_MIMOSA_ROWS = 100_000  # of data that is read block by block


def find_structure(model: COFHAE, source: Source, seed: int) -> tuple[Hierarchy, Int[np.ndarray, " n"], Any]:
    """Hierarchy and paths, and the MIMOSA that found them. Of blocks it sees a sample, and assigns the rest."""
    if model.mimosa is None:
        from disentree.mimosa import MIMOSA

        mimosa = MIMOSA(random_state=seed)
    else:
        mimosa = cast(Any, clone(model.mimosa))
    if isinstance(source, ArraySource):
        paths = mimosa.fit(source.X).labels_
    else:
        mimosa.fit(sample_rows(source, _MIMOSA_ROWS, np.random.default_rng(seed)))
        paths = np.concatenate([mimosa.predict(block) for block in source.blocks()])
    return mimosa.hierarchy_, np.asarray(paths, dtype=np.int64), mimosa


def find_targets(model: COFHAE, source: Source, rng: np.random.Generator) -> Targets:
    """Targets for the continuous variables; on the way the encoder is shown the flats that leaves lie on."""
    layer, hierarchy, paths = model.input_, model.hierarchy_, model.paths_
    if model.targets == "none" or layer.kind == "image":
        none = np.full((source.n_rows, hierarchy.n_variables), np.nan)
        return Targets(none, np.zeros(len(hierarchy.paths)))
    features = [layer.to_input(layer.prepare(block)) for block in source.blocks()]
    Z = torch.cat(features).cpu().numpy().astype(np.float64)
    if model.encoder in ("auto", "mlp"):
        flats = fit_flats(Z, hierarchy, paths)
        layer.add_flats([(flat.centre, flat.basis) for flat in flats if flat.trust > 0])
    return leaf_targets(Z, hierarchy, paths, rng)


def settings_of(model: COFHAE, n_rows: int) -> Settings:
    """What the training loop needs, with everything that was left open decided."""
    penalty = model.penalty
    if penalty == "auto":
        deep = np.array([path.dimension for path in model.hierarchy_.paths]) > 1
        penalty = "adversarial" if (deep & (model.trust_ < 0.5)).any() else "none"
    first, second = model.discriminator_betas
    return Settings(
        epochs=model.epochs or math.ceil(model.steps / math.ceil(n_rows / model.batch_size)),
        batch_size=model.batch_size,
        learning_rate=model.learning_rate,
        schedule=model.schedule,
        tau=model.tau,
        lambda1=model.lambda1,
        lambda2=model.lambda2,
        lambda3=model.lambda3,
        assignment=model.assignment,
        penalty=penalty,
        warm_up=model.warm_up,
        sigma=model.sigma,
        discriminator_betas=(first, second),
    )


def run_training(model: COFHAE, state: State, batches: Batches, settings: Settings, about: dict[str, Any]) -> None:
    """The loop with everything around it: progress, checkpoints, Ctrl-C, divergence."""
    model.interrupted_, model.diverged_, problem = False, False, ""
    model.history_ = state.history
    good = (copy.deepcopy(state.hae.state_dict()), state.epoch)
    paths = torch.from_numpy(model.paths_)
    networks = [state.hae, state.D] if settings.penalty == "adversarial" else [state.hae]
    weights = sum(p.numel() for network in networks for p in network.parameters())
    if model.checkpoint is not None:
        save_checkpoint(model.checkpoint, state, about, paths)

    with (
        reporter(settings.epochs, model.verbose, model.events, model.tensorboard) as (report, after_batch),
        flushed_denormals(model.device_),
        fitting_threads(model.device_, settings.batch_size * weights),
    ):

        def after_epoch(state: State) -> None:
            nonlocal good
            good = (copy.deepcopy(state.hae.state_dict()), state.epoch)
            if model.checkpoint is not None:
                save_checkpoint(model.checkpoint, state, about, paths)
            report(state.history[-1])
            for callback in model.callbacks:
                callback(state.history[-1], model)

        state.hae.train()
        try:
            train(state, batches, settings, model.input_, after_epoch, after_batch)
        except KeyboardInterrupt:
            model.interrupted_ = True
            problem = f"training was stopped in epoch {state.epoch + 1} of {settings.epochs}"
        except Diverged as error:
            model.diverged_ = True
            problem = f"training diverged: {error}; a lower learning_rate or lambda2 may help"
            if good[1] == 0:
                raise RuntimeError(problem) from None
    state.hae.eval()
    if problem:
        state.hae.load_state_dict(good[0])
        warnings.warn(f"{problem}; kept the model of epoch {good[1]}", RuntimeWarning, stacklevel=3)
