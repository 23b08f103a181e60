"""Networks by name: shapes, and the activation that was asked for."""

import pytest
import torch
from torch import nn

from disentree.training.networks import ACTIVATIONS, CONVOLUTIONAL, NETWORKS, build_decoder, build_encoder


def shape_for(name):
    return (2, 64, 64) if name in CONVOLUTIONAL else (5,)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("name", NETWORKS)
def test_every_network_uses_the_activation_that_was_asked_for(name, activation):
    shape = shape_for(name)
    encoder = build_encoder(name, shape, 3, (8,), activation)
    decoder = build_decoder(name, 3, shape, (8,), activation)
    for network in (encoder, decoder):
        used = {type(layer) for layer in network.modules() if isinstance(layer, tuple(set(ACTIVATIONS.values())))}
        assert used == {ACTIVATIONS[activation]}
    assert encoder(torch.zeros(2, *shape)).shape == (2, 3)
    assert decoder(torch.zeros(2, 3)).shape == (2, *shape)


@pytest.mark.parametrize("name", ["conv", "sharp"])
@pytest.mark.parametrize("shape", [(1, 12, 20), (3, 16, 16), (2, 65, 40)])
def test_convolutional_networks_take_images_of_any_size(name, shape):
    assert build_encoder(name, shape, 4, (), "silu")(torch.zeros(2, *shape)).shape == (2, 4)
    assert build_decoder(name, 4, shape, (), "silu")(torch.zeros(2, 4)).shape == (2, *shape)


def test_the_papers_networks_are_for_64_by_64():
    with pytest.raises(ValueError, match="take 64x64 images, got 32x64"):
        build_encoder("burgess", (1, 32, 64), 4, (), "relu")


def test_a_skip_network_starts_nearly_linear():
    torch_rng = torch.Generator().manual_seed(0)
    x, y = torch.randn(2, 200, 5, generator=torch_rng)
    network = build_encoder("auto", (5,), 3, (64, 64), "silu")
    bend = network(x + y) - network(x) - network(y) + network(torch.zeros(1, 5))
    assert bend.abs().mean() < 0.1 * network(x).abs().mean()
    assert any(isinstance(layer, nn.SiLU) for layer in network.modules())
