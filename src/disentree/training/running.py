"""Good manners around the training loop: progress, checkpoints, Ctrl-C, divergence."""

from __future__ import annotations

import copy
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from disentree.cofhae.saving import save_checkpoint
from disentree.hierarchy.code_statistics import code_statistics
from disentree.training.data import sample_rows
from disentree.training.loop import Batches, Diverged, Schedule, State, Step, train
from disentree.training.networks import flushed_denormals
from disentree.training.session import fitting_threads, reporter

if TYPE_CHECKING:
    from disentree.cofhae.base import Autoencoder

_ROWS_FOR_STATISTICS = 3000


def run_training(
    model: Autoencoder,
    state: State,
    batches: Batches,
    schedule: Schedule,
    step: Step,
    about: dict[str, Any],
    paths: torch.Tensor,
) -> None:
    """Train, and leave the model of the last good epoch whatever happens. `about` and `paths` are what a
    checkpoint must hold besides the state."""
    model.interrupted_, model.diverged_, problem = False, False, ""
    model.history_ = state.history
    good = (copy.deepcopy(state.hae.state_dict()), state.epoch)
    weights = sum(p.numel() for _, network in state.networks() for p in network.parameters())
    if model.checkpoint is not None:
        save_checkpoint(model.checkpoint, state, about, paths)

    with (
        reporter(schedule.epochs, model.verbose, model.events, model.tensorboard) as (report, after_batch),
        flushed_denormals(model.device_),
        fitting_threads(model.device_, schedule.batch_size * weights),
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
            train(state, batches, schedule, step, after_epoch, after_batch)
        except KeyboardInterrupt:
            model.interrupted_ = True
            problem = f"training was stopped in epoch {state.epoch + 1} of {schedule.epochs}"
        except Diverged as error:
            model.diverged_ = True
            problem = f"training diverged: {error}; a lower {model._too_strong} may help"
            if good[1] == 0:
                raise RuntimeError(problem) from None
    state.hae.eval()
    if problem:
        state.hae.load_state_dict(good[0])
    rows = sample_rows(batches.source, _ROWS_FOR_STATISTICS, np.random.default_rng(model.seed_))
    model.code_statistics_ = code_statistics(model.hierarchy_, model._encode(rows))
    if problem:
        warnings.warn(f"{problem}; kept the model of epoch {good[1]}", RuntimeWarning, stacklevel=3)
