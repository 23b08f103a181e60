"""The training loop. It knows neither the model nor its loss: both come with `step`.

    for each minibatch:  terms = step(state, batch, progress)    # gradient steps of the state's optimizers
                         the schedulers set the next learning rates
    after each epoch:    a record of the mean of each term, and `after_epoch`

COFHAE's `step` is Algorithm 2 of the paper (`disentree.cofhae.fitting.algorithm2`). The baselines, MIMOSA's
representation network and the paper's initial autoencoder have steps of their own.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn
from torch.optim.lr_scheduler import LRScheduler

from disentree.training.schedules import Schedule

Record = dict[str, Any]


@dataclass
class State:
    """Everything that changes in training. With it and the data, training continues bit for bit."""

    model: Any  # an nn.Module
    optimizer: torch.optim.Optimizer
    scheduler: LRScheduler
    generator: torch.Generator
    adversary: nn.Module | None = None
    adversary_optimizer: torch.optim.Optimizer | None = None
    adversary_scheduler: LRScheduler | None = None
    best: dict[str, Tensor] | None = None  # weights of the model when the loss of held-out rows was lowest
    epoch: int = 0
    step: int = 0
    history: list[Record] = field(default_factory=list)

    @classmethod
    def start(
        cls,
        model: nn.Module,
        *,
        learning_rate: float,
        schedule: Schedule,
        steps: int,
        generator: torch.Generator,
        adversary: nn.Module | None = None,
        adversary_betas: tuple[float, float] = (0.9, 0.999),
    ) -> State:
        """Adam for the model and for its adversary, if it has one, at the same learning rate."""
        optimizer = adam(model, lr=learning_rate)
        state = cls(model, optimizer, schedule(optimizer, steps), generator)
        if adversary is not None:
            state.adversary = adversary
            state.adversary_optimizer = adam(adversary, lr=learning_rate, betas=adversary_betas)
            state.adversary_scheduler = schedule(state.adversary_optimizer, steps)
        return state

    def networks(self) -> dict[str, nn.Module]:
        return _present(model=self.model, adversary=self.adversary)

    def optimizers(self) -> dict[str, torch.optim.Optimizer]:
        return _present(model=self.optimizer, adversary=self.adversary_optimizer)

    def schedulers(self) -> dict[str, LRScheduler]:
        return _present(model=self.scheduler, adversary=self.adversary_scheduler)


def _present(**parts: Any) -> dict[str, Any]:
    return {name: part for name, part in parts.items() if part is not None}


def adam(network: nn.Module, lr: float, **settings: Any) -> torch.optim.Adam:
    """Adam, with fused arithmetic where the device has it."""
    try:
        return torch.optim.Adam(network.parameters(), lr=lr, fused=True, **settings)
    except RuntimeError:  # not for this device in this version of torch
        return torch.optim.Adam(network.parameters(), lr=lr, **settings)


class Diverged(RuntimeError):
    """Training ended because losses are no longer finite, or far above where they began."""


@runtime_checkable
class Ending(Protocol):
    """Decides when a training ends."""

    end: int  # the last step, as far as is known

    def update(self, history: list[Record]) -> None: ...


@runtime_checkable
class MinibatchSource(Protocol):
    """Minibatches in a new order every epoch. The first tensor of each has one row per data row."""

    n_batches: int

    def epoch(self, generator: torch.Generator) -> Iterator[tuple[Tensor, ...]]: ...


# What is done with a minibatch when training is at `progress`, from 0 to 1. It returns the terms of the loss for
# the record, "loss" among them.
Step = Callable[[State, tuple[Tensor, ...], float], dict[str, Tensor]]


def train(
    state: State,
    batches: MinibatchSource,
    step: Step,
    steps: int,
    after_epoch: Callable[[State], None] = lambda state: None,
    after_batch: Callable[[int, int], None] = lambda done, total: None,
    measure: Callable[[State], dict[str, float]] = lambda state: {},
    ending: Ending | None = None,
    is_over: Callable[[State], bool] = lambda state: False,
) -> None:
    """Train from `state.step` to `steps`, which may end within an epoch; changes `state` in place.

    `after_epoch` is called when the record of an epoch has been added to the history, `after_batch` with the
    number of steps done and `steps`. `measure` gives more numbers for a record. `ending` is told of each record;
    training ends at its `end` if that is before `steps`, or before an epoch if `is_over`. Raises `Diverged` if a
    term is no longer finite, or if the term "reconstruction" is ten times that of the first epoch.
    """

    def last() -> int:
        return steps if ending is None else min(steps, ending.end)

    if ending is not None:
        ending.update(state.history)
    while state.step < last() and not is_over(state):
        began, sums, n_rows, names = time.perf_counter(), torch.zeros(()), 0, ()
        for batch in batches.epoch(state.generator):
            terms = step(state, batch, state.step / steps)
            for scheduler in state.schedulers().values():
                scheduler.step()
            values = torch.stack(list(terms.values())).detach()
            sums = sums.to(values.device) + values * len(batch[0])
            n_rows, names = n_rows + len(batch[0]), tuple(terms)
            state.step += 1
            after_batch(state.step, steps)
            if state.step == last():
                break

        means = dict(zip(names, (sums / n_rows).tolist(), strict=True)) | measure(state)
        _check(state.epoch + 1, means, state.history)
        state.epoch += 1
        state.history.append({"epoch": state.epoch, **means, "seconds": time.perf_counter() - began})
        if ending is not None:
            ending.update(state.history)
        after_epoch(state)


def _check(epoch: int, means: dict[str, float], history: list[Record]) -> None:
    for name in sorted(means, key=lambda name: name == "loss"):  # the sum of the others last
        if not math.isfinite(means[name]):
            raise Diverged(f"the {name.replace('_', ' ')} loss became {means[name]} in epoch {epoch}")
    if "reconstruction" in means and history and means["reconstruction"] > 10 * history[0]["reconstruction"]:
        raise Diverged(
            f"the reconstruction loss rose to {means['reconstruction']:.3g} in epoch {epoch}, "
            f"from {history[0]['reconstruction']:.3g} in the first"
        )
