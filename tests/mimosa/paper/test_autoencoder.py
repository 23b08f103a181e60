"""The paper's initial autoencoder: how its learning rate falls; covers `paper/`."""

import numpy as np
import pytest

from disentree.mimosa.paper import autoencoder as module
from disentree.mimosa.paper.autoencoder import flat_autoencoder


@pytest.mark.parametrize(("epochs", "drops"), [(8, (4, 6)), (5, (2, 3)), (1, (1, 1))])
def test_the_rate_falls_after_half_and_three_quarters_of_the_epochs(epochs, drops, monkeypatch):
    rates, original = [], module.train

    def spy(state, batches, step, *rest):
        def noting(state, batch, progress):
            rates.append(state.optimizer.param_groups[0]["lr"])
            return step(state, batch, progress)

        original(state, batches, noting, *rest)

    monkeypatch.setattr(module, "train", spy)
    X = np.random.default_rng(0).random((40, 3))
    flat_autoencoder(X, 1, np.random.SeedSequence(0), epochs=epochs, batch_size=20, learning_rate=0.5)
    expected = [0.5 if e < drops[0] else 0.05 if e < drops[1] else 0.005 for e in range(epochs)]
    assert rates == pytest.approx(list(np.repeat(expected, 2)))


def test_divergence_is_an_error_about_the_data():
    with pytest.raises(ValueError, match="the autoencoder diverged: X may need scaling"):
        flat_autoencoder(np.full((40, 3), 1e30), 1, np.random.SeedSequence(0), epochs=2)
