"""The terms of COFHAE's loss besides reconstruction."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional

from disentree.cofhae.algorithm8 import Encoding
from disentree.training.networks import check_shape


def squared_assignment_loss(code: Encoding, a: Float[Tensor, "batch options"]) -> Float[Tensor, ""]:
    """The paper's: squared error of the masked options, summed over options, on assigned rows only.

    `a` is NaN in rows without an assignment; they count in the mean over the batch, with 0.
    """
    defined = ~a.isnan()
    return torch.where(defined, code.a - torch.where(defined, a, 0.0), 0.0).square().sum() / len(a)


def log_assignment_loss(code: Encoding, a: Float[Tensor, "batch options"]) -> Float[Tensor, ""]:
    """Minus the log probability of the options on the way to the row's path, on assigned rows only."""
    return -torch.where(a == 1, code.log_p, 0.0).sum() / len(a)


ASSIGNMENT_LOSSES = {"squared": squared_assignment_loss, "log": log_assignment_loss}


def target_loss(
    z_pre: Float[Tensor, "batch continuous"],
    target: Float[Tensor, "batch continuous"],
    weight: Float[Tensor, "batch continuous"],
    slack: Float[Tensor, " batch"],
) -> Float[Tensor, ""]:
    """Squared distance to the targets beyond what a row has of slack, weighted. It acts before the mask: a doubt
    about the path must not shrink the value."""
    known = ~target.isnan()
    off = torch.where(known, z_pre - torch.where(known, target, 0.0), 0.0).abs()
    return ((off - slack[:, None]).clamp(min=0).square() * weight).sum() / len(target)


def permute_active(
    z: Float[Tensor, "batch continuous"],
    on: Bool[Tensor, "batch continuous"],
    generator: torch.Generator,
) -> Float[Tensor, "batch continuous"]:
    """Shuffle every variable over the rows where it is active, and leave it alone elsewhere (Algorithm 2,
    lines 7 to 10): a sample from the product of the active marginals."""
    key = torch.rand(z.shape, generator=generator).to(z.device)
    inactive = (~on).to(key.dtype)
    # Both orders list the active rows first, one as they stand and one at random; then the inactive ones.
    as_they_stand = inactive.argsort(dim=0, stable=True)
    at_random = torch.where(on, key, 2.0).argsort(dim=0, stable=True)
    return z.scatter(0, as_they_stand, z.gather(0, at_random))


def discriminator(n_in: int, hidden: tuple[int, ...]) -> nn.Sequential:
    """Tells codes from permuted ones: its logit is log D/(1-D) with D the probability of a true code."""
    layers: list[nn.Module] = []
    for width in hidden:
        layers += [nn.Linear(n_in, width), nn.LeakyReLU(0.2)]
        n_in = width
    return nn.Sequential(*layers, nn.Linear(n_in, 1))


def build_discriminator(given: Any, n_in: int) -> nn.Module:
    """An adversary from the widths of its layers, a module, which is copied, or a function of the number of
    variables."""
    network: Any = None
    if isinstance(given, nn.Module):
        network = copy.deepcopy(given)
    else:
        network = given(n_in) if callable(given) else discriminator(n_in, tuple(given))
    check_shape("discriminator", network, (n_in,), (1,))
    return network


@contextmanager
def frozen(network: nn.Module) -> Iterator[None]:
    """Gradients pass through the network, and none is computed for its own weights."""
    network.requires_grad_(False)
    try:
        yield
    finally:
        network.requires_grad_(True)


def total_correlation(
    D: nn.Module, z: Float[Tensor, "batch continuous"], weight: Float[Tensor, " batch"]
) -> Float[Tensor, ""]:
    """The discriminator's estimate of the conditional total correlation, rows weighted."""
    return (D(z).squeeze(1) * weight).mean()


def discriminator_loss(
    D: nn.Module, z: Float[Tensor, "batch continuous"], permuted: Float[Tensor, "other continuous"]
) -> Float[Tensor, ""]:
    """Cross-entropy of both kinds. Neither carries a gradient to the encoder."""
    logits = D(torch.cat([z.detach(), permuted.detach()])).squeeze(1)
    true, false = logits[: len(z)], logits[len(z) :]
    return 0.5 * (functional.softplus(-true).mean() + functional.softplus(false).mean())
