"""A minibatch of COFHAE's training, to be read next to Algorithm 2 of the paper."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from disentree.cofhae import constants
from disentree.cofhae.algorithm8 import Encoding, HierarchicalAutoencoder, choices_of
from disentree.cofhae.fitting.losses import (
    ASSIGNMENT_LOSSES,
    discriminator_loss,
    frozen,
    pairwise_hsic,
    permute_active,
    target_loss,
    total_correlation,
)
from disentree.cofhae.fitting.targets import Targets
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
    penalty: str
    warm_up: float
    sigma: float | None
    masks: str
    guided: float


def make_step(settings: Settings, layer: InputLayer) -> Step:
    """Algorithm 2 for one minibatch."""
    tau, penalty = settings.tau, settings.penalty

    def active(hae: HierarchicalAutoencoder, code: Encoding) -> Tensor:
        return code.mask == 1 if settings.masks == "given" else hae.mask.harden(code.z_pre.detach())[1]

    L_x, L_a = layer.loss(settings.sigma), ASSIGNMENT_LOSSES[settings.assignment]

    def step(state: State, batch: tuple[Tensor, ...], progress: float) -> dict[str, Tensor]:
        hae, D = state.model, state.adversary
        x, a, t, trust, kept, guided = batch
        lambda2 = settings.lambda2 * ramp(progress - settings.guided, settings.warm_up)

        # a', z = HAE.encode(x; tau);  x' = HAE.decode(concat(a', z))
        code = hae.encode(layer.to_input(x), tau)
        if settings.masks == "given":
            code = hae.mask.with_choices(code, a)
        x_hat = hae.decode(code.a, code.z)

        # L_theta = L_x(x', x) + lambda1 L_a(a', a) + lambda2 TC(z), and lambda3 for the targets of z
        reconstruction = L_x(x_hat, x)
        assignment = L_a(code, a)
        weight = kept + guided * (progress < settings.guided)
        slack = constants.SLACK * (trust == 0) * (progress >= settings.guided)
        target = target_loss(code.z_pre[:, : hae.mask.n_continuous], t, weight, slack)
        dependence = torch.zeros((), device=x.device)
        if D is not None:
            with frozen(D):
                dependence = total_correlation(D, code.z, 1 - trust)
        elif penalty == "hsic":
            dependence = pairwise_hsic(code.z, active(hae, code), 1 - trust)
        loss = reconstruction + settings.lambda1 * assignment + lambda2 * dependence + settings.lambda3 * target

        # theta = descent_step(theta, L_theta)
        state.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        state.optimizer.step()

        # z' = z with every variable shuffled over the rows where it is on;  psi = descent_step(psi, L_psi)
        if D is not None and state.adversary_optimizer is not None:
            z = code.z.detach()
            on = active(hae, code)
            if penalty == "marginal":  # FactorVAE's: over all rows, on or off
                on = torch.ones_like(on)
            D_loss = discriminator_loss(D, z, permute_active(z, on, state.generator))
            state.adversary_optimizer.zero_grad(set_to_none=True)
            D_loss.backward()
            state.adversary_optimizer.step()

        return {
            "loss": loss,
            "reconstruction": reconstruction,
            "assignment": assignment,
            "dependence": dependence,
            "target": target,
        }

    return step


def make_measure(
    settings: Settings, layer: InputLayer, batch: tuple[Tensor, ...]
) -> Callable[[State], dict[str, float]]:
    """The loss of rows that are held out, without dependence, which an adversary has to learn first."""
    L_x, L_a = layer.loss(settings.sigma), ASSIGNMENT_LOSSES[settings.assignment]
    x, a, t, trust, kept, _ = batch

    def measure(state: State) -> dict[str, float]:
        hae = state.model
        hae.eval()
        with torch.no_grad():
            code = hae.mask.with_choices(hae.encode(layer.to_input(x), settings.tau), a)
            slack = constants.SLACK * (trust == 0)
            target = target_loss(code.z_pre[:, : hae.mask.n_continuous], t, kept, slack)
            loss = L_x(hae.decode(code.a, code.z), x) + settings.lambda1 * L_a(code, a) + settings.lambda3 * target
        hae.train()
        return {"held_out": float(loss)}

    return measure


def ramp(progress: float, length: float) -> float:
    """From 0 at the start to 1 after `length`."""
    return float(min(1.0, max(0.0, progress / length))) if length else float(progress >= 0)


class Labels:
    """Assignments, targets and trust of rows."""

    def __init__(
        self,
        hae: HierarchicalAutoencoder,
        paths: Int[np.ndarray, " n"],
        targets: Targets,
        device: torch.device,
    ):
        self.paths = torch.from_numpy(paths).to(device)
        self.choices = hae.mask.path_options().to(device)
        self.targets = torch.from_numpy(targets.values[:, hae.mask.continuous].astype(np.float32)).to(device)
        # [-1]: no path
        self.trust = torch.from_numpy(np.append(targets.trust, 0.0).astype(np.float32)).to(device)
        self.kept, self.guided = (
            torch.from_numpy(np.pad(weights[:, hae.mask.continuous], ((0, 1), (0, 0))).astype(np.float32)).to(
                device
            )
            for weights in (targets.kept, targets.guided)
        )

    def __call__(self, rows: Int[Tensor, " batch"]) -> tuple[Tensor, ...]:
        paths = self.paths[rows]
        choices = choices_of(paths, self.choices)
        return choices, self.targets[rows], self.trust[paths], self.kept[paths], self.guided[paths]
