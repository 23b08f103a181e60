"""Encoders and decoders: multilayer perceptrons for vectors, convolutional networks for images.

The default convolutional networks are made for a CPU: space-to-depth replaces the first strided convolutions and
depth-to-space the transposed ones, which are the slow parts of the usual architecture, and tensors are
`channels_last`. `burgess_encoder` and `burgess_decoder` are the networks of the paper.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, cast

import torch
from jaxtyping import Float
from torch import Tensor, nn

Activation = Callable[[], nn.Module]
ImageShape = tuple[int, int, int]  # channels, height, width

ACTIVATIONS: dict[str, Activation] = {
    "softplus": nn.Softplus,
    "silu": nn.SiLU,
    "relu": nn.ReLU,
    "tanh": nn.Tanh,
    "gelu": nn.GELU,
}
CONVOLUTIONAL = ("conv", "sharp", "burgess")
NETWORKS = ("auto", "mlp", "plain-mlp", *CONVOLUTIONAL)

# Of "sharp", the network that COFHAE decodes images with: channels at a sixteenth, an eighth and a quarter of the
# image's size, and fully connected layers. It takes two thirds of the time of (48, 48, 48), for the same error.
SHARP_CHANNELS, SHARP_DEPTH = (64, 32, 32), 2


def build_encoder(
    name: str, shape: tuple[int, ...], n_out: int, hidden: tuple[int, ...], activation: str
) -> nn.Module:
    """An encoder by its name ("auto" is "mlp"), from inputs of this shape, (columns,) or (channels, height, width)
    for convolutional networks, to `n_out` numbers. `hidden` are the widths of a perceptron's layers."""
    function = ACTIVATIONS[activation]
    if name in CONVOLUTIONAL:
        build = {"conv": ImageEncoder, "sharp": SharpEncoder, "burgess": burgess_encoder}[name]
        return build(cast(ImageShape, shape), n_out, activation=function)
    return _perceptron(name, shape[0], n_out, hidden, function)


def build_decoder(
    name: str, n_in: int, shape: tuple[int, ...], hidden: tuple[int, ...], activation: str
) -> nn.Module:
    """A decoder by its name, from `n_in` numbers to the shape of its output. See `build_encoder`."""
    function = ACTIVATIONS[activation]
    if name in CONVOLUTIONAL:
        build = {"conv": ImageDecoder, "sharp": sharp_decoder, "burgess": burgess_decoder}[name]
        return build(cast(ImageShape, shape), n_in, activation=function)
    return _perceptron(name, n_in, shape[0], hidden, function)


def _perceptron(name: str, n_in: int, n_out: int, hidden: tuple[int, ...], activation: Activation) -> nn.Module:
    if name == "plain-mlp":
        return glorot(mlp(n_in, n_out, hidden, activation))
    return SkipMLP(n_in, n_out, hidden, activation)


def check_shape(what: str, network: nn.Module, given: tuple[int, ...], wanted: tuple[int, ...] | None) -> None:
    """An error in a sentence if a network cannot take rows of a shape, or gives others than are `wanted`."""
    weights = next(network.parameters(), torch.zeros(()))
    was_training = network.training
    network.eval()
    try:
        with torch.no_grad():
            out = network(torch.zeros(2, *given, device=weights.device))
    except RuntimeError as error:
        raise ValueError(f"{what} cannot take rows of shape {given}: {str(error).splitlines()[0]}") from None
    network.train(was_training)
    if wanted is not None and (out.shape[0] != 2 or out.shape[1:] != wanted):
        raise ValueError(
            f"{what} must give rows of shape {wanted} for rows of shape {given}; it gave {tuple(out.shape[1:])}"
        )


def mlp(n_in: int, n_out: int, hidden: tuple[int, ...] = (256, 256), activation: Activation = nn.Softplus):
    """Fully connected layers with an activation after each but the last."""
    layers: list[nn.Module] = []
    for width in hidden:
        layers += [nn.Linear(n_in, width), activation()]
        n_in = width
    return nn.Sequential(*layers, nn.Linear(n_in, n_out))


def glorot(network: nn.Module) -> nn.Module:
    """Set uniform weights after Glorot and Bengio (2010) and biases of 0, the paper's initial values."""
    for layer in network.modules():
        if isinstance(layer, nn.Linear):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
    return network


class SkipMLP(nn.Module):
    """The sum of a linear map and a perceptron that starts near 0, so that what is linear in the data is learned
    at once."""

    def __init__(self, n_in: int, n_out: int, hidden: tuple[int, ...], activation: Activation):
        super().__init__()
        self.linear = nn.Linear(n_in, n_out)
        self.bend = mlp(n_in, n_out, hidden, activation)
        with torch.no_grad():
            last = self.bend[-1]
            assert isinstance(last, nn.Linear)
            last.weight *= 0.1
            last.bias.zero_()

    def forward(self, x: Float[Tensor, "batch i"]) -> Float[Tensor, "batch o"]:
        return self.linear(x) + self.bend(x)


