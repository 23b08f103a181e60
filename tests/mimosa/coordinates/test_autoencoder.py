"""The network of images, trained in parts."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from disentree.mimosa.coordinates import autoencoder
from disentree.mimosa.coordinates.autoencoder import train_autoencoder, untold
from disentree.mimosa.coordinates.choosing import choose_coordinates
from disentree.mimosa.coordinates.constants import AUTOENCODER
from disentree.mimosa.coordinates.representation import Representation
from disentree.training.checkpoints import checkpoints_in


def test_a_training_that_was_stopped_goes_on(tmp_path, monkeypatch):
    P = np.random.default_rng(0).normal(size=(300, 6)).astype(np.float32)
    monkeypatch.setattr(autoencoder, "AUTOENCODER", replace(AUTOENCODER, hidden=(8,), batch=50))
    whole, history = train_autoencoder(P, 2, 0, 40)
    assert [record["step"] for record in history] == [6, 12, 18, 24, 30, 36, 40]
    train, trained = autoencoder.train, []

    def stopped(state, batches, step, steps, after_epoch, after_batch):
        def after(state):
            after_epoch(state)
            trained.append(state.epoch)
            if len(trained) == 3:
                raise KeyboardInterrupt

        train(state, batches, step, steps, after, after_batch)

    monkeypatch.setattr(autoencoder, "train", stopped)
    with checkpoints_in(tmp_path):
        with pytest.raises(KeyboardInterrupt):
            train_autoencoder(P, 2, 0, 40)
        network, again = train_autoencoder(P, 2, 0, 40)
    assert trained == [1, 2, 3, 4, 5, 6, 7]
    assert again == history
    for name, value in whole.state_dict().items():
        assert np.array_equal(value.numpy(), network.state_dict()[name].numpy()), name


def test_what_a_latent_leaves_untold():
    # a network that keeps the first of two components, of variances 9 and 1, and forgets the second
    network = autoencoder.Autoencoder(2, 1, ())
    with torch.no_grad():
        for weights in network.parameters():
            weights.zero_()
        network.encoder[0].weight[0, 0] = network.decoder[0].weight[0, 0] = 1
    seen = Representation("autoencoder", np.ones(2), np.eye(2), np.ones(2), network)
    X = 1 + np.array([[3.0, 1], [-3, 1], [3, -1], [-3, -1]])
    assert untold(seen, X) == pytest.approx(0.1)


@pytest.mark.parametrize(("what", "kind"), [("lines", "autoencoder"), ("noise", "linear")])
def test_images_that_a_latent_does_not_tell_are_principal_components(what, kind, monkeypatch):
    monkeypatch.setattr(autoencoder, "AUTOENCODER", replace(AUTOENCODER, hidden=(64,), epochs=30))
    rng = np.random.default_rng(0)
    at, x = rng.uniform(0, 7, 2000), np.arange(8)
    lines = np.exp(-np.square(x - at[:, None]) / 4)[:, :, None] * np.ones(8)
    X = lines if what == "lines" else rng.random((2000, 8, 8))
    found = choose_coordinates(X, "auto", np.random.SeedSequence(0))
    assert found.representation.kind == kind
    assert (found.columns is None) == (kind == "autoencoder")
    assert choose_coordinates(X, "autoencoder", np.random.SeedSequence(0)).representation.kind == "autoencoder"
