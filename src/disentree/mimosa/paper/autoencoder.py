"""The paper's initial representation: a flat smooth autoencoder with a latent of a given dimension."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from disentree.mimosa.representation.linear import Representation, as_float, as_rows
from disentree.training.networks import (
    Activation,
    burgess_decoder,
    burgess_encoder,
    flushed_denormals,
    glorot,
    mlp,
)
from disentree.utils.progress import bar

ACTIVATIONS: dict[str, Activation] = {"softplus": nn.Softplus, "relu": nn.ReLU}
SQUARED_ERROR_WEIGHT = 100.0  # of the sum over features, as in the published runs


@dataclass(frozen=True)
class Latent(Representation):
    """A representation by an encoder alone; without one, the data represents itself."""

    encoder: dict[str, Any] | None = None  # of its network: shape of a row, n_latent and activation

    def _block(self, rows: np.ndarray) -> np.ndarray:
        values = as_float(rows)
        if self.network is None:
            return values.astype(np.float64)
        with torch.no_grad(), flushed_denormals():
            return self.network(torch.from_numpy(values.astype(np.float32))).double().numpy()

    def _about(self) -> dict[str, Any]:
        return {**super()._about(), "encoder": self.encoder}

    def _with_network(self, weights: Mapping[str, np.ndarray], about: Mapping[str, Any]) -> Latent:
        shape, n_latent, activation = (about["encoder"][name] for name in ("shape", "n_latent", "activation"))
        encoder, _ = _networks(_channels_first(shape), n_latent, 0, ACTIVATIONS[activation])
        network = _from_rows(encoder, shape).eval()
        network.load_state_dict({name: torch.from_numpy(np.array(array)) for name, array in weights.items()})
        return replace(self, network=network, encoder=about["encoder"])


def given(X: Shaped[np.ndarray, "n ..."]) -> Latent:
    """Rows that are a representation already."""
    p = math.prod(X.shape[1:])
    return Latent("linear", np.zeros(p), np.zeros((p, 0)), _spectrum(as_float(as_rows(X))))


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
    data = torch.from_numpy(as_float(X).astype(np.float32))
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
    adam = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=learning_rate)
    drops = sorted({max(1, epochs // 2), max(1, (3 * epochs) // 4)})
    schedule = torch.optim.lr_scheduler.MultiStepLR(adam, drops, gamma=0.1)
    shuffle = torch.Generator().manual_seed(int(seeds[1]))
    history: list[dict[str, float]] = []
    # One thread for the small network: more gain little, wait for each other on a busy machine, and would
    # make the result depend on the number of cores.
    with _threads(None if images else 1), flushed_denormals(), bar("autoencoder", epochs, verbose) as advance:
        for epoch in range(1, epochs + 1):
            total = 0.0
            for rows in torch.randperm(len(data), generator=shuffle).split(batch_size):
                x = data[rows]
                loss = reconstruction_loss(decoder(encoder(x)), x, images)
                adam.zero_grad()
                loss.backward()
                adam.step()
                total += loss.item() * len(rows)
            schedule.step()
            history.append({"epoch": epoch, "loss": total / len(data)})
            advance(f"loss {total / len(data):.3g}")
    if not math.isfinite(history[-1]["loss"]):
        raise ValueError(
            "the autoencoder diverged: X may need scaling to values around 1, or a lower learning_rate"
        )
    p = math.prod(shape)
    network = _from_rows(encoder, shape).eval()
    about = {"shape": list(shape), "n_latent": int(initial_dim), "activation": activation}
    latent = Latent("autoencoder", np.zeros(p), np.zeros((p, 0)), np.zeros(0), network, history, encoder=about)
    return replace(latent, spectrum=_spectrum(latent.transform(X)))


def reconstruction_loss(out: Float[Tensor, "b ..."], x: Float[Tensor, "b ..."], images: bool) -> Tensor:
    """Summed over features, averaged over the batch."""
    if images:
        return nn.functional.binary_cross_entropy_with_logits(out, x, reduction="sum") / len(x)
    return SQUARED_ERROR_WEIGHT * (out - x).square().sum() / len(x)


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


@contextmanager
def _threads(n: int | None) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(n or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)
