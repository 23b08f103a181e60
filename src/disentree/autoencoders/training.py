"""The training loop of COFHAE, to be read next to Algorithm 2 of the paper."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from disentree.autoencoders.data import ArraySource, Source
from disentree.autoencoders.hierarchical import HierarchicalAutoencoder, choices_of
from disentree.autoencoders.inputs import InputLayer
from disentree.autoencoders.losses import (
    ASSIGNMENT_LOSSES,
    discriminator_loss,
    pairwise_hsic,
    permute_active,
    target_loss,
    total_correlation,
)

_IN_MEMORY_BYTES = 4e9  # prepared rows up to this size are kept; more are read again in every epoch
_CHUNK_ROWS = 1024


@dataclass(frozen=True)
class Settings:
    """What the loop needs to know (`COFHAE` explains each)."""

    epochs: int
    batch_size: int
    learning_rate: float
    schedule: str
    tau: float
    lambda1: float
    lambda2: float
    lambda3: float
    assignment: str
    penalty: str
    warm_up: float
    sigma: float | None
    discriminator_betas: tuple[float, float]


@dataclass
class State:
    """Everything that changes while training: with it, and the data, training continues bit for bit."""

    hae: HierarchicalAutoencoder
    D: nn.Module
    optimizer: torch.optim.Optimizer
    D_optimizer: torch.optim.Optimizer
    generator: torch.Generator
    epoch: int
    history: list[dict[str, Any]]

    @classmethod
    def start(
        cls, hae: HierarchicalAutoencoder, D: nn.Module, settings: Settings, generator: torch.Generator
    ) -> State:
        lr = settings.learning_rate
        return cls(
            hae,
            D,
            _adam(hae, lr=lr),
            _adam(D, lr=lr, betas=settings.discriminator_betas),
            generator,
            epoch=0,
            history=[],
        )


def _adam(network: nn.Module, **settings: Any) -> torch.optim.Adam:
    try:
        return torch.optim.Adam(network.parameters(), fused=True, **settings)
    except RuntimeError:  # not for this device in this version of torch
        return torch.optim.Adam(network.parameters(), **settings)


class Diverged(RuntimeError):
    """Losses that are no longer finite, or far above where they began."""


def train(
    state: State,
    batches: Batches,
    settings: Settings,
    layer: InputLayer,
    after_epoch: Callable[[State], None],
    after_batch: Callable[[int, int], None] = lambda done, of: None,
) -> None:
    """Algorithm 2, from `state.epoch` to the last epoch."""
    hae, D, tau = state.hae, state.D, settings.tau
    L_x, L_a = layer.loss(settings.sigma), ASSIGNMENT_LOSSES[settings.assignment]
    n_continuous = hae.mask.n_continuous

    while state.epoch < settings.epochs:
        began = time.perf_counter()
        sums = torch.zeros(6, device=layer.mean.device)
        for done, (x, a, t, trust) in enumerate(batches.epoch(state.generator)):
            progress = min(1.0, (state.epoch + done / batches.n_batches) / settings.epochs)
            set_learning_rate(state, settings, progress)
            lambda2 = settings.lambda2 * min(1.0, progress / settings.warm_up if settings.warm_up else 1.0)

            # a', z = HAE.encode(x; tau);  x' = HAE.decode(concat(a', z))
            code = hae.encode(layer.to_input(x), tau)
            x_hat = hae.decode(code.a, code.z)

            # L_theta = L_x(x', x) + lambda1 L_a(a', a) + lambda2 TC(z), and lambda3 for the targets of z
            reconstruction = L_x(x_hat, x)
            assignment = L_a(code, a)
            target = target_loss(code.z_pre[:, :n_continuous], t, trust)
            dependence = torch.zeros((), device=x.device)
            if settings.penalty == "adversarial":
                dependence = total_correlation(D, code.z, 1 - trust)
            elif settings.penalty == "hsic":
                _, on = hae.mask.harden(code.z_pre.detach())
                dependence = pairwise_hsic(code.z, on, 1 - trust)
            loss = (
                reconstruction + settings.lambda1 * assignment + lambda2 * dependence + settings.lambda3 * target
            )

            # theta = descent_step(theta, L_theta)
            state.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            state.optimizer.step()

            # z' = z with every variable shuffled over the rows where it is on;  psi = descent_step(psi, L_psi)
            if settings.penalty == "adversarial":
                _, on = hae.mask.harden(code.z_pre.detach())
                z = code.z.detach()
                D_loss = discriminator_loss(D, z, permute_active(z, on, state.generator))
                state.D_optimizer.zero_grad(set_to_none=True)
                D_loss.backward()
                state.D_optimizer.step()

            terms = torch.stack([loss, reconstruction, assignment, dependence, target, loss.new_ones(())])
            sums += terms.detach() * len(x)
            after_batch(done + 1, batches.n_batches)

        means = (sums[:5] / sums[5]).tolist()
        names = ("loss", "reconstruction", "assignment", "dependence", "target")
        record: dict[str, Any] = {"epoch": state.epoch + 1, **dict(zip(names, means, strict=True))}
        _check(record, state.history)
        record["seconds"] = time.perf_counter() - began
        state.history.append(record)
        state.epoch += 1
        after_epoch(state)


def _check(record: dict[str, Any], history: list[dict[str, Any]]) -> None:
    for name in ("reconstruction", "assignment", "dependence", "loss"):
        if not math.isfinite(record[name]):
            raise Diverged(f"the {name} loss became {record[name]} in epoch {record['epoch']}")
    first = history[0]["reconstruction"] if history else math.inf
    if record["reconstruction"] > 10 * first:
        raise Diverged(
            f"the reconstruction loss rose to {record['reconstruction']:.3g} in epoch {record['epoch']}, "
            f"from {first:.3g} in the first"
        )


def set_learning_rate(state: State, settings: Settings, progress: float) -> None:
    """`progress` from 0 to 1. "one-cycle" (Smith 2018) rises for a fifth of training and falls along a cosine;
    "steps" is the paper's: a tenth after one half, and again after three quarters."""
    if settings.schedule == "one-cycle":
        rise = 0.2
        if progress < rise:
            factor = 0.04 + 0.96 * 0.5 * (1 - math.cos(math.pi * progress / rise))
        else:
            factor = 1e-4 + (1 - 1e-4) * 0.5 * (1 + math.cos(math.pi * (progress - rise) / (1 - rise)))
    elif settings.schedule == "steps":
        factor = 0.1 ** ((progress >= 0.5) + (progress >= 0.75))
    else:
        factor = 1.0
    for optimizer in (state.optimizer, state.D_optimizer):
        for group in optimizer.param_groups:
            group["lr"] = settings.learning_rate * factor


