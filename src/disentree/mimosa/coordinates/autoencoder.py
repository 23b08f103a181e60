"""A smooth autoencoder for data that is not linear.

The network works on a few hundred principal components of the data rather than on the data itself, images
included: on a CPU this is an order of magnitude faster than convolutions, and the components of smoothly
changing images are smooth functions of whatever changes. The latent has room to spare; how many dimensions the
data needs is found later, from its neighborhoods.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import torch
from jaxtyping import Float, Shaped
from torch import nn

from disentree.geometry.pca import BLOCK, principal_axes
from disentree.mimosa.coordinates.constants import AUTOENCODER
from disentree.mimosa.coordinates.representation import Representation, as_float, as_rows, pixel_scale_of
from disentree.training.batches import TensorBatches
from disentree.training.checkpoints import fingerprint, resume
from disentree.training.loop import State, train
from disentree.training.networks import check_weights, mlp
from disentree.training.schedules import one_cycle
from disentree.training.session import flushed_denormals, generator_of, reporter, suitable_threads

log = logging.getLogger("disentree.mimosa")


def autoencoder_representation(
    X: Shaped[np.ndarray, "n ..."],
    seed: np.random.SeedSequence,
    verbose: bool = False,
    steps: int | None = None,
) -> Representation:
    """Train an autoencoder on the principal components of `X` and return its centered latent."""
    rows, pixel_scale = as_rows(X), pixel_scale_of(X)
    rng = np.random.default_rng(seed)
    mean, weights, spectrum = principal_components(X, AUTOENCODER.components, rng)
    P = np.concatenate(
        [(as_float(rows[i : i + BLOCK], pixel_scale) - mean) @ weights for i in range(0, len(rows), BLOCK)]
    ).astype(np.float32)
    if steps is None:
        steps = min(AUTOENCODER.max_steps, AUTOENCODER.epochs * max(len(P) // AUTOENCODER.batch, 5))
    latent = min(AUTOENCODER.latent, P.shape[1])
    network, history = train_autoencoder(P, latent, int(rng.integers(2**31)), steps, verbose)
    return Representation("autoencoder", mean, weights, spectrum, network, history, pixel_scale=pixel_scale)


@torch.no_grad()
def untold(representation: Representation, X: Shaped[np.ndarray, "n ..."]) -> float:
    """The share of the variance of rows, in principal components, that the latent does not tell."""
    network = representation.network
    assert isinstance(network, Autoencoder)
    P = (as_float(as_rows(X), representation.pixel_scale) - representation.mean) @ representation.weights
    P = torch.from_numpy(P.astype(np.float32))
    error = (network.decode(network.encode(P)) - P).square().sum()
    return float(error / P.square().sum().clamp_min(1e-30))


class Autoencoder(nn.Module):
    """From principal components to a latent and back."""

    scale: torch.Tensor
    center: torch.Tensor
    rotation: torch.Tensor

    def __init__(self, n_components: int, latent: int, hidden: Sequence[int]):
        super().__init__()
        self.encoder = mlp(n_components, latent, tuple(hidden), nn.SiLU)
        self.decoder = mlp(latent, n_components, tuple(hidden), nn.SiLU)
        self.register_buffer("scale", torch.ones(n_components))
        self.register_buffer("center", torch.zeros(latent))
        self.register_buffer("rotation", torch.eye(latent))

    @classmethod
    def from_weights(cls, weights: Mapping[str, np.ndarray]) -> Autoencoder:
        """The network whose `state_dict` this is."""
        widths = [len(weights[name]) for name in sorted(weights) if re.fullmatch(r"encoder\.\d+\.bias", name)]
        tensors = {name: torch.from_numpy(np.array(array)) for name, array in weights.items()}

        def build() -> Autoencoder:
            with torch.random.fork_rng(devices=[]):
                return cls(len(weights["scale"]), len(weights["center"]), widths[:-1])

        check_weights(build, tensors)
        network = build()
        network.load_state_dict(tensors)
        return network.eval().requires_grad_(False)

    def encode(self, P: Float[torch.Tensor, "n q"]) -> Float[torch.Tensor, "n D"]:
        return (self.encoder(P / self.scale) - self.center) @ self.rotation

    def decode(self, Z: Float[torch.Tensor, "n D"]) -> Float[torch.Tensor, "n q"]:
        return self.decoder(Z @ self.rotation.T + self.center) * self.scale

    @torch.no_grad()
    def turn(self, P: Float[np.ndarray, "n q"]) -> None:
        """Let the axes of the latent be those of largest variance, and its origin the mean."""
        Z = np.concatenate(
            [self.encode(torch.from_numpy(P[i : i + BLOCK])).double().numpy() for i in range(0, len(P), BLOCK)]
        )
        _, vectors = np.linalg.eigh((Z - Z.mean(axis=0)).T @ (Z - Z.mean(axis=0)))
        self.center.copy_(torch.from_numpy(Z.mean(axis=0)))
        self.rotation.copy_(torch.from_numpy(vectors[:, ::-1].copy()))


def principal_components(
    X: Shaped[np.ndarray, "n ..."], n_components: int, rng: np.random.Generator, n_rows: int = 10_000
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, axes and singular values from a random subset of rows.

    Tables are scaled to columns of equal size first, for their units have no meaning here; images are not.
    """
    chosen = np.sort(rng.choice(len(X), min(len(X), n_rows), replace=False))
    some = as_float(as_rows(X)[chosen], pixel_scale_of(X)).astype(np.float32)
    mean = some.mean(axis=0)
    some -= mean
    scale = np.ones(some.shape[1], dtype=np.float32)
    if X.ndim == 2:
        scale = some.std(axis=0)
        scale[scale <= 1e-7 * scale.max()] = np.inf
        some /= scale
    found = principal_axes(some, n_components, random_state=rng)
    return mean, found.axes / scale[:, None], found.singular_values