class ImageEncoder(nn.Module):
    """(batch, c, h, w) -> (batch, n_out), for images of any size (padded to a multiple of 16)."""

    def __init__(self, shape: ImageShape, n_out: int, activation: Activation = nn.SiLU):
        super().__init__()
        c, h, w = shape
        self.pad, (rows, columns) = _padding(h, w)
        self.features = nn.Sequential(
            nn.PixelUnshuffle(4),
            nn.Conv2d(16 * c, 32, 3, padding=1),
            activation(),
            nn.Conv2d(32, 32, 4, stride=2, padding=1),
            activation(),
            nn.Conv2d(32, 64, 4, stride=2, padding=1),
            activation(),
            nn.Flatten(),
        )
        self.head = mlp(64 * (rows // 16) * (columns // 16), n_out, (256,), activation)
        cast(Any, self).to(memory_format=torch.channels_last)

    def forward(self, x: Float[Tensor, "batch c h w"]) -> Float[Tensor, "batch z"]:
        x = nn.functional.pad(x, self.pad).contiguous(memory_format=torch.channels_last)
        return self.head(self.features(x))


class SharpEncoder(ImageEncoder):
    """The mirror image of `sharp_decoder`: (batch, c, h, w) -> (batch, n_out)."""

    def __init__(self, shape: ImageShape, n_out: int, activation: Activation = nn.SiLU):
        nn.Module.__init__(self)
        c, h, w = shape
        self.pad, (rows, columns) = _padding(h, w)
        last, second, first = SHARP_CHANNELS
        self.features = nn.Sequential(
            nn.PixelUnshuffle(4),
            nn.Conv2d(16 * c, first, 3, padding=1),
            activation(),
            nn.PixelUnshuffle(2),
            nn.Conv2d(4 * first, second, 3, padding=1),
            activation(),
            nn.PixelUnshuffle(2),
            nn.Conv2d(4 * second, last, 3, padding=1),
            activation(),
            nn.Flatten(),
        )
        self.head = mlp(last * (rows // 16) * (columns // 16), n_out, (256,) * SHARP_DEPTH, activation)
        cast(Any, self).to(memory_format=torch.channels_last)


class ImageDecoder(nn.Module):
    """(batch, n_in) -> (batch, c, h, w), logits or means.

    `channels` are those of the three convolutions, from a sixteenth of the image's size up; `depth` is the number
    of fully connected layers of 256 units before them.
    """

    def __init__(
        self,
        shape: ImageShape,
        n_in: int,
        channels: tuple[int, int, int] = (48, 48, 48),
        activation: Activation = nn.SiLU,
        depth: int = 1,
    ):
        super().__init__()
        c, h, w = shape
        self.shape = shape
        _, (rows, columns) = _padding(h, w)
        first, second, third = channels
        self.grid = (first, rows // 16, columns // 16)
        self.head = mlp(n_in, math.prod(self.grid), (256,) * depth, activation).append(activation())
        self.features = nn.Sequential(
            nn.Conv2d(first, 4 * second, 3, padding=1),
            nn.PixelShuffle(2),
            activation(),
            nn.Conv2d(second, 4 * third, 3, padding=1),
            nn.PixelShuffle(2),
            activation(),
            nn.Conv2d(third, 16 * c, 3, padding=1),
            nn.PixelShuffle(4),
        )
        cast(Any, self).to(memory_format=torch.channels_last)

    def forward(self, z: Float[Tensor, "batch z"]) -> Float[Tensor, "batch c h w"]:
        grid = self.head(z).view(-1, *self.grid).contiguous(memory_format=torch.channels_last)
        return self.features(grid)[:, :, : self.shape[1], : self.shape[2]]


def sharp_decoder(shape: ImageShape, n_in: int, activation: Activation = nn.SiLU) -> ImageDecoder:
    """The network with which COFHAE decodes images."""
    return ImageDecoder(shape, n_in, SHARP_CHANNELS, activation=activation, depth=SHARP_DEPTH)


def _padding(h: int, w: int) -> tuple[tuple[int, int, int, int], tuple[int, int]]:
    right, bottom = -w % 16, -h % 16
    return (0, right, 0, bottom), (h + bottom, w + right)


def burgess_encoder(shape: ImageShape, n_out: int, activation: Activation = nn.Softplus):
    """The seven-layer encoder of Burgess et al. (2018) for 64x64 images."""
    _check_64(shape)
    layers: list[nn.Module] = []
    channels = shape[0]
    for _ in range(4):
        layers += [nn.Conv2d(channels, 32, 4, stride=2, padding=1), activation()]
        channels = 32
    return nn.Sequential(*layers, nn.Flatten(), mlp(512, n_out, (256, 256), activation))


def burgess_decoder(shape: ImageShape, n_in: int, activation: Activation = nn.ReLU):
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


def _check_64(shape: ImageShape) -> None:
    if shape[1:] != (64, 64):
        raise ValueError(f"the paper's convolutional networks take 64x64 images, got {shape[1]}x{shape[2]}")


def check_weights(build: Callable[[], nn.Module], weights: Mapping[str, Tensor]) -> None:
    """Raise a ValueError unless a network has the weights that are there. It is made without memory for them."""
    with torch.device("meta"):
        needed = {name: tuple(tensor.shape) for name, tensor in build().state_dict().items()}
    if wrong := sorted({*needed} ^ {*weights}):
        raise ValueError(f"it has other weights than its parameters say, such as {wrong[0]}")
    for name, shape in needed.items():
        if tuple(weights[name].shape) != shape:
            raise ValueError(f"{name} must be of shape {shape}, got {tuple(weights[name].shape)}")
