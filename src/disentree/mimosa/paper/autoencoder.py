"""The paper's initial representation: a flat smooth autoencoder with a latent of a given dimension."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from disentree.mimosa.coordinates.representation import Representation, as_float, as_rows, pixel_scale_of
from disentree.training.batches import TensorBatches
from disentree.training.loop import Diverged, State, train
from disentree.training.networks import (
    ACTIVATIONS,
    Activation,
    burgess_decoder,
    burgess_encoder,
    check_weights,
    glorot,
    mlp,
)
from disentree.training.schedules import drops
from disentree.training.session import flushed_denormals, generator_of, reporter, torch_threads


@dataclass(frozen=True)
class Latent(Representation):
    """A representation by an encoder alone; without one, the data represents itself."""

    encoder: dict[str, Any] | None = None  # of its network: shape of a row, n_latent and activation
    whitening: dict[str, Any] | None = None  # of the latent: its mean, and the matrix that it is multiplied by

    def _block(self, rows: np.ndarray) -> np.ndarray:
        values = as_float(rows, self.pixel_scale)
        if self.network is None:
            Z = values.astype(np.float64)
        else:
            with torch.no_grad(), flushed_denormals():
                Z = self.network(torch.from_numpy(values.astype(np.float32))).double().numpy()
        if self.whitening is None:
            return Z
        return (Z - np.array(self.whitening["mean"])) @ np.array(self.whitening["matrix"])

    def whitened(self, Z: Float[np.ndarray, "n D"], power: float) -> Latent:
        """Whose principal components, as `Z` has them, are divided by that power of their deviations."""
        mean = Z.mean(axis=0)
        _, s, axes = np.linalg.svd(Z - mean, full_matrices=False)
        kept = s > np.finfo(np.float64).eps * len(Z) * s[0]  # a constant coordinate has nothing to divide
        matrix = axes[kept].T * (s[kept] / math.sqrt(len(Z))) ** -power
        return replace(self, whitening={"mean": mean.tolist(), "matrix": matrix.tolist()})

    def _about(self) -> dict[str, Any]:
        return {**super()._about(), "encoder": self.encoder, "whitening": self.whitening}

    @classmethod
    def _extra_fields(cls, about: Mapping[str, Any]) -> dict[str, Any]:
        return {"encoder": about["encoder"], "whitening": about.get("whitening")}  # not in the first files


def load_latent(path: str | os.PathLike[str]) -> Latent:
    """Read a representation that `Latent.save` wrote."""
    return Latent.load(path, _encoder)


def _encoder(weights: Mapping[str, np.ndarray], about: Mapping[str, Any]) -> nn.Module:
    shape, n_latent, activation = (about["encoder"][name] for name in ("shape", "n_latent", "activation"))
    tensors = {name: torch.from_numpy(np.array(array)) for name, array in weights.items()}

    def build() -> nn.Module:
        encoder, _ = _networks(_channels_first(shape), n_latent, 0, ACTIVATIONS[activation])
        return _from_rows(encoder, shape).eval()

    check_weights(build, tensors)
    network = build()
    network.load_state_dict(tensors)
    return network


def given(X: Shaped[np.ndarray, "n ..."]) -> Latent:
    """Rows that are a representation already."""
    p = math.prod(X.shape[1:])
    scale = pixel_scale_of(X)
    spectrum = _spectrum(as_float(as_rows(X), scale))
    return Latent("linear", np.zeros(p), np.zeros((p, 0)), spectrum, pixel_scale=scale)


def flat_autoencoder(
    X: Shaped[np.ndarray, "n ..."],
    initial_dim: int,
    seed: np.random.SeedSequence,
    *,
    epochs: int = 50,
    batch_size: int = 256,
    learning_rate: float = 1e-3,
    activation: str = "softplus",
    verbose: bool = False,
) -> Latent:
    """Train on all rows: fully connected with 100 times the squared error for vectors, convolutional with the
    Bernoulli loss for images; Adam, whose rate is divided by ten at half and at three quarters."""
    images = X.ndim > 2
    data = torch.from_numpy(as_float(X, pixel_scale_of(X)).astype(np.float32))
    if images:
        data = data.unsqueeze(1) if X.ndim == 3 else data.movedim(3, 1).contiguous()
        if data.min() < 0 or data.max() > 1:
            raise ValueError(
                "images must hold bytes or values between 0 and 1 for the Bernoulli loss, "
                f"got {float(data.min()):g} to {float(data.max()):g}"
            )
    seeds = seed.generate_state(2)
    shape = X.shape[1:]
    encoder, decoder = _networks(_channels_first(shape), initial_dim, int(seeds[0]), ACTIVATIONS[activation])
    model = nn.ModuleDict({"encoder": encoder, "decoder": decoder})
    batches = TensorBatches(data, batch_size)
    steps = epochs * batches.n_batches
    rate_drops = sorted({batches.n_batches * max(1, share) for share in (epochs // 2, 3 * epochs // 4)})

    def step(state: State, batch: tuple[Tensor, ...], progress: float) -> dict[str, Tensor]:
        (x,) = batch
        loss = reconstruction_loss(decoder(encoder(x)), x, images)
        state.optimizer.zero_grad()
        loss.backward()
        state.optimizer.step()
        return {"loss": loss}

    state = State.start(
        model,
        learning_rate=learning_rate,
        schedule=lambda optimizer, steps: drops(optimizer, rate_drops),
        steps=steps,
        generator=generator_of(int(seeds[1])),
    )
    # One thread for the small network: more gain little, wait for each other on a busy machine, and would
    # make the result depend on the number of cores.
    threads = torch_threads(None if images else 1)
    with (
        threads,
        flushed_denormals(),
        reporter(epochs, verbose, what="autoencoder: epoch") as (report, after_batch),
    ):
        try:
            train(state, batches, step, steps, lambda state: report(state.history[-1]), after_batch)
        except Diverged:
            raise ValueError(
                "the autoencoder diverged: X may need scaling to values around 1, or a lower learning_rate"
            ) from None
    history = [{"epoch": record["epoch"], "loss": record["loss"]} for record in state.history]
    p = math.prod(shape)
    network = _from_rows(encoder, shape).eval()
    about = {"shape": list(shape), "n_latent": int(initial_dim), "activation": activation}
    latent = Latent(
        "autoencoder",
        np.zeros(p),
        np.zeros((p, 0)),
        np.zeros(0),
        network,
        history,
        pixel_scale=pixel_scale_of(X),
        encoder=about,
    )
    return replace(latent, spectrum=_spectrum(latent.transform(X)))


def reconstruction_loss(out: Float[Tensor, "b ..."], x: Float[Tensor, "b ..."], images: bool) -> Tensor:
    """Summed over features, averaged over the batch."""
    if images:
        return nn.functional.binary_cross_entropy_with_logits(out, x, reduction="sum") / len(x)
    # the weight that the published runs give to the sum over features
    return 100.0 * (out - x).square().sum() / len(x)


def _networks(
    shape: tuple[int, ...], n_latent: int, seed: int, activation: Activation
) -> tuple[nn.Module, nn.Module]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if len(shape) == 3:
            c, h, w = shape
            return burgess_encoder((c, h, w), n_latent, activation), burgess_decoder((c, h, w), n_latent)
        encoder, decoder = (
            mlp(*sizes, activation=activation) for sizes in ((shape[0], n_latent), (n_latent, shape[0]))
        )
        return glorot(encoder), glorot(decoder)


def _channels_first(shape: Sequence[int]) -> tuple[int, ...]:
    """The shape of a row as the networks take it."""
    return tuple(shape) if len(shape) == 1 else (1, *shape) if len(shape) == 2 else (shape[2], *shape[:2])


def _from_rows(encoder: nn.Module, shape: Sequence[int]) -> nn.Module:
    """The encoder for flattened rows of a shape with channels last."""
    if len(shape) == 1:
        return encoder
    if len(shape) == 2:
        return nn.Sequential(nn.Unflatten(1, (1, *shape)), encoder)
    return nn.Sequential(nn.Unflatten(1, tuple(shape)), _ChannelsFirst(), encoder)


class _ChannelsFirst(nn.Module):
    def forward(self, x: Float[Tensor, "b h w c"]) -> Float[Tensor, "b c h w"]:
        return x.movedim(3, 1)


def _spectrum(Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, " s"]:
    Z = np.asarray(Z, dtype=np.float64)
    return np.linalg.svd(np.linalg.qr(Z - Z.mean(axis=0), mode="r"), compute_uv=False)
