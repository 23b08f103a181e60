"""Encoders and decoders: multilayer perceptrons for vectors, convolutional networks for images.

The default convolutional networks are made for a CPU. Space-to-depth takes the place of the first strided
convolutions and depth-to-space that of transposed ones, which are the slow parts of the usual architecture;
`channels_last` does the rest. `burgess_encoder` and `burgess_decoder` are the networks of the paper.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import torch
from jaxtyping import Float
from torch import Tensor, nn

Activation = Callable[[], nn.Module]


def mlp(n_in: int, n_out: int, hidden: tuple[int, ...] = (256, 256), activation: Activation = nn.Softplus):
    """Fully connected layers with an activation after each but the last."""
    layers: list[nn.Module] = []
    for width in hidden:
        layers += [nn.Linear(n_in, width), activation()]
        n_in = width
    return nn.Sequential(*layers, nn.Linear(n_in, n_out))


def glorot(network: nn.Module) -> nn.Module:
    """Uniform weights after Glorot and Bengio (2010), and biases of 0: how the paper's networks began."""
    for layer in network.modules():
        if isinstance(layer, nn.Linear):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
    return network


class ImageEncoder(nn.Module):
    """(batch, c, h, w) -> (batch, n_out), for images of any size (padded to a multiple of 16)."""

    def __init__(
        self,
        shape: tuple[int, int, int],
        n_out: int,
        channels: int = 32,
        hidden: int = 256,
        activation: Activation = nn.SiLU,
    ):
        super().__init__()
        c, h, w = shape
        self.pad, (rows, columns) = _padding(h, w)
        self.features = nn.Sequential(
            nn.PixelUnshuffle(4),
            nn.Conv2d(16 * c, channels, 3, padding=1),
            activation(),
            nn.Conv2d(channels, channels, 4, stride=2, padding=1),
            activation(),
            nn.Conv2d(channels, 2 * channels, 4, stride=2, padding=1),
            activation(),
            nn.Flatten(),
        )
        n_features = 2 * channels * (rows // 16) * (columns // 16)
        self.head = nn.Sequential(nn.Linear(n_features, hidden), activation(), nn.Linear(hidden, n_out))
        cast(Any, self).to(memory_format=torch.channels_last)

    def forward(self, x: Float[Tensor, "batch c h w"]) -> Float[Tensor, "batch z"]:
        x = nn.functional.pad(x, self.pad).contiguous(memory_format=torch.channels_last)
        return self.head(self.features(x))


class ImageDecoder(nn.Module):
    """(batch, n_in) -> (batch, c, h, w), logits or means."""

    def __init__(
        self,
        shape: tuple[int, int, int],
        n_in: int,
        channels: int = 48,
        hidden: int = 256,
        activation: Activation = nn.SiLU,
    ):
        super().__init__()
        c, h, w = shape
        self.shape = shape
        _, (rows, columns) = _padding(h, w)
        self.grid = (channels, rows // 16, columns // 16)
        self.head = nn.Sequential(
            nn.Linear(n_in, hidden),
            activation(),
            nn.Linear(hidden, math.prod(self.grid)),
            activation(),
        )
        self.features = nn.Sequential(
            nn.Conv2d(channels, 4 * channels, 3, padding=1),
            nn.PixelShuffle(2),
            activation(),
            nn.Conv2d(channels, 4 * channels, 3, padding=1),
            nn.PixelShuffle(2),
            activation(),
            nn.Conv2d(channels, 16 * c, 3, padding=1),
            nn.PixelShuffle(4),
        )
        cast(Any, self).to(memory_format=torch.channels_last)

    def forward(self, z: Float[Tensor, "batch z"]) -> Float[Tensor, "batch c h w"]:
        grid = self.head(z).view(-1, *self.grid).contiguous(memory_format=torch.channels_last)
        return self.features(grid)[:, :, : self.shape[1], : self.shape[2]]


def _padding(h: int, w: int) -> tuple[tuple[int, int, int, int], tuple[int, int]]:
    right, bottom = -w % 16, -h % 16
    return (0, right, 0, bottom), (h + bottom, w + right)


def burgess_encoder(shape: tuple[int, int, int], n_out: int, activation: Activation = nn.Softplus):
    """The seven-layer encoder of Burgess et al. (2018) for 64x64 images."""
    _check_64(shape)
    layers: list[nn.Module] = []
    channels = shape[0]
    for _ in range(4):
        layers += [nn.Conv2d(channels, 32, 4, stride=2, padding=1), activation()]
        channels = 32
    return nn.Sequential(*layers, nn.Flatten(), mlp(512, n_out, (256, 256), activation))


def burgess_decoder(shape: tuple[int, int, int], n_in: int, activation: Activation = nn.ReLU):
    """Its mirror image, ending in logits."""
    _check_64(shape)
    layers: list[nn.Module] = [
        mlp(n_in, 512, (256, 256), activation),
        activation(),
        nn.Unflatten(1, (32, 4, 4)),
    ]
    for _ in range(3):
        layers += [nn.ConvTranspose2d(32, 32, 4, stride=2, padding=1), activation()]
    return nn.Sequential(*layers, nn.ConvTranspose2d(32, shape[0], 4, stride=2, padding=1))


def _check_64(shape: tuple[int, int, int]) -> None:
    if shape[1:] != (64, 64):
        raise ValueError(f"the paper's convolutional networks take 64x64 images, got {shape[1]}x{shape[2]}")


@contextmanager
def flushed_denormals(device: torch.device | None = None) -> Iterator[None]:
    """Smooth activations drift into denormal floats, which makes a CPU several times slower. Zeros instead."""
    changed = (device is None or device.type == "cpu") and torch.set_flush_denormal(True)
    try:
        yield
    finally:
        if changed:
            torch.set_flush_denormal(False)
