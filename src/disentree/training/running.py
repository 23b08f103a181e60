"""A training from start to end: progress, events, checkpoints, Ctrl-C and divergence."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

from disentree.training.loop import Diverged, Ending, MinibatchSource, Record, State, Step, train
from disentree.training.session import flushed_denormals, suitable_threads


@dataclass(frozen=True)
class Outcome:
    """How a training ended. The model is that of the last good epoch."""

    epoch: int  # of the model
    interrupted: bool = False
    diverged: bool = False
    problem: str = ""  # why it ended early, as a sentence


def run_training(
    state: State,
    batches: MinibatchSource,
    step: Step,
    steps: int,
    *,
    device: torch.device,
    batch_size: int,
    report: Callable[[Record], bool | None],
    after_batch: Callable[[int, int], None],
    checkpoint: Callable[[State], None] = lambda state: None,
    measure: Callable[[State], dict[str, float]] = lambda state: {},
    ending: Ending | None = None,
    patience: int | None = None,
) -> Outcome:
    """`train`, and leave the model of the last good epoch in evaluation mode whatever happens; `Diverged` if there
    is none.

    `report` is called with the record of each epoch, and ends the training if it returns True, `checkpoint` with
    the state before the first epoch and after each. With `patience` training ends after so many epochs in which
    "held_out" of the records was not lower than before, and the model is that of the epoch where it was lowest.
    """
    n_epochs = math.ceil(steps / batches.n_batches)
    good = (copy.deepcopy(state.model.state_dict()), state.epoch)
    n_weights = sum(p.numel() for network in state.networks().values() for p in network.parameters())
    checkpoint(state)
    stopped = False

    def after_epoch(state: State) -> None:
        nonlocal good, stopped
        good = (copy.deepcopy(state.model.state_dict()), state.epoch)
        if patience is not None and _epochs_since_best(state) == 0:
            state.best = good[0]
        checkpoint(state)
        stopped = report(state.history[-1]) is True

    def is_over(state: State) -> bool:
        return stopped or (patience is not None and state.epoch > 0 and _epochs_since_best(state) >= patience)

    interrupted, diverged, problem = False, False, ""
    state.model.train()
    with flushed_denormals(device), suitable_threads(device, batch_size * n_weights):
        try:
            train(state, batches, step, steps, after_epoch, after_batch, measure, ending, is_over)
        except KeyboardInterrupt:
            interrupted, problem = True, f"training was stopped in epoch {state.epoch + 1} of {n_epochs}"
        except Diverged as error:
            if good[1] == 0:
                raise
            diverged, problem = True, f"training diverged: {error}"
    state.model.eval()
    if patience is not None and state.best is not None:
        good = state.best, good[1] - _epochs_since_best(state)
    if problem or patience is not None:
        state.model.load_state_dict(good[0])
    return Outcome(good[1], interrupted, diverged, problem)


def _epochs_since_best(state: State) -> int:
    """How many epochs ago the loss of held-out rows was lowest."""
    losses = [record["held_out"] for record in state.history]
    return len(losses) - 1 - losses.index(min(losses))
