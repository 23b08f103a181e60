"""JointVAE (Dupont 2018): continuous and categorical variables, whose capacities grow while training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from disentree.baselines.flat import FlatEstimator, Minibatch, check_categories
from disentree.baselines.shared_docs import documented
from disentree.cofhae.algorithm8 import HierarchicalMask
from disentree.cofhae.checks import check_at_least_0, check_fraction, check_positive
from disentree.hierarchy import Hierarchy


@documented
class JointVAE(FlatEstimator):
    """A variational autoencoder with categorical variables, sampled by the Gumbel-softmax trick.

    loss = reconstruction + gamma |KL_z - C_z(t)| + gamma |KL_c - C_c(t)|

    KL_z and KL_c are the divergences of the continuous and of the categorical posteriors from unit Gaussians and
    uniform distributions, means over the batch before the absolute value is taken. The capacities C grow from 0;
    that of the categoricals no further than their entropy, the sum of log K. The discrete KL of the
    probabilities is used with relaxed samples, as in Dupont's code.

    Parameters
    ----------
    categories : int, sequence of int or None, default=None
        Numbers of options of the categoricals. None: those of the hierarchy given to `fit`, one for each of its
        categoricals.
    gamma : float, default=1.0
        Weight of the deviations from the capacities; 1 as in the paper on hierarchical disentanglement, which
        calls it beta. Dupont has 30 to 300, by data set.
    continuous_capacity : float, default=10.0
        Final C_z, as in the paper; Dupont has 5 to 50.
    categorical_capacity : float, default=10.0
        Final C_c, as in the paper; Dupont has 1.1 to 10.
    ramp : float, default=0.27
        The fraction of training over which capacities grow. Dupont's is 25,000 of 94,000 steps for MNIST, the
        default here, up to 300,000 of 345,000 for dSprites: but the paper's learning rate falls half way.
    tau : float, default=0.67
        Temperature of the relaxed samples.
    {flat_model}

    Examples
    --------
    >>> from disentree import JointVAE
    >>> from disentree.datasets import load_dataset
    >>> X = load_dataset("chopsticks-depth2-slope", n_samples=300, seed=0).X
    >>> model = JointVAE(n_continuous=2, categories=(2,), epochs=2, hidden=(8,), device="cpu").fit(X)
    >>> model.transform(X).shape
    (300, 3)
    """

    _logits: ClassVar[bool] = True

    def __init__(
        self,
        *,
        categories: int | Sequence[int] | None = None,
        gamma: float = 1.0,
        continuous_capacity: float = 10.0,
        categorical_capacity: float = 10.0,
        ramp: float = 0.27,
        tau: float = 0.67,
        **common: Any,
    ):
        super().__init__(**common)
        self.categories = categories
        self.gamma = gamma
        self.continuous_capacity = continuous_capacity
        self.categorical_capacity = categorical_capacity
        self.ramp = ramp
        self.tau = tau

    def _check(self) -> None:
        check_categories(self.categories)
        check_positive(self, "tau")
        check_fraction(self, "ramp")
        check_at_least_0(self, "gamma", "continuous_capacity", "categorical_capacity")

    def _layout(self, n_continuous: int, hierarchy: Hierarchy | None) -> Hierarchy:
        given = check_categories(self.categories)
        if given is None:
            if hierarchy is None:
                raise ValueError(
                    "JointVAE needs categories=(options, ...), or fit(X, hierarchy=...) to count them"
                )
            given = tuple(v.n_options for v in hierarchy.variables if v.kind == "categorical")
        return Hierarchy.flat(n_continuous, given)

    def terms(self, batch: Minibatch) -> dict[str, Tensor]:
        mask, code = self.autoencoder_.mask, batch.code
        z, a = batch.sample(), relaxed_sample(mask, code.log_p, self.tau, batch.state.generator)
        reconstruction = batch.reconstruction(z, a)
        kl_z = code.kl().sum(1).mean()
        kl_c = entropy(mask) + (code.log_p.exp() * code.log_p).sum(1).mean()
        C_z = capacity(self.continuous_capacity, batch.progress, self.ramp)
        C_c = min(capacity(self.categorical_capacity, batch.progress, self.ramp), entropy(mask))
        loss = reconstruction + self.gamma * ((kl_z - C_z).abs() + (kl_c - C_c).abs())
        return {"loss": loss, "reconstruction": reconstruction, "kl_continuous": kl_z, "kl_categorical": kl_c}


def capacity(most: float, progress: float, ramp: float) -> float:
    """From 0 at the start to `most` when a fraction `ramp` of training is done."""
    return most * min(1.0, progress / ramp if ramp else 1.0)


def entropy(mask: HierarchicalMask) -> float:
    """Of uniform distributions over the options of all categoricals, in nats."""
    options = torch.tensor([float(mask.hierarchy.variables[c].n_options) for c in mask.categoricals])
    return float(options.log().sum())


def relaxed_sample(
    mask: HierarchicalMask, log_p: Float[Tensor, "batch options"], tau: float, generator: torch.Generator
) -> Float[Tensor, "batch options"]:
    """Gumbel-softmax: nearly one-hot samples of every categorical, through which gradients pass."""
    uniform = torch.rand(log_p.shape, generator=generator).to(log_p.device)
    gumbel = -(-(uniform + 1e-12).log() + 1e-12).log()
    blank = log_p.new_zeros(len(log_p), mask.n_continuous)
    return mask(torch.cat([blank, log_p + gumbel], dim=1), tau).a
