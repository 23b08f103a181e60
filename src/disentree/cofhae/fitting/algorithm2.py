"""A minibatch of COFHAE's training, to be read next to Algorithm 2 of the paper."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from disentree.cofhae import constants
from disentree.cofhae.algorithm8 import Encoding, HierarchicalAutoencoder
from disentree.cofhae.fitting.losses import (
    ASSIGNMENT_LOSSES,
    discriminator_loss,
    frozen,
    permute_active,
    target_loss,
    total_correlation,
)
from disentree.cofhae.inputs import InputLayer
from disentree.training.loop import State, Step


@dataclass(frozen=True)
class Settings:
    """Parameters of the loss (`COFHAE` explains each)."""

    tau: float
    lambda1: float
    lambda2: float
    lambda3: float
    assignment: str
    penalty: Any  # a name, or a function of (z, on)
    warm_up: float
    sigma: float | None
    masks: str
    guided: float


def make_step(settings: Settings, layer: InputLayer) -> Step:
    """Lines 5 to 14 of Algorithm 2, for one minibatch."""
    L_x, L_a = layer.loss(settings.sigma), ASSIGNMENT_LOSSES[settings.assignment]

    def step(state: State, batch: tuple[Tensor, ...], progress: float) -> dict[str, Tensor]:
        hae, D, psi = state.model, state.adversary, state.adversary_optimizer
        x, a, *aims = batch
        lambda2 = settings.lambda2 * ramp(progress - settings.guided, settings.warm_up)

        # a', z = HAE.encode(x; tau);  x' = HAE.decode(concat(a', z))
        code = encode(settings, hae, layer.to_input(x), a)
        x_hat = hae.decode(code.a, code.z)
        on = where_active(settings, hae, code)

        # L_theta = L_x(x', x) + lambda1 L_a(a', a) + lambda2 TC(z), and lambda3 times the distance to targets of z
        reconstruction, assignment = L_x(x_hat, x), L_a(code, a)
        dependence = penalty_on(settings, D, code.z, on, 1 - aims[1])
        target = off_target(hae, code, *aims, is_guided=progress < settings.guided)
        loss = reconstruction + settings.lambda1 * assignment + lambda2 * dependence + settings.lambda3 * target
        descend(state.optimizer, loss)

        # z' = z with every variable shuffled over the rows where it is on;  L_psi tells z from z'
        if D is not None and psi is not None:
            z = code.z.detach()
            everywhere = torch.ones_like(on) if settings.penalty == "marginal" else on  # "marginal" is FactorVAE's
            descend(psi, discriminator_loss(D, z, permute_active(z, everywhere, state.generator)))

        terms = {"reconstruction": reconstruction, "assignment": assignment}
        return {"loss": loss, **terms, "dependence": dependence, "target": target}

    return step


def encode(settings: Settings, hae: HierarchicalAutoencoder, inputs: Tensor, a: Tensor) -> Encoding:
    """Algorithm 8, with the masks of the rows' own paths unless they are to be soft."""
    code = hae.encode(inputs, settings.tau)
    return hae.mask.with_choices(code, a) if settings.masks == "given" else code


def where_active(settings: Settings, hae: HierarchicalAutoencoder, code: Encoding) -> Tensor:
    """on(z), by the hardened mask."""
    return code.mask == 1 if settings.masks == "given" else hae.mask.harden(code.z_pre.detach())[1]


def penalty_on(settings: Settings, D: Any, z: Tensor, on: Tensor, weight: Tensor) -> Tensor:
    """What is penalized as dependence: the adversary's TC, or what a user's function says."""
    if D is not None:
        with frozen(D):
            return total_correlation(D, z, weight)
    own: Any = settings.penalty
    return torch.zeros((), device=z.device) if isinstance(own, str) else own(z, on)


def off_target(
    hae: HierarchicalAutoencoder,
    code: Encoding,
    targets: Tensor,
    trust: Tensor,
    kept: Tensor,
    guided: Tensor,
    is_guided: bool,
) -> Tensor:
    """How far the continuous variables are from their targets. Guides count while training `is_guided`; afterwards
    those of paths without trust have slack."""
    slack = constants.SLACK * (trust == 0) * (not is_guided)
    return target_loss(code.z_pre[:, : hae.mask.n_continuous], targets, kept + guided * is_guided, slack)


def descend(optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    """theta = descent_step(theta, L_theta)"""
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()


def make_measure(
    settings: Settings, layer: InputLayer, batch: tuple[Tensor, ...]
) -> Callable[[State], dict[str, float]]:
    """The loss of rows that are held out, without dependence, which an adversary has to learn first."""
    L_x, L_a = layer.loss(settings.sigma), ASSIGNMENT_LOSSES[settings.assignment]
    x, a, *aims = batch

    def measure(state: State) -> dict[str, float]:
        hae = state.model
        hae.eval()
        with torch.no_grad():
            code = hae.mask.with_choices(hae.encode(layer.to_input(x), settings.tau), a)
            target = off_target(hae, code, *aims, is_guided=False)
            loss = L_x(hae.decode(code.a, code.z), x) + settings.lambda1 * L_a(code, a) + settings.lambda3 * target
        hae.train()
        return {"held_out": float(loss)}

    return measure


def ramp(progress: float, length: float) -> float:
    """From 0 at the start to 1 after `length`."""
    return float(min(1.0, max(0.0, progress / length))) if length else float(progress >= 0)
