"""The training of a model, which can be stopped and continued: checkpoints, progress, and what is said of it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from disentree.cofhae.saving import plain_parameters
from disentree.training.batches import StreamedBatches, TensorBatches
from disentree.training.checkpoints import (
    FILE_NAME,
    fingerprint,
    load_tensors,
    restore_checkpoint,
    save_checkpoint,
)
from disentree.training.data import Source
from disentree.training.loop import Diverged, State, Step
from disentree.training.running import run_training
from disentree.training.schedules import SCHEDULES
from disentree.training.session import generator_of, reporter
from disentree.training.settling import Plan

Checkpoint = tuple[dict[str, Tensor], dict[str, Any]]  # tensors, and what is known about them


def identity_of(model: Any, source: Source, structure: Any, *more: Any) -> dict[str, Any]:
    """What must be the same for a checkpoint to be continued."""
    if model.checkpoint is None:
        return {}
    data = [fingerprint(source.blocks()), *more]
    return {"parameters": plain_parameters(model), "data": data, "structure": structure}


def find_checkpoint(model: Any, identity: dict[str, Any]) -> Checkpoint | None:
    """The checkpoint of an earlier call, if there is one."""
    if model.checkpoint is None:
        return None
    file = Path(model.checkpoint) / FILE_NAME
    if not file.exists():
        Path(model.checkpoint).mkdir(parents=True, exist_ok=True)
        return None
    tensors, saved = load_tensors(file)
    for what in identity:
        if saved.get(what) != identity[what]:
            raise ValueError(
                f"{model.checkpoint} holds the checkpoint of a run with other {what}; "
                f"choose another folder, or delete it to start again"
            )
    return tensors, saved


def train_model(
    model: Any,
    source: Source,
    batches: TensorBatches | StreamedBatches,
    step: Step,
    steps: int,
    *,
    seed: int,
    adversary: nn.Module | None,
    saved: Checkpoint | None,
    about: dict[str, Any],
    tensors: dict[str, Tensor],
    measure: Callable[[State], dict[str, float]] = lambda state: {},
    plan: Plan | None = None,
    stacklevel: int = 3,
) -> None:
    """Train from the start or from a checkpoint, and set the fitted attributes that describe it. New checkpoints
    hold `about` and `tensors` too. `stacklevel`: of a warning, to name the line that called `fit`."""
    first, second = getattr(model, "discriminator_betas", (0.9, 0.999))
    state = State.start(
        model.autoencoder_,
        learning_rate=model.pace.rate,
        schedule=SCHEDULES[model.schedule] if plan is None else plan.schedule,
        steps=steps,
        generator=generator_of(seed),
        adversary=adversary,
        adversary_betas=(first, second),
    )
    if saved is not None:
        restore_checkpoint(state, *saved)
    model.history_ = state.history
    n_epochs = steps // batches.n_batches

    def checkpoint(state: State) -> None:
        if model.checkpoint is not None:
            save_checkpoint(model.checkpoint, state, about, tensors)

    with reporter(n_epochs, model.verbose, model.events, model.tensorboard) as (show, after_batch):

        def report(record: dict[str, Any]) -> bool:
            show(record)
            answers = [getattr(one, "on_epoch_end", one)(record, model) for one in model.callbacks]
            return any(answer is True for answer in answers)

        try:
            outcome = run_training(
                state,
                batches,
                step,
                steps,
                device=model.device_,
                batch_size=model.pace.batch,
                report=report,
                after_batch=after_batch,
                checkpoint=checkpoint,
                measure=measure,
                ending=plan,
                patience=model.patience,
            )
        except Diverged as error:
            raise Diverged(f"training diverged: {error}; a lower {model._too_strong} may help") from None
    model.interrupted_, model.diverged_ = outcome.interrupted, outcome.diverged
    model._describe_codes(source)
    if outcome.problem:
        advice = f"; a lower {model._too_strong} may help" if outcome.diverged else ""
        kept = f"kept the model of epoch {outcome.epoch}"
        warnings.warn(f"{outcome.problem}{advice}; {kept}", RuntimeWarning, stacklevel=stacklevel)
