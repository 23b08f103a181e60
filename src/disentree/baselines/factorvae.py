"""FactorVAE (Kim and Mnih 2018): the total correlation, estimated by an adversary, is penalized."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from disentree.baselines.flat import FlatEstimator, Minibatch
from disentree.baselines.shared_docs import documented
from disentree.cofhae.checks import check_adversary, check_at_least_0
from disentree.cofhae.fitting.losses import (
    build_discriminator,
    discriminator_loss,
    frozen,
    permute_active,
    total_correlation,
)


@documented
class FactorVAE(FlatEstimator):
    """A variational autoencoder that an adversary trains to have independent variables.

    loss = reconstruction + KL(q(z|x) || N(0, 1)) + gamma TC,
    TC = mean of log D(z)/(1 - D(z)), D(z) the probability that z is a true code.

    D learns to tell samples z from samples of the previous minibatch in which each variable was shuffled over the
    rows. It is given codes only, and leaves no gradient in the encoder.

    Parameters
    ----------
    gamma : float, default=10.0
        Weight of the total correlation; 10 as in the paper on hierarchical disentanglement.
    discriminator : sequence of int, Module or callable, default=(128, 128, 128)
        Hidden widths of D. The default is small, for CPUs; `FactorVAE.paper` has the six layers of 1000 of Kim
        and Mnih.
    discriminator_betas : sequence of float, default=(0.5, 0.9)
        Adam's betas for D, whose learning rate and schedule are the autoencoder's.
    {flat_model}

    Examples
    --------
    >>> from disentree import FactorVAE
    >>> from disentree.datasets import load_dataset
    >>> X = load_dataset("chopsticks-depth2-slope", n_samples=300, seed=0).X
    >>> model = FactorVAE(n_continuous=2, discriminator=(8,), epochs=2, hidden=(8,), device="cpu").fit(X)
    >>> model.transform(X).shape
    (300, 2)
    """

    def __init__(
        self,
        *,
        gamma: float = 10.0,
        discriminator: Any = (128, 128, 128),
        discriminator_betas: Sequence[float] = (0.5, 0.9),
        **common: Any,
    ):
        super().__init__(**common)
        self.gamma = gamma
        self.discriminator = discriminator
        self.discriminator_betas = discriminator_betas

    @classmethod
    def paper(cls, *, images: bool = False, **parameters: Any) -> Any:
        return super().paper(images=images, **{"discriminator": (1000,) * 6, **parameters})

    def _check(self) -> None:
        check_at_least_0(self, "gamma")
        check_adversary(self)

    def terms(self, batch: Minibatch) -> dict[str, Tensor]:
        z, D = batch.sample(), batch.state.adversary
        assert D is not None
        reconstruction = batch.reconstruction(z)
        kl = batch.code.kl().sum(1).mean()
        with frozen(D):
            tc = total_correlation(D, z, torch.ones(len(z), device=z.device))
        loss = reconstruction + kl + self.gamma * tc
        return {"loss": loss, "reconstruction": reconstruction, "kl": kl, "total_correlation": tc}

    def _adversary(self) -> nn.Module:
        return build_discriminator(self.discriminator, self.hierarchy_.n_variables)

    def _train_adversary(self, batch: Minibatch) -> None:
        state = batch.state
        assert state.adversary is not None
        assert state.adversary_optimizer is not None
        with torch.no_grad():
            z = batch.sample()
            other = self.autoencoder_.posterior(self.input_.to_input(batch.before)).sample(state.generator)
        everywhere = torch.ones_like(other, dtype=torch.bool)
        permuted = permute_active(other, everywhere, state.generator)
        loss = discriminator_loss(state.adversary, z, permuted)
        state.adversary_optimizer.zero_grad(set_to_none=True)
        loss.backward()
        state.adversary_optimizer.step()
