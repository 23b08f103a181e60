"""What a user can put in the place of parts of the training: penalties, adversaries, networks, callbacks; covers
`losses.py`, `resumable.py` and `base.py`."""

import numpy as np
import pytest
import torch
from torch import nn

from disentree import COFHAE, VAE, FactorVAE
from disentree.datasets import load_dataset

SMALL = {"hidden": (8,), "device": "cpu", "batch_size": 128}


@pytest.fixture(scope="module")
def sticks():
    return load_dataset("chopsticks-depth2-slope", n_samples=600, seed=0)


def fit(sticks, **parameters):
    model = COFHAE(**{"epochs": 3, "maps": "network", **SMALL, **parameters})
    return model.fit(sticks.X, hierarchy=sticks.hierarchy, paths=sticks.paths)


def test_a_penalty_of_ones_own(sticks, tmp_path):
    seen = []

    def penalty(z, on):
        seen.append((z.detach(), on))
        return z.square().sum() / on.sum()

    model = fit(sticks, epochs=20, penalty=penalty, lambda2=100.0, warm_up=0.0, targets="none")
    z, on = seen[0]
    assert z.shape == on.shape == (128, 2)
    assert (z[~on] == 0).all()
    assert all(record["dependence"] > 0 for record in model.history_)
    free = fit(sticks, epochs=20, penalty=lambda z, on: 0 * z.sum(), targets="none")
    assert np.nanstd(model.transform(sticks.X)[:, 0]) < 0.5 * np.nanstd(free.transform(sticks.X)[:, 0])
    model.save(tmp_path)
    assert np.array_equal(COFHAE.load(tmp_path).transform(sticks.X), model.transform(sticks.X), equal_nan=True)


def test_an_adversary_of_ones_own(sticks):
    mine = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
    before = mine[0].weight.clone()
    model = fit(sticks, discriminator=mine, penalty="adversarial", targets="none", warm_up=0.0)
    assert any(record["dependence"] != 0 for record in model.history_)
    assert (mine[0].weight == before).all()  # it was copied
    asked = []
    make = lambda n_in: asked.append(n_in) or nn.Linear(n_in, 1)  # noqa: E731
    FactorVAE(epochs=1, n_continuous=3, discriminator=make, **SMALL).fit(sticks.X)
    assert asked == [3]
    with pytest.raises(
        ValueError, match=r"discriminator must give rows of shape \(1,\) for rows of shape \(2,\); it"
    ):
        fit(sticks, discriminator=nn.Linear(2, 2), penalty="adversarial", targets="none")


def test_networks_made_by_functions(sticks, tmp_path):
    asked = []

    def encoder(n_in, n_out):
        asked.append((n_in, n_out))
        return nn.Linear(n_in, n_out)

    model = fit(sticks, encoder=encoder, decoder=lambda n_in, n_out: nn.Linear(n_in, n_out), input="raw")
    assert asked == [(64, 4)]  # two variables and two options
    assert isinstance(model.autoencoder_.decoder, nn.Linear)
    model.save(tmp_path)
    again = COFHAE.load(tmp_path, encoder=encoder, decoder=lambda n_in, n_out: nn.Linear(n_in, n_out))
    assert np.array_equal(again.transform(sticks.X), model.transform(sticks.X), equal_nan=True)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        (
            {"decoder": nn.Linear(4, 1)},
            r"decoder must give rows of shape \(64,\) for rows of shape \(4,\); it gave \(1,\)",
        ),
        ({"decoder": nn.Linear(7, 64)}, r"decoder cannot take rows of shape \(4,\): mat1 and mat2"),
        ({"encoder": nn.Linear(7, 4)}, r"encoder cannot take rows of shape \(64,\): mat1 and mat2"),
    ],
)
def test_shapes_that_do_not_fit_are_said_in_a_sentence(sticks, settings, problem):
    with pytest.raises(ValueError, match=problem):
        fit(sticks, input="raw", **settings)


class Stop:
    """A callback with a method, which ends the training."""

    def __init__(self, epoch):
        self.epoch, self.seen = epoch, []

    def on_epoch_end(self, record, model):
        self.seen.append(record["epoch"])
        return record["epoch"] == self.epoch


@pytest.mark.parametrize("make", [lambda stop: stop, lambda stop: stop.on_epoch_end])
def test_callbacks_can_end_the_training(sticks, make):
    stop = Stop(2)
    model = fit(sticks, epochs=6, callbacks=[make(stop), lambda record, model: None])
    assert stop.seen == [1, 2]
    assert len(model.history_) == 2
    assert not model.interrupted_
    assert not model.diverged_


class Spoil:
    """From the third epoch on the weights are far from where they were."""

    def __call__(self, record, model):
        if record["epoch"] >= 3:
            with torch.no_grad():
                for weights in model.autoencoder_.parameters():
                    weights += 0.03


@pytest.mark.parametrize("kind", ["cofhae", "vae"])
def test_training_ends_when_held_out_rows_gain_nothing(sticks, kind, tmp_path):
    """The model of the best epoch is kept, also by a training that was continued."""

    def train(*more, patience=3, **settings):
        settings |= {"epochs": 20, "patience": patience, "callbacks": [Spoil(), *more], "learning_rate": 1e-4}
        return VAE(**SMALL, **settings).fit(sticks.X) if kind == "vae" else fit(sticks, **settings)

    class Break(Stop):
        def on_epoch_end(self, record, model):
            if super().on_epoch_end(record, model):
                raise ZeroDivisionError

    model = train()
    losses = [record["held_out"] for record in model.history_]
    best = int(np.argmin(losses)) + 1
    assert len(losses) == best + 3 < 20
    Z = model.transform(sticks.X)
    assert np.array_equal(train(Stop(best), patience=20).transform(sticks.X), Z, equal_nan=True)
    with pytest.raises(ZeroDivisionError):
        train(Break(best + 1), checkpoint=tmp_path)
    assert np.array_equal(train(checkpoint=tmp_path).transform(sticks.X), Z, equal_nan=True)
