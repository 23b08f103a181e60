"""What every training shares: schedule, state, minibatches, and the loop over epochs.

What is done with a minibatch is the model's own: `conditional.py` has COFHAE's, `flat.py` that of the baselines.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from disentree.cofhae.hierarchical import HierarchicalAutoencoder
from disentree.cofhae.inputs import InputLayer
from disentree.training.data import ArraySource, Source

_IN_MEMORY_BYTES = 4e9  # prepared rows up to this size are kept; more are read again in every epoch
_CHUNK_ROWS = 1024


@dataclass(frozen=True)
class Schedule:
    """How long to train, and how fast."""

    epochs: int
    batch_size: int
    learning_rate: float
    schedule: str
    discriminator_betas: tuple[float, float]


@dataclass
class State:
    """Everything that changes while training: with it, and the data, training continues bit for bit."""

    hae: HierarchicalAutoencoder
    D: nn.Module | None  # the adversary, where there is one
    optimizer: torch.optim.Optimizer
    D_optimizer: torch.optim.Optimizer | None
    generator: torch.Generator
    epoch: int
    history: list[dict[str, Any]]

    @classmethod
    def start(
        cls, hae: HierarchicalAutoencoder, D: nn.Module | None, schedule: Schedule, generator: torch.Generator
    ) -> State:
        lr = schedule.learning_rate
        D_optimizer = None if D is None else _adam(D, lr=lr, betas=schedule.discriminator_betas)
        return cls(hae, D, _adam(hae, lr=lr), D_optimizer, generator, epoch=0, history=[])

    def networks(self) -> list[tuple[str, nn.Module]]:
        return [("hae", self.hae), *([("D", self.D)] if self.D is not None else [])]

    def optimizers(self) -> list[tuple[str, torch.optim.Optimizer]]:
        own = [("D_optimizer", self.D_optimizer)] if self.D_optimizer is not None else []
        return [("optimizer", self.optimizer), *own]


def _adam(network: nn.Module, **settings: Any) -> torch.optim.Adam:
    try:
        return torch.optim.Adam(network.parameters(), fused=True, **settings)
    except RuntimeError:  # not for this device in this version of torch
        return torch.optim.Adam(network.parameters(), **settings)


class Diverged(RuntimeError):
    """Losses that are no longer finite, or far above where they began."""


# What is done with a minibatch (x, *labels) when training is at `progress` (from 0 to 1): a step of descent, and
# the terms of the loss for the record, "loss" and "reconstruction" first.
Step = Callable[[State, tuple[Tensor, ...], float], dict[str, Tensor]]


def train(
    state: State,
    batches: Batches,
    schedule: Schedule,
    step: Step,
    after_epoch: Callable[[State], None],
    after_batch: Callable[[int, int], None] = lambda done, of: None,
) -> None:
    """From `state.epoch` to the last epoch."""
    while state.epoch < schedule.epochs:
        began, sums, rows, names = time.perf_counter(), torch.zeros(()), 0, ()
        for done, batch in enumerate(batches.epoch(state.generator)):
            progress = min(1.0, (state.epoch + done / batches.n_batches) / schedule.epochs)
            set_learning_rate(state, schedule, progress)
            terms = step(state, batch, progress)
            values = torch.stack(list(terms.values())).detach()
            sums = sums.to(values.device) + values * len(batch[0])
            rows, names = rows + len(batch[0]), tuple(terms)
            after_batch(done + 1, batches.n_batches)

        record: dict[str, Any] = {"epoch": state.epoch + 1}
        record |= dict(zip(names, (sums / rows).tolist(), strict=True))
        _check(record, state.history)
        record["seconds"] = time.perf_counter() - began
        state.history.append(record)
        state.epoch += 1
        after_epoch(state)


def _check(record: dict[str, Any], history: list[dict[str, Any]]) -> None:
    for name in (*list(record)[2:], "loss"):
        if not math.isfinite(record[name]):
            raise Diverged(f"the {name.replace('_', ' ')} loss became {record[name]} in epoch {record['epoch']}")
    first = history[0]["reconstruction"] if history else math.inf
    if record["reconstruction"] > 10 * first:
        raise Diverged(
            f"the reconstruction loss rose to {record['reconstruction']:.3g} in epoch {record['epoch']}, "
            f"from {first:.3g} in the first"
        )


def set_learning_rate(state: State, schedule: Schedule, progress: float) -> None:
    """`progress` from 0 to 1. "one-cycle" (Smith 2018) rises for a fifth of training and falls along a cosine;
    "steps" is the paper's: a tenth after one half, and again after three quarters."""
    if schedule.schedule == "one-cycle":
        rise = 0.2
        if progress < rise:
            factor = 0.04 + 0.96 * 0.5 * (1 - math.cos(math.pi * progress / rise))
        else:
            factor = 1e-4 + (1 - 1e-4) * 0.5 * (1 + math.cos(math.pi * (progress - rise) / (1 - rise)))
    elif schedule.schedule == "steps":
        factor = 0.1 ** ((progress >= 0.5) + (progress >= 0.75))
    else:
        factor = 1.0
    for _, optimizer in state.optimizers():
        for group in optimizer.param_groups:
            group["lr"] = schedule.learning_rate * factor


class Batches:
    """Minibatches of rows with what is known about them (`labels`), in a new order every epoch.

    Rows that fit in memory are prepared once. Others are read again in every epoch: chunks of an array in
    random order, some tens of megabytes shuffled at a time; blocks in their own order, shuffled within.
    """

    def __init__(
        self,
        source: Source,
        layer: InputLayer,
        batch_size: int,
        labels: Callable[[Tensor], tuple[Tensor, ...]] = lambda rows: (),
    ):
        self.source, self.layer, self.batch_size, self.labels = source, layer, batch_size, labels
        self.prepared: Tensor | None = None
        if source.n_rows * 4 * math.prod(layer.output_shape) <= _IN_MEMORY_BYTES:
            self.prepared = torch.cat([layer.prepare(block) for block in source.blocks()])
        self.n_batches = math.ceil(source.n_rows / batch_size)

    def epoch(self, generator: torch.Generator) -> Iterator[tuple[Tensor, ...]]:
        """(x, *labels) of each minibatch."""
        if self.prepared is not None:
            order = torch.randperm(len(self.prepared), generator=generator).to(self.prepared.device)
            for rows in order.split(self.batch_size):
                yield self.prepared[rows], *self.labels(rows)
            return
        for rows, block in self._blocks(generator):
            x = self.layer.prepare(block)
            for batch in torch.randperm(len(rows), generator=generator).split(self.batch_size):
                yield x[batch], *self.labels(rows[batch])

    def _blocks(self, generator: torch.Generator) -> Iterator[tuple[Tensor, np.ndarray]]:
        if isinstance(self.source, ArraySource):
            n = self.source.n_rows
            chunks = torch.randperm(math.ceil(n / _CHUNK_ROWS), generator=generator)
            per_row = 4 * math.prod(self.source.shape)
            for some in chunks.split(max(1, int(128e6 / (_CHUNK_ROWS * per_row)))):
                starts = (some * _CHUNK_ROWS).tolist()
                parts = [np.asarray(self.source.X[s : s + _CHUNK_ROWS]) for s in starts]
                rows = torch.cat([torch.arange(s, min(s + _CHUNK_ROWS, n)) for s in starts])
                yield rows, np.concatenate(parts)
            return
        start = 0
        for block in self.source.blocks():
            yield torch.arange(start, start + len(block)), block
            start += len(block)