class Batches:
    """Minibatches of rows with their assignments, targets and trust, in a new order every epoch.

    Rows that fit in memory are prepared once. Others are read again in every epoch: chunks of an array in
    random order, some tens of megabytes shuffled at a time; blocks in their own order, shuffled within.
    """

    def __init__(
        self,
        source: Source,
        layer: InputLayer,
        hae: HierarchicalAutoencoder,
        paths: Int[np.ndarray, " n"],
        targets: Float[np.ndarray, "n v"],
        trust: Float[np.ndarray, " paths"],
        batch_size: int,
    ):
        device = layer.mean.device
        self.source, self.layer, self.batch_size = source, layer, batch_size
        self.paths = torch.from_numpy(paths).to(device)
        self.choices = hae.mask.path_options().to(device)
        self.targets = torch.from_numpy(targets[:, hae.mask.continuous].astype(np.float32)).to(device)
        self.trust = torch.from_numpy(np.append(trust, 0.0).astype(np.float32)).to(device)  # [-1]: no path
        self.prepared: Tensor | None = None
        if source.n_rows * 4 * math.prod(layer.output_shape) <= _IN_MEMORY_BYTES:
            self.prepared = torch.cat([layer.prepare(block) for block in source.blocks()])
        self.n_batches = math.ceil(source.n_rows / batch_size)

    def epoch(self, generator: torch.Generator) -> Iterator[tuple[Tensor, Tensor, Tensor, Tensor]]:
        """(x, a, targets, trust) of each minibatch."""
        if self.prepared is not None:
            order = torch.randperm(len(self.prepared), generator=generator).to(self.prepared.device)
            for rows in order.split(self.batch_size):
                yield self.prepared[rows], *self._labels(rows)
            return
        for rows, block in self._blocks(generator):
            x = self.layer.prepare(block)
            for batch in torch.randperm(len(rows), generator=generator).split(self.batch_size):
                yield x[batch], *self._labels(rows[batch])

    def _labels(self, rows: Int[Tensor, " batch"]) -> tuple[Tensor, Tensor, Tensor]:
        paths = self.paths[rows]
        return choices_of(paths, self.choices), self.targets[rows], self.trust[paths]

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
