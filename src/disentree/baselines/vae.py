"""The variational autoencoder (Kingma and Welling 2014), and with another beta that of Higgins et al. (2017)."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from disentree.baselines.flat import FlatEstimator, Minibatch
from disentree.baselines.shared_docs import documented
from disentree.cofhae.checks import check_at_least_0


@documented
class VAE(FlatEstimator):
    """A variational autoencoder with a flat Gaussian code.

    loss = reconstruction + beta KL(q(z|x) || N(0, 1)), with one sample of z for every row

    Parameters
    ----------
    beta : float, default=1.0
        Weight of the KL divergence; 1 for the evidence lower bound.
    {flat_model}

    Examples
    --------
    >>> from disentree import VAE
    >>> from disentree.datasets import load_dataset
    >>> X = load_dataset("chopsticks-depth2-slope", n_samples=300, seed=0).X
    >>> model = VAE(n_continuous=2, epochs=2, hidden=(8,), device="cpu").fit(X)
    >>> model.transform(X).shape
    (300, 2)
    """

    def __init__(self, *, beta: float = 1.0, **common: Any):
        super().__init__(**common)
        self.beta = beta

    def _check(self) -> None:
        check_at_least_0(self, "beta")

    def terms(self, batch: Minibatch) -> dict[str, Tensor]:
        reconstruction = batch.reconstruction(batch.sample())
        kl = batch.code.kl().sum(1).mean()
        return {"loss": reconstruction + self.beta * kl, "reconstruction": reconstruction, "kl": kl}
