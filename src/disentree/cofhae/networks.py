"""The networks that are built when none are given."""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from disentree.cofhae.inputs import InputLayer
from disentree.training.networks import ImageDecoder, ImageEncoder, burgess_decoder, burgess_encoder, glorot, mlp

ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "softplus": nn.Softplus,
    "silu": nn.SiLU,
    "relu": nn.ReLU,
    "tanh": nn.Tanh,
    "gelu": nn.GELU,
}
CONVOLUTIONAL = ("conv", "burgess")
NETWORKS = ("auto", "mlp", "plain-mlp", *CONVOLUTIONAL)


class SkipMLP(nn.Module):
    """A linear map and a perceptron that bends it. The perceptron starts small, so that what is linear in the
    data is learned at once."""

    def __init__(self, n_in: int, n_out: int, hidden: tuple[int, ...], activation: Callable[[], nn.Module]):
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


def build_networks(
    encoder: str | nn.Module,
    decoder: str | nn.Module,
    layer: InputLayer,
    n_encoded: int,
    n_decoded: int,
    hidden: tuple[int, ...],
    activation: str,
) -> tuple[nn.Module, nn.Module]:
    """Encoder and decoder for an input layer: the one gives `n_encoded` numbers, the other takes `n_decoded`."""
    bend = ACTIVATIONS[activation]
    if isinstance(encoder, str):
        if encoder == "conv":
            encoder = ImageEncoder(layer.image_shape, n_encoded)
        elif encoder == "burgess":
            encoder = burgess_encoder(layer.image_shape, n_encoded)
        elif encoder == "plain-mlp":
            encoder = glorot(mlp(layer.n_inputs, n_encoded, hidden, bend))
        else:
            encoder = SkipMLP(layer.n_inputs, n_encoded, hidden, bend)
    if isinstance(decoder, str):
        if decoder == "conv":
            decoder = ImageDecoder(layer.image_shape, n_decoded)
        elif decoder == "burgess":
            decoder = burgess_decoder(layer.image_shape, n_decoded)
        elif decoder == "plain-mlp":
            decoder = glorot(mlp(n_decoded, layer.output_shape[0], hidden, bend))
        else:
            decoder = SkipMLP(n_decoded, layer.output_shape[0], hidden, bend)
    return encoder, decoder
