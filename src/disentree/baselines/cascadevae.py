"""CascadeVAE (Jeong and Song 2019): variables are let through one after the other, and the category of every row
is found by optimization."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from disentree.baselines.balanced import assign
from disentree.baselines.flat import FlatEstimator, Minibatch, check_categories
from disentree.baselines.shared_docs import documented
from disentree.cofhae.checks import check_at_least_0, check_fraction
from disentree.hierarchy import Hierarchy


@documented
class CascadeVAE(FlatEstimator):
    """A variational autoencoder with one categorical variable d that no encoder infers.

    loss = reconstruction(z, d) + sum_j beta_j KL_j + weight_decay/2 |weights|^2

    Every variable starts with beta_j = beta_high, the first with beta_low; one more is let down to beta_low
    after every `stage` of training. At first d is not used (a vector of zeros). After `warm_up` it is chosen anew
    for every minibatch: the categories that minimize the sum of the reconstruction losses, plus `crowding` for
    every pair of rows of the same category, exactly (`disentree.baselines.balanced`). `transform` takes the
    category that reconstructs a row best from its posterior mean.

    Parameters
    ----------
    categories : int, sequence of one int or None, default=None
        The number of options of d. None: as many as the hierarchy given to `fit` has paths.
    beta_low : float, default=2.0
        Weight of the KL divergence of variables that are let through, as in the paper on hierarchical
        disentanglement.
    beta_high : float, default=10.0
        Weight of those that are not yet, as in Jeong and Song.
    stage : float, default=1/15
        Fraction of training after which one more variable is let through: 20,000 of Jeong and Song's 300,000
        steps. With many variables stages are shorter, so that all are let through after 80 % of training.
    warm_up : float, default=4/15
        Fraction of training before d is used: 80,000 of their steps. The stage with which d begins lets no new
        variable through, as in their code.
    crowding : float, default=0.001
        Cost of every pair of rows of the same category, as in their code.
    weight_decay : float, default=4e-05
        As in their code.
    {flat_model}

    Notes
    -----
    Unlike in their code Adam keeps its moments from stage to stage, the learning rate follows `schedule` (theirs
    was meant to fall, and did not), and the model is that of the last step, not the best one by ground truth.

    Examples
    --------
    >>> from disentree import CascadeVAE
    >>> from disentree.datasets import load_dataset
    >>> X = load_dataset("chopsticks-depth2-slope", n_samples=300, seed=0).X
    >>> model = CascadeVAE(n_continuous=2, categories=2, epochs=2, hidden=(8,), device="cpu").fit(X)
    >>> model.transform(X).shape
    (300, 3)
    """

    def __init__(
        self,
        *,
        categories: int | Sequence[int] | None = None,
        beta_low: float = 2.0,
        beta_high: float = 10.0,
        stage: float = 1 / 15,
        warm_up: float = 4 / 15,
        crowding: float = 1e-3,
        weight_decay: float = 4e-5,
        **common: Any,
    ):
        super().__init__(**common)
        self.categories = categories
        self.beta_low = beta_low
        self.beta_high = beta_high
        self.stage = stage
        self.warm_up = warm_up
        self.crowding = crowding
        self.weight_decay = weight_decay

    def _check(self) -> None:
        given = check_categories(self.categories)
        if given is not None and len(given) > 1:
            raise ValueError(f"CascadeVAE has one categorical; got categories={self.categories!r}")
        check_at_least_0(self, "beta_low", "beta_high", "crowding", "weight_decay")
        check_fraction(self, "stage", "warm_up")

    def _layout(self, n_continuous: int, hierarchy: Hierarchy | None) -> Hierarchy:
        given = check_categories(self.categories)
        if given is None:
            if hierarchy is None:
                raise ValueError(
                    "CascadeVAE needs categories=options, or fit(X, hierarchy=...) to count its paths"
                )
            given = (len(hierarchy.paths),)
        return Hierarchy.flat(n_continuous, tuple(k for k in given if k > 1))

    def terms(self, batch: Minibatch) -> dict[str, Tensor]:
        z, kl = batch.sample(), batch.code.kl().mean(0)
        d = z.new_zeros(len(z), self.autoencoder_.mask.n_options)
        if batch.progress >= self.warm_up and d.shape[1]:
            costs = self._costs(batch.x, z.detach(), batch.errors).double().cpu().numpy()
            d = nn.functional.one_hot(torch.from_numpy(assign(costs, self.crowding)), d.shape[1]).to(d)
        reconstruction = batch.reconstruction(z, d)
        n_low = let_through(len(kl), batch.progress, self.stage, self.warm_up)
        betas = torch.where(torch.arange(len(kl)) < n_low, self.beta_low, self.beta_high).to(kl)
        weights = [p for p in self.autoencoder_.parameters() if p.ndim > 1]
        decay = 0.5 * self.weight_decay * sum((w.square().sum() for w in weights), z.new_zeros(()))
        loss = reconstruction + betas @ kl + decay
        return {"loss": loss, "reconstruction": reconstruction, "kl": kl.sum()}

    @torch.no_grad()
    def _costs(self, x: Tensor, z: Float[Tensor, "n continuous"], errors: Any) -> Float[Tensor, "n options"]:
        """The reconstruction loss of every row with each category."""
        choices = torch.eye(self.autoencoder_.mask.n_options, device=z.device)
        costs = [errors(self.autoencoder_.decode(e.expand(len(z), -1), z), x) for e in choices]
        return torch.stack(costs, dim=1)

    def _encode_hard(
        self, x: Shaped[Tensor, "n ..."]
    ) -> tuple[Float[Tensor, "n options"], Float[Tensor, "n continuous"]]:
        z = self.autoencoder_.posterior(self.input_.to_input(x)).mean
        n_options = self.autoencoder_.mask.n_options
        if not n_options:
            return z[:, :0], z
        costs = self._costs(x, z, self.input_.row_losses(self.sigma))
        return nn.functional.one_hot(costs.argmin(1), n_options).to(z.dtype), z


def let_through(n_variables: int, progress: float, stage: float, warm_up: float) -> int:
    """How many variables have their low beta when a fraction `progress` of training is done."""
    stage = min(stage, 0.8 / max(n_variables, 1))
    if not stage:
        return n_variables
    begun = math.floor(progress / stage + 1e-9)
    if progress < warm_up:
        return min(begun + 1, n_variables)
    return min(max(begun, math.ceil(warm_up / stage - 1e-9)), n_variables)