def train_autoencoder(
    P: Float[np.ndarray, "n q"], latent: int, seed: int, steps: int, verbose: bool = False
) -> tuple[Autoencoder, list[dict[str, float]]]:
    """Minimize the relative squared error of each row: small shapes count as much as large ones."""
    unit = float(P.std())
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = Autoencoder(P.shape[1], latent, AUTOENCODER.hidden)
    data = torch.from_numpy(P) / unit
    scale = data.std(dim=0).clamp_min(1e-12).sqrt()  # halfway to equal variance, so that fine detail counts
    size = data.pow(2).sum(dim=1)
    floor = 1e-6 * size.mean()
    batches = TensorBatches(data, min(AUTOENCODER.batch, len(data)), lambda rows: (size[rows],), drop_last=True)

    def step(state: State, batch: tuple[torch.Tensor, ...], progress: float) -> dict[str, torch.Tensor]:
        x, size_of_row = batch
        error = (network.decoder(network.encoder(x / scale)) * scale - x).pow(2).sum(dim=1)
        loss = (error / (size_of_row + floor)).mean()
        state.optimizer.zero_grad()
        loss.backward()
        state.optimizer.step()
        return {"loss": loss}

    state = State.start(
        network,
        learning_rate=AUTOENCODER.learning_rate,
        schedule=partial(one_cycle, rise=0.3, last_over_first=1e-4, cycle_momentum=True),  # torch's own defaults
        steps=steps,
        generator=generator_of(seed),
    )
    data_and_settings = {"data": fingerprint([P]), "latent": latent, "seed": seed, "steps": steps}
    save = resume(state, "representation.safetensors", {"training": "representation", **data_and_settings})
    n_epochs = math.ceil(steps / batches.n_batches)
    work = batches.batch_size * sum(weights.numel() for weights in network.parameters())
    with (
        flushed_denormals(),
        suitable_threads(torch.device("cpu"), work),
        reporter(n_epochs, verbose, what="autoencoder: epoch") as (report, after_batch),
    ):

        def after_epoch(state: State) -> None:
            save(state)
            report(state.history[-1])

        train(state, batches, step, steps, after_epoch, after_batch)
    ends = [min(steps, (i + 1) * batches.n_batches) for i in range(len(state.history))]
    history = [{"step": end, "error": r["loss"]} for end, r in zip(ends, state.history, strict=True)]
    log.info("autoencoder: relative error %.4f after %d steps", history[-1]["error"], steps)
    network.scale.copy_(scale * unit)
    network.turn(P)
    return network.eval().requires_grad_(False), history
