"""What the flat baselines share: one group of variables, a Gaussian posterior, and a loss for each model.

A baseline is a subclass of `FlatEstimator` with `terms`, its loss. Everything else is COFHAE's: the same fixed
whitening, networks, likelihoods, minibatches, schedules, checkpoints and files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Shaped
from numpy.typing import ArrayLike
from torch import Tensor, nn

from disentree.baselines.shared_docs import documented
from disentree.cofhae.algorithm8 import HierarchicalAutoencoder, HierarchicalMask
from disentree.cofhae.base import AutoencoderEstimator, paper_training
from disentree.cofhae.checks import check_training, is_whole
from disentree.cofhae.fitting.defaults import check_patience, held_out_rows
from disentree.cofhae.fitting.resumable import find_checkpoint, identity_of, train_model
from disentree.cofhae.preprocessor import Preprocessor
from disentree.hierarchy import Hierarchy
from disentree.training.batches import TensorBatches
from disentree.training.loop import State, Step
from disentree.training.session import generator_of, pick_device, pick_seed

N_CONTINUOUS = 10  # without a hierarchy, as in most work on disentanglement


class Posterior(NamedTuple):
    """q(z, d | x) for a batch."""

    mean: Float[Tensor, "batch continuous"]
    log_variance: Float[Tensor, "batch continuous"]
    log_p: Float[Tensor, "batch options"]  # of each option within its categorical

    def kl(self) -> Float[Tensor, "batch continuous"]:
        """KL divergence from the unit Gaussian, for each variable."""
        return 0.5 * (self.mean.square() + self.log_variance.exp() - self.log_variance - 1)

    def sample(self, generator: torch.Generator) -> Float[Tensor, "batch continuous"]:
        noise = torch.randn(self.mean.shape, generator=generator).to(self.mean.device)
        return self.mean + (0.5 * self.log_variance).exp() * noise


class FlatAutoencoder(HierarchicalAutoencoder):
    """The encoder gives the means, then the log variances if there are any, then logits if there are any."""

    def __init__(
        self, hierarchy: Hierarchy, encoder: nn.Module, decoder: nn.Module, *, variances: bool, logits: bool
    ):
        super().__init__(hierarchy, encoder, decoder)
        self.variances, self.logits = variances, logits

    def posterior(self, x: Float[Tensor, "batch ..."]) -> Posterior:
        out, d = self.encoder(x), self.mask.n_continuous
        n_out = d * (1 + self.variances) + self.mask.n_options * self.logits
        if out.shape[1:] != (n_out,):
            raise ValueError(
                f"encoder must give (batch, {n_out}) numbers: {d} means{f', {d} log variances' * self.variances}"
                f"{f', {self.mask.n_options} logits' * self.logits}; it gave {tuple(out.shape)}"
            )
        mean = out[:, :d]
        log_variance = out[:, d : 2 * d] if self.variances else torch.zeros_like(mean)
        log_p = out.new_zeros(len(out), self.mask.n_options)
        if self.logits and self.mask.n_options:
            log_p = self.mask(torch.cat([mean, out[:, -self.mask.n_options :]], dim=1), 1.0).log_p
        return Posterior(mean, log_variance, log_p)

    def encode_hard(
        self, x: Float[Tensor, "batch ..."]
    ) -> tuple[Float[Tensor, "batch options"], Float[Tensor, "batch continuous"]]:
        """Posterior means, and the likeliest option of every categorical."""
        code = self.posterior(x)
        return self.mask.harden(torch.cat([code.mean, code.log_p], dim=1))[0], code.mean


@dataclass
class Minibatch:
    """What a loss is computed from."""

    x: Shaped[Tensor, "batch ..."]
    before: Shaped[Tensor, "other ..."]  # the rows of the minibatch before this one; of this one at first
    code: Posterior
    progress: float  # of training, from 0 to 1
    n_rows: int  # of X
    state: State
    errors: Callable[[Tensor, Tensor], Tensor]  # reconstruction loss of each row of (output, x)

    def sample(self) -> Float[Tensor, "batch continuous"]:
        return self.code.sample(self.state.generator)

    def reconstruction(
        self, z: Float[Tensor, "batch continuous"], a: Float[Tensor, "batch options"] | None = None
    ) -> Float[Tensor, ""]:
        return self.errors(self.state.model.decode(z[:, :0] if a is None else a, z), self.x).mean()


def check_categories(categories: Any) -> tuple[int, ...] | None:
    """Numbers of options, one for each categorical; None if they are to follow from the structure."""
    if categories is None:
        return None
    given = categories if isinstance(categories, Sequence) else (categories,)
    if not all(is_whole(k, least=1) for k in given):
        raise ValueError(f"categories must be whole numbers above 0; got {categories!r}")
    return tuple(int(k) for k in given)


@documented
class FlatEstimator(AutoencoderEstimator):
    """Base of the baselines, and of those of your own: a baseline is its loss.

    A subclass defines `terms`. Minibatches, networks, likelihoods, schedules, checkpoints, progress, saving, runs
    and studies are there. Its own parameters are keywords of its `__init__`, which hands the others on.

    Parameters
    ----------
    {flat_model}

    Examples
    --------
    >>> from disentree.baselines import FlatEstimator
    >>> class Sparse(FlatEstimator):
    ...     def __init__(self, *, weight=1.0, **common):
    ...         super().__init__(**common)
    ...         self.weight = weight
    ...     def terms(self, batch):
    ...         z = batch.code.mean
    ...         reconstruction, size = batch.reconstruction(z), z.abs().sum(1).mean()
    ...         loss = reconstruction + self.weight * size
    ...         return {"loss": loss, "reconstruction": reconstruction, "size": size}
    >>> from disentree.datasets import load_dataset
    >>> X = load_dataset("chopsticks-depth2-slope", n_samples=300, seed=0).X
    >>> Sparse(n_continuous=2, epochs=1, hidden=(8,)).fit(X).transform(X).shape
    (300, 2)
    """

    _variances: ClassVar[bool] = True
    _logits: ClassVar[bool] = False
    autoencoder_: FlatAutoencoder

    def __init__(
        self,
        *,
        n_continuous: int | None = None,
        steps: int = 4000,
        sigma: float | None = 0.5**0.5 / 10,
        **common: Any,
    ):
        super().__init__(steps=steps, sigma=sigma, **common)
        self.n_continuous = n_continuous

    @classmethod
    def quick(cls, **parameters: Any) -> Any:
        """A model with a short training: 1000 steps, a learning rate of .004.

        Parameters
        ----------
        **parameters
            Those of the class, where they differ.

        Returns
        -------
        The model, not fitted.
        """
        return cls(**{"steps": 1000, "learning_rate": 4e-3, **parameters})

    @classmethod
    def paper(cls, *, images: bool = False, **parameters: Any) -> Any:
        """A model with the networks and schedule of the paper's published program.

        50 epochs of batches of 256, Adam at .001 with two drops, X as it is, perceptrons of two layers of 256 with
        softplus. As for `COFHAE.paper`, ``activation="relu"`` and ``input="whiten"`` were the preset up to
        version 0.2.

        Parameters
        ----------
        images : bool, default=False
            Use the convolutional networks of the paper, for images of 64x64.
        **parameters
            Those of the class, where they differ from the paper's.

        Returns
        -------
        The model, not fitted.
        """
        return cls(**{**paper_training(images), **parameters})

    # ---------------------------------------------------------------- what a model defines

    def _check(self) -> None:
        """Raise a ValueError for invalid parameters of the model's own."""

    def _layout(self, n_continuous: int, hierarchy: Hierarchy | None) -> Hierarchy:
        """The variables, from what is known about the structure."""
        if n_continuous < 1:
            raise ValueError(f"{type(self).__name__} needs at least one continuous variable; give n_continuous")
        return Hierarchy.flat(n_continuous)

    def terms(self, batch: Minibatch) -> dict[str, Tensor]:
        """What a model defines: the terms of its loss.

        Parameters
        ----------
        batch : Minibatch
            `code`, the posterior of the rows, with `mean`, `log_variance` and `kl()`; `sample()` of it;
            `reconstruction(z)`, the mean loss of what is decoded; `x`, the rows, and `before`, those of the
            minibatch before; `progress` of training from 0 to 1; `n_rows` of X; `state.generator` for randomness.

        Returns
        -------
        dict of str to Tensor
            "loss", which is minimized, "reconstruction", and terms of the model's own, for `history_`.
        """
        raise NotImplementedError(f"{type(self).__name__} must define terms(batch), its loss")

    def _adversary(self) -> nn.Module | None:
        """A second network, where the model has one."""

    def _train_adversary(self, batch: Minibatch) -> None:
        """A step of descent for it."""

    # ---------------------------------------------------------------- fitting

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        hierarchy: Hierarchy | Mapping[str, Any] | None = None,
        paths: ArrayLike | None = None,
        preprocessor: Preprocessor | None = None,
    ) -> Any:
        """Train on X.

        Parameters
        ----------
        X : array-like, data frame or blocks of rows
            Rows of numbers, or images ``(n, h, w)`` or ``(n, h, w, c)``: an array, also memory-mapped, a data
            frame, a torch `Dataset` whose items are rows, or an object that yields the same blocks of rows
            each time it is iterated over.
        y, paths : ignored, default=None
            Flat models learn nothing about the path of a row.
        hierarchy : Hierarchy or dict, default=None
            Only the numbers of its variables are used, where the parameters do not set them.
        preprocessor : Preprocessor, default=None
            What made X of the rows of a user, by `preprocessor.to_features(rows)`: the fitted model takes such
            rows, and decodes to such rows. None: X is as its user has it.

        Returns
        -------
        The fitted model itself.
        """
        self._check_parameters()
        n = self.n_continuous
        if isinstance(y, Hierarchy):
            raise TypeError("give the hierarchy by name: fit(X, hierarchy=...)")
        if hierarchy is not None and not isinstance(hierarchy, Hierarchy):
            hierarchy = Hierarchy.from_dict(hierarchy)
        source, self.preprocessor_ = self._read(X), preprocessor or Preprocessor()
        if n is None:
            n = N_CONTINUOUS if hierarchy is None else int((~hierarchy.is_categorical).sum())
        self.hierarchy_ = self._layout(int(n), hierarchy)
        self.device_ = pick_device(self.device)
        identity = identity_of(self, source, self.hierarchy_.to_dict())
        saved = find_checkpoint(self, identity)
        self.seed_ = saved[1]["seed"] if saved else pick_seed(self.random_state)
        seeds = np.random.SeedSequence(self.seed_).spawn(3)
        self.input_ = self._fit_input(source, np.random.default_rng(seeds[0])).to(self.device_)

        first, second = (int(s) for s in seeds[1].generate_state(2))
        self.autoencoder_, D = self._build(first)
        batches, about = self._batches(source), {**identity, "seed": self.seed_}
        check_patience(self, batches)
        held = held_out_rows(self, source.n_rows, np.random.default_rng(seeds[2]))
        n_rows, measure = source.n_rows - len(held), lambda state: {}
        steps = self._n_steps(n_rows)
        if len(held) and isinstance(batches, TensorBatches):
            left_out = torch.from_numpy(held).to(self.device_)
            measure = self._make_measure(batches.data[left_out], n_rows, steps)
            batches = batches.without(left_out)
        more: dict[str, Any] = {"about": about, "tensors": {}, "measure": measure}
        step = self._make_step(n_rows)
        train_model(self, source, batches, step, steps, seed=second, adversary=D, saved=saved, **more)
        return self

    def _make_measure(
        self, x: Shaped[Tensor, "held ..."], n_rows: int, steps: int
    ) -> Callable[[State], dict[str, float]]:
        """The loss of rows that are held out, with the same random numbers in every epoch."""
        layer, errors = self.input_, self.input_.row_losses(self.sigma)

        @torch.no_grad()
        def measure(state: State) -> dict[str, float]:
            self.autoencoder_.eval()
            code = self.autoencoder_.posterior(layer.to_input(x))
            same = replace(state, generator=generator_of(0))
            loss = self.terms(Minibatch(x, x, code, state.step / steps, n_rows, same, errors))["loss"]
            self.autoencoder_.train()
            return {"held_out": float(loss)}

        return measure

    def _check_parameters(self) -> None:
        check_training(self)
        n = self.n_continuous
        if n is not None and not is_whole(n, least=0):
            raise ValueError(f"n_continuous must be None or a whole number, 0 or more; got {n!r}")
        self._check()

    def _make_step(self, n_rows: int) -> Step:
        layer, errors = self.input_, self.input_.row_losses(self.sigma)
        before = (-1, torch.zeros(0))  # epoch and rows of the last minibatch

        def step(state: State, batch: tuple[Tensor, ...], progress: float) -> dict[str, Tensor]:
            nonlocal before
            (x,) = batch
            code = self.autoencoder_.posterior(layer.to_input(x))
            other = before[1] if before[0] == state.epoch else x  # of this epoch only: so that training resumes
            given = Minibatch(x, other, code, progress, n_rows, state, errors)
            terms = self.terms(given)
            state.optimizer.zero_grad(set_to_none=True)
            terms["loss"].backward()
            state.optimizer.step()
            self._train_adversary(given)
            before = (state.epoch, x)
            return terms

        return step

    def _build(self, seed: int | None) -> tuple[FlatAutoencoder, nn.Module | None]:
        mask = HierarchicalMask(self.hierarchy_)
        n_encoded = mask.n_continuous * (1 + self._variances) + mask.n_options * self._logits
        with torch.random.fork_rng(devices=[]):
            if seed is not None:
                torch.manual_seed(seed)
            encoder, decoder = self._networks(n_encoded, mask.n_items)
            D = None if seed is None else self._adversary()
        net = FlatAutoencoder(self.hierarchy_, encoder, decoder, variances=self._variances, logits=self._logits)
        return net.to(self.device_), None if D is None else D.to(self.device_)
