"""The network of images, trained in parts."""

import numpy as np
import pytest

from disentree.mimosa.representation import autoencoder
from disentree.mimosa.representation.autoencoder import train_autoencoder
from disentree.training.checkpoints import checkpoints_in


def test_a_training_that_was_stopped_goes_on(tmp_path, monkeypatch):
    P = np.random.default_rng(0).normal(size=(300, 6)).astype(np.float32)
    monkeypatch.setattr(autoencoder, "HIDDEN", (8,))
    monkeypatch.setattr(autoencoder, "BATCH", 50)
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
