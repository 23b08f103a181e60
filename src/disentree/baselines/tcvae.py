"""beta-TCVAE (Chen et al. 2018): the total correlation, estimated from the minibatch, is penalized."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from disentree.baselines.flat import FlatEstimator, Minibatch, Posterior
from disentree.baselines.shared_docs import documented
from disentree.cofhae.checks import check_at_least_0, check_one_of

ESTIMATORS = ("weighted", "stratified")


@documented
class BetaTCVAE(FlatEstimator):
    """A variational autoencoder that penalizes the dependence between its variables.

    loss = reconstruction + KL(q(z|x) || N(0, 1)) + (beta - 1) TC,
    TC = mean of log q(z) - sum_j log q(z_j)

    This is the decomposition of the paper of Chen et al. with alpha = gamma = 1, the sum of its three parts
    written as the KL in closed form, which has less variance. TC can be negative in small batches, and is
    neither clipped nor annealed. The densities q(z) and q(z_j) of all data are estimated from the batch.

    Parameters
    ----------
    beta : float, default=5.0
        5 as in the paper on hierarchical disentanglement (Chen et al.: 6 for dSprites).
    estimator : {"weighted", "stratified"}, default="weighted"
        Minibatch weighted sampling, the default of Chen et al., or stratified sampling with the weights of their
        appendix; their code, and others that follow it, fill the wrong entries of that matrix.
    {flat_model}

    Examples
    --------
    >>> from disentree import BetaTCVAE
    >>> from disentree.datasets import load_dataset
    >>> X = load_dataset("chopsticks-depth2-slope", n_samples=300, seed=0).X
    >>> model = BetaTCVAE(n_continuous=2, epochs=2, hidden=(8,), device="cpu").fit(X)
    >>> model.transform(X).shape
    (300, 2)
    """

    def __init__(self, *, beta: float = 5.0, estimator: str = "weighted", **common: Any):
        super().__init__(**common)
        self.beta = beta
        self.estimator = estimator

    def _check(self) -> None:
        check_at_least_0(self, "beta")
        check_one_of(self, "estimator", ESTIMATORS)

    def terms(self, batch: Minibatch) -> dict[str, Tensor]:
        z = batch.sample()
        reconstruction = batch.reconstruction(z)
        kl = batch.code.kl().sum(1).mean()
        tc = decompose(z, batch.code, batch.n_rows, self.estimator).total_correlation
        loss = reconstruction + kl + (self.beta - 1) * tc
        return {"loss": loss, "reconstruction": reconstruction, "kl": kl, "total_correlation": tc}


class Parts(NamedTuple):
    """The KL divergence of the posterior from the prior as a sum of three."""

    mutual_information: Float[Tensor, ""]
    total_correlation: Float[Tensor, ""]
    dimension_wise_kl: Float[Tensor, ""]


def decompose(z: Float[Tensor, "batch d"], code: Posterior, n_rows: int, estimator: str) -> Parts:
    """Estimates for one sample z of each row's posterior. Their sum is that of log q(z|x) - log p(z), whatever
    the estimator."""
    log_q_zx = _log_normal(z, code.mean, code.log_variance).sum(1)
    log_p_z = _log_normal(z, torch.zeros_like(z), torch.zeros_like(z)).sum(1)
    # G[i, j, d] = log N(z_id; mean_jd, variance_jd)
    G = _log_normal(z[:, None, :], code.mean[None], code.log_variance[None])
    if estimator == "weighted":
        shift = math.log(len(z) * n_rows)
        log_q_z = G.sum(2).logsumexp(1) - shift
        log_q_zd = G.logsumexp(1) - shift
    else:
        log_w = stratified_weights(len(z), n_rows).to(z.device).log()
        log_q_z = (G.sum(2) + log_w).logsumexp(1)  # the weight of a row counts once, not once for each variable
        log_q_zd = (G + log_w[:, :, None]).logsumexp(1)
    product = log_q_zd.sum(1)
    return Parts((log_q_zx - log_q_z).mean(), (log_q_z - product).mean(), (product - log_p_z).mean())


def stratified_weights(batch: int, n_rows: int) -> Float[Tensor, "batch batch"]:
    """The weight of row j in the density at row i's sample: 1/N for i itself, (N - M)/(N M) for one other, the
    next, which stands for all that are not in the batch, and 1/M for the rest, with M = batch - 1. Each row of
    the matrix sums to 1."""
    if batch == 1:
        return torch.ones(1, 1)
    m = batch - 1
    weights = torch.full((batch, batch), 1 / m)
    i = torch.arange(batch)
    weights[i, i] = 1 / n_rows
    weights[i, (i + 1) % batch] = (n_rows - m) / (n_rows * m)
    return weights


def _log_normal(z: Tensor, mean: Tensor, log_variance: Tensor) -> Tensor:
    return -0.5 * (math.log(2 * math.pi) + log_variance + (z - mean).square() * (-log_variance).exp())
