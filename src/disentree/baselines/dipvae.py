"""DIP-VAE (Kumar et al. 2018): the covariance of the posterior means is brought to the identity."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from disentree.baselines.flat import FlatEstimator, Minibatch
from disentree.baselines.shared_docs import documented
from disentree.cofhae.checks import check_at_least_0


@documented
class DIPVAE(FlatEstimator):
    """A variational autoencoder whose posterior means are uncorrelated and of variance 1 (DIP-VAE-I).

    loss = reconstruction + KL + strength (sum of squares of covariances + 10 sum of (variance - 1)^2)

    Parameters
    ----------
    strength : float, default=10.0
        Weight of covariances; that of variances is ten times as high, as published.
    {flat_model}

    Examples
    --------
    >>> from disentree.baselines import DIPVAE
    >>> from disentree.datasets import load_dataset
    >>> X = load_dataset("chopsticks-depth2-slope", n_samples=300, seed=0).X
    >>> model = DIPVAE(n_continuous=2, epochs=2, hidden=(8,), device="cpu").fit(X)
    >>> model.transform(X).shape
    (300, 2)
    """

    def __init__(self, *, strength: float = 10.0, **common: Any):
        super().__init__(**common)
        self.strength = strength

    def _check(self) -> None:
        check_at_least_0(self, "strength")

    def terms(self, batch: Minibatch) -> dict[str, Tensor]:
        reconstruction = batch.reconstruction(batch.sample())
        kl = batch.code.kl().sum(1).mean()
        covariance = covariance_of(batch.code.mean)
        variances = covariance.diagonal()
        off = covariance.square().sum() - variances.square().sum() + 10 * (variances - 1).square().sum()
        loss = reconstruction + kl + self.strength * off
        return {"loss": loss, "reconstruction": reconstruction, "kl": kl, "covariance": off}


def covariance_of(mean: Tensor) -> Tensor:
    """Of the rows of a batch."""
    centered = mean - mean.mean(0)
    return centered.T @ centered / max(1, len(mean))
