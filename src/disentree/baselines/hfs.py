"""HFS (Roth et al. 2023): every combination of values that occur is to occur, whatever they depend on."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from disentree.baselines.flat import FlatEstimator, Minibatch
from disentree.baselines.shared_docs import documented
from disentree.cofhae.checks import check_at_least_0

MOST_PAIRS, RECOMBINED = 25, 100  # pairs of variables and recombinations of their values, for each minibatch


@documented
class HFS(FlatEstimator):
    """A variational autoencoder with a factorized support.

    loss = reconstruction + beta KL + gamma (squared Hausdorff distance of the support of each two variables from
    the product of their supports)

    Factors that depend on each other, but of which no combination is excluded, satisfy it, unlike a penalty on
    total correlation. For each pair of variables, of which at most 25 are drawn, values of two random rows are put
    together a hundred times; the distance is that of the combination which is farthest from all rows. Variables
    are measured in their standard deviations, so that shrinking them gains nothing.

    Parameters
    ----------
    gamma : float, default=10.0
        Weight of the distance.
    beta : float, default=1.0
        Weight of the KL divergence.
    {flat_model}

    Examples
    --------
    >>> from disentree.baselines import HFS
    >>> from disentree.datasets import load_dataset
    >>> X = load_dataset("chopsticks-depth2-slope", n_samples=300, seed=0).X
    >>> model = HFS(n_continuous=2, epochs=2, hidden=(8,), device="cpu").fit(X)
    >>> model.transform(X).shape
    (300, 2)
    """

    def __init__(self, *, gamma: float = 10.0, beta: float = 1.0, **common: Any):
        super().__init__(**common)
        self.gamma = gamma
        self.beta = beta

    def _check(self) -> None:
        check_at_least_0(self, "gamma", "beta")

    def terms(self, batch: Minibatch) -> dict[str, Tensor]:
        reconstruction = batch.reconstruction(batch.sample())
        kl = batch.code.kl().sum(1).mean()
        distance = support_distance(batch.code.mean, batch.state.generator)
        loss = reconstruction + self.beta * kl + self.gamma * distance
        return {"loss": loss, "reconstruction": reconstruction, "kl": kl, "support": distance}


def support_distance(z: Float[Tensor, "batch d"], generator: torch.Generator) -> Float[Tensor, ""]:
    """How far the farthest recombination of two variables is from all rows, squared; the mean over pairs."""
    n, d = z.shape
    if d < 2 or n < 2:
        return z.new_zeros(())
    z = z / z.std(0).clamp(min=1e-6)
    pairs = torch.combinations(torch.arange(d))
    pairs = pairs[torch.randperm(len(pairs), generator=generator)[:MOST_PAIRS]].to(z.device)
    rows = torch.randint(n, (2, RECOMBINED), generator=generator).to(z.device)
    both = z[:, pairs]  # (batch, pairs, 2)
    mixed = torch.stack([z[rows[0]][:, pairs[:, 0]], z[rows[1]][:, pairs[:, 1]]], dim=-1)  # (recombined, pairs, 2)
    squares = (mixed[:, None] - both[None]).square().sum(-1)  # (recombined, batch, pairs)
    return squares.amin(1).amax(0).mean()
