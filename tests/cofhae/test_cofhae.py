"""COFHAE as a whole: what it reaches, what it does not depend on, and how it behaves while training;
covers `estimator.py`, `stages.py`, `defaults.py`, `structure.py` and `resumable.py`."""

import json
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone

from disentree import COFHAE, Hierarchy
from disentree.datasets import load_dataset
from disentree.metrics import r4c_score

SMALL = {"epochs": 2, "batch_size": 128, "hidden": (16,), "device": "cpu", "random_state": 0}


@pytest.fixture(scope="module")
def sticks():
    return load_dataset("chopsticks-depth2-both", n_samples=1200, seed=0)


def fit_small(ds, **parameters):
    return COFHAE(**{**SMALL, **parameters}).fit(ds.X, hierarchy=ds.hierarchy, paths=ds.paths)


@pytest.fixture(scope="module")
def small(sticks):
    return fit_small(sticks)


def same(first, second):
    return np.array_equal(first, second, equal_nan=True)


# -------------------------------------------------------------------- what it reaches


def test_from_data_alone_to_factors():
    """MIMOSA, then COFHAE, in a few seconds; scores on rows that neither has seen."""
    ds = load_dataset("chopsticks-depth2-either", n_samples=3000, seed=0)
    model = COFHAE(steps=600, random_state=0).fit(ds.X[:2000])
    assert model.mimosa_ is not None
    assert model.hierarchy_.canonical() == ds.hierarchy.canonical()
    X, V = ds.X[2000:], ds.codes[2000:]
    Z = model.transform(X)
    model.hierarchy_.validate(Z)
    assert r4c_score(V, Z, ds.hierarchy, model.hierarchy_) > 0.95
    again = model.inverse_transform(Z)
    assert ((again - X) ** 2).sum(1).mean() < 5e-3


def test_the_papers_algorithm_learns_the_structure(sticks):
    settings: dict = {
        "epochs": 40,
        "batch_size": 64,
        "hidden": (32, 32),
        "discriminator": (32, 32),
        "lambda2": 1.0,
    }
    settings |= {"activation": "relu", "input": "whiten"}  # sooner than the published program's softplus on raw X
    model = COFHAE.paper(learning_rate=4e-3, **settings)
    model.fit(sticks.X, hierarchy=sticks.hierarchy, paths=sticks.paths)
    assert (model.predict_path(sticks.X) == sticks.paths).mean() > 0.9
    first, last = model.history_[0], model.history_[-1]
    assert last["reconstruction"] < 0.2 * first["reconstruction"]
    assert all(record["dependence"] != 0 for record in model.history_)


@pytest.mark.parametrize("penalty", ["none", "adversarial"])
def test_flat_hierarchies_train(penalty):
    """No categorical at all."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (600, 2)) @ rng.standard_normal((2, 5))
    model = COFHAE(steps=250, penalty=penalty, targets="none", hidden=(16,)).fit(X, hierarchy=Hierarchy.flat(2))
    Z = model.transform(X)
    assert Z.shape == (600, 2)
    assert np.square(model.inverse_transform(Z) - X).mean() < 0.2 * X.var(0).mean()
    assert (model.paths_ == 0).all()


def test_only_categoricals():
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=400)
    X = rng.standard_normal((3, 4))[labels] + 0.01 * rng.standard_normal((400, 4))
    model = COFHAE(steps=200, hidden=(16,), learning_rate=0.01).fit(
        X, hierarchy=Hierarchy.flat(0, (3,)), paths=labels
    )
    assert (model.transform(X)[:, 0] == labels).mean() > 0.99


def test_rows_without_a_path_are_placed_by_the_encoder(sticks):
    paths = np.where(np.arange(len(sticks.X)) % 3 == 0, -1, sticks.paths)
    model = COFHAE(steps=400, hidden=(32,)).fit(sticks.X, hierarchy=sticks.hierarchy, paths=paths)
    assert (model.predict_path(sticks.X)[paths == -1] == sticks.paths[paths == -1]).mean() > 0.95


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize("network", ["auto", "conv"])
def test_images_come_back_in_their_own_shape_and_units(dtype, network):
    rng = np.random.default_rng(0)
    shift = rng.integers(0, 8, 64)
    images = np.zeros((64, 12, 12, 3), dtype=dtype)
    for image, s in zip(images, shift, strict=True):
        image[4:8, s : s + 4] = 255 if dtype == np.uint8 else 1
    layer = "image" if network == "conv" else "pca"
    model = COFHAE(**{**SMALL, "epochs": 3}, encoder=network, decoder=network, input=layer)
    model.fit(images, hierarchy=Hierarchy.flat(2))
    again = model.inverse_transform(model.transform(images))
    assert again.shape == images.shape
    assert again.dtype == np.float32
    assert again.min() >= 0
    assert again.max() <= (255 if dtype == np.uint8 else 1)
    assert again.mean() == pytest.approx(images.mean(), rel=0.5)
    assert model.input_.likelihood == ("bernoulli" if network == "conv" or dtype == np.float32 else "gaussian")


# -------------------------------------------------------------------- what it does not depend on


def test_same_seed_same_model_and_the_global_generators_are_left_alone(sticks, small):
    torch_before, numpy_before = torch.random.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    again = fit_small(sticks)
    assert torch.equal(torch_before, torch.random.get_rng_state())
    assert np.array_equal(numpy_before, np.random.get_state()[1])  # noqa: NPY002
    assert same(again.transform(sticks.X), small.transform(sticks.X))
    other = fit_small(sticks, random_state=1)
    assert not same(other.transform(sticks.X), small.transform(sticks.X))


def test_codes_of_a_row_do_not_depend_on_the_others(sticks, small):
    order = np.random.default_rng(0).permutation(len(sticks.X))
    whole = small.transform(sticks.X)
    np.testing.assert_allclose(small.transform(sticks.X[order]), whole[order], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(small.transform(sticks.X[:3]), whole[:3], rtol=1e-4, atol=1e-5)


def test_units_of_the_columns_do_not_matter(sticks, small):
    scale, offset = np.logspace(-3, 3, sticks.X.shape[1]), np.linspace(-5, 5, sticks.X.shape[1])
    model = COFHAE(**SMALL).fit(sticks.X * scale + offset, hierarchy=sticks.hierarchy, paths=sticks.paths)
    # Rounding differs, and with it the sign of a principal direction: compare what is learned, not bits.
    assert model.input_.n_features == small.input_.n_features == 4
    for name in ("reconstruction", "assignment"):
        assert model.history_[-1][name] == pytest.approx(small.history_[-1][name], rel=0.5)
    again = (model.inverse_transform(model.transform(sticks.X * scale + offset)) - offset) / scale
    expected = small.inverse_transform(small.transform(sticks.X))
    assert ((again - sticks.X) ** 2).mean() == pytest.approx(((expected - sticks.X) ** 2).mean(), rel=0.5)


def test_frames_lists_and_memory_maps_are_as_good_as_arrays(sticks, small, tmp_path):
    expected = small.transform(sticks.X)
    np.save(tmp_path / "X.npy", sticks.X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    model = COFHAE(**SMALL).fit(mapped, hierarchy=sticks.hierarchy, paths=sticks.paths)
    assert same(model.transform(mapped), expected)
    frame = pd.DataFrame(sticks.X, columns=[f"t{i}" for i in range(64)])
    model = COFHAE(**SMALL).fit(frame, hierarchy=sticks.hierarchy, paths=sticks.paths)
    assert same(model.transform(frame), expected)
    assert list(model.feature_names_in_) == list(frame.columns)
    model.save(tmp_path / "framed")
    with pytest.raises(ValueError, match="feature names"):
        COFHAE.load(tmp_path / "framed").transform(frame.rename(columns={"t0": "other"}))
    assert same(small.transform(sticks.X[:5].tolist()), expected[:5])


class Blocks:
    """Reads a block at a time, as from files."""

    def __init__(self, X, size):
        self.X, self.size, self.reads = X, size, 0

    def __iter__(self):
        for start in range(0, len(self.X), self.size):
            self.reads += 1
            yield self.X[start : start + self.size]


def test_blocks_that_are_read_one_by_one(sticks, small, monkeypatch):
    blocks = Blocks(sticks.X, 500)
    model = COFHAE(**SMALL).fit(blocks, hierarchy=sticks.hierarchy, paths=sticks.paths)
    np.testing.assert_allclose(model.transform(blocks), small.transform(sticks.X), rtol=1e-2, atol=1e-3)
    # and when not even the prepared rows fit
    monkeypatch.setattr("disentree.training.batches._IN_MEMORY_BYTES", 0)
    reads = blocks.reads
    streamed = COFHAE(**{**SMALL, "epochs": 5}).fit(blocks, hierarchy=sticks.hierarchy, paths=sticks.paths)
    assert blocks.reads - reads >= 5 * 3
    assert streamed.history_[-1]["loss"] < 0.8 * streamed.history_[0]["loss"]
    array = COFHAE(**{**SMALL, "epochs": 5}).fit(sticks.X, hierarchy=sticks.hierarchy, paths=sticks.paths)
    assert array.history_[-1]["loss"] < 0.8 * array.history_[0]["loss"]


def test_blocks_get_their_structure_from_a_sample(monkeypatch):
    monkeypatch.setattr("disentree.cofhae.constants.MIMOSA_ROWS", 2000)
    ds = load_dataset("chopsticks-depth2-slope", n_samples=3000, seed=0)
    model = COFHAE(**SMALL).fit([ds.X[:1500], ds.X[1500:]])
    assert model.hierarchy_.canonical() == ds.hierarchy.canonical()
    assert model.paths_.shape == (3000,)


# -------------------------------------------------------------------- manners


def test_parameters_are_only_stored_and_survive_clone():
    hidden = [8]
    model = COFHAE(hidden=hidden, lambda2=3.0)
    assert model.hidden is hidden
    copy = clone(model)
    assert copy.get_params()["lambda2"] == 3.0
    assert COFHAE.paper(epochs=3).get_params()["penalty"] == "adversarial"
    assert COFHAE.paper(epochs=3).epochs == 3
    assert COFHAE.quick().max_steps < COFHAE().max_steps


def test_history_events_callbacks_and_progress(sticks, tmp_path, capsys):
    seen = []
    model = fit_small(
        sticks,
        epochs=3,
        verbose=True,
        events=tmp_path / "deep" / "events.jsonl",
        callbacks=[lambda record, model: seen.append((record["epoch"], model))],
    )
    columns = ["epoch", "loss", "reconstruction", "assignment", "dependence", "target", "seconds"]
    assert [list(record) for record in model.history_] == [columns] * 3
    assert [record["epoch"] for record in model.history_] == [1, 2, 3]
    assert seen == [(1, model), (2, model), (3, model)]
    lines = [json.loads(line) for line in (tmp_path / "deep" / "events.jsonl").read_text().splitlines()]
    assert lines == [{"event": "epoch", **record} for record in model.history_]
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "epoch 3 of 3" in captured.err
    fit_small(sticks)
    assert capsys.readouterr().err == ""


class StopAt:
    def __init__(self, epoch, what=KeyboardInterrupt):
        self.epoch, self.what = epoch, what

    def __call__(self, record, model):
        if record["epoch"] == self.epoch:
            raise self.what


def test_ctrl_c_keeps_the_last_good_model(sticks):
    with pytest.warns(RuntimeWarning, match="stopped in epoch 3 of 5; kept the model of epoch 2"):
        model = fit_small(sticks, epochs=5, callbacks=[StopAt(2)])
    assert model.interrupted_
    assert len(model.history_) == 2
    assert model.transform(sticks.X).shape == sticks.codes.shape


@pytest.mark.parametrize(
    ("penalty", "schedule"), [("none", "one-cycle"), ("adversarial", "one-cycle"), ("none", "constant")]
)
def test_an_interrupted_training_resumes_bit_for_bit(sticks, tmp_path, penalty, schedule):
    settings = {"epochs": 4, "penalty": penalty, "targets": "none", "schedule": schedule}
    whole = fit_small(sticks, **settings)
    settings["checkpoint"] = tmp_path / "run"
    with pytest.raises(ZeroDivisionError):  # a crash, not a polite end
        fit_small(sticks, **settings, callbacks=[StopAt(2, ZeroDivisionError)])
    resumed = fit_small(sticks, **settings)
    for name, weight in whole.autoencoder_.state_dict().items():
        assert torch.equal(weight, resumed.autoencoder_.state_dict()[name]), name
    without_time = [[{k: v for k, v in r.items() if k != "seconds"} for r in m.history_] for m in (whole, resumed)]
    assert without_time[0] == without_time[1]
    done = fit_small(sticks, **settings)  # a third time there is nothing left to do
    assert same(done.transform(sticks.X), whole.transform(sticks.X))
    with pytest.raises(ValueError, match="checkpoint of a run with other parameters; choose another folder"):
        fit_small(sticks, **{**settings, "epochs": 5})
    with pytest.raises(ValueError, match="other structure"):
        COFHAE(**{**SMALL, **settings}).fit(sticks.X, hierarchy=sticks.hierarchy, paths=1 - sticks.paths)
    with pytest.raises(ValueError, match="other data"):
        COFHAE(**{**SMALL, **settings}).fit(sticks.X + 1, hierarchy=sticks.hierarchy, paths=sticks.paths)


def test_resuming_does_not_look_for_the_structure_again(tmp_path, monkeypatch):
    ds = load_dataset("chopsticks-depth2-slope", n_samples=1500, seed=0)
    settings = {**SMALL, "epochs": 3, "checkpoint": tmp_path}
    with pytest.warns(RuntimeWarning, match="stopped"):
        first = COFHAE(**settings, callbacks=[StopAt(1)]).fit(ds.X)
    monkeypatch.setattr("disentree.cofhae.fitting.stages.ask_mimosa", None)
    second = COFHAE(**settings).fit(ds.X)
    assert second.hierarchy_ == first.hierarchy_
    assert np.array_equal(second.paths_, first.paths_)
    assert len(second.history_) == 3


def test_divergence_stops_with_a_sentence_and_the_last_good_model(sticks):
    def spoil(record, model):
        if record["epoch"] == 1:
            with torch.no_grad():
                next(model.autoencoder_.parameters()).fill_(torch.nan)

    with pytest.warns(RuntimeWarning, match="diverged: the reconstruction loss became nan in epoch 2.*epoch 1$"):
        model = fit_small(sticks, epochs=4, callbacks=[spoil])
    assert model.diverged_
    assert np.isfinite(model.inverse_transform(model.transform(sticks.X))).all()
    with pytest.raises(RuntimeError, match=r"diverged: .* in epoch 1; a lower learning_rate or lambda2 may help"):
        fit_small(sticks, learning_rate=1e30, schedule="constant")


def test_tensorboard_is_an_extra(sticks, tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "torch.utils.tensorboard", raising=False)
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(ValueError, match=r"pip install 'disentree\[tensorboard\]'"):
        COFHAE(tensorboard=tmp_path, mimosa=object()).fit(sticks.X)  # before MIMOSA is asked


def test_networks_of_ones_own(sticks, tmp_path):
    n_items, n_features = 4 + 2, 4
    encoder, decoder = torch.nn.Linear(n_features, n_items), torch.nn.Linear(n_items, n_features)
    before = encoder.weight.clone()
    model = fit_small(sticks, encoder=encoder, decoder=decoder)
    assert torch.equal(encoder.weight, before)  # a copy is trained, as scikit-learn wants it
    model.save(tmp_path)
    with pytest.raises(ValueError, match=r"its own encoder: give it again as load\(\.\.\., encoder=module\)"):
        COFHAE.load(tmp_path)
    loaded = COFHAE.load(tmp_path, encoder=encoder, decoder=decoder)
    assert same(loaded.transform(sticks.X), model.transform(sticks.X))


def test_training_leaves_denormals_and_warnings_alone(sticks):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit_small(sticks)
    assert np.float32(1e-40) / np.float32(2) > 0


def test_a_checkpoint_belongs_to_all_of_its_data(sticks, tmp_path):
    other = sticks.X.copy()
    other[-1] += 1  # in the last block only
    given = {"hierarchy": sticks.hierarchy, "paths": sticks.paths}
    COFHAE(**SMALL, checkpoint=tmp_path).fit([sticks.X[:500], sticks.X[500:]], **given)
    with pytest.raises(ValueError, match="other data"):
        COFHAE(**SMALL, checkpoint=tmp_path).fit([other[:500], other[500:]], **given)
    COFHAE(**SMALL, checkpoint=tmp_path).fit(sticks.X, **given)  # the same rows in one piece


def test_progress_is_shown_from_the_start(capsys):
    ds = load_dataset("chopsticks-depth2-slope", n_samples=800, seed=0)
    COFHAE(**SMALL, verbose=True).fit(ds.X)
    shown = capsys.readouterr().err
    assert 0 <= shown.index("representation") < shown.index("epoch 2 of 2")


def test_the_papers_preset_is_the_published_program():
    """Activation, input, batches, schedule, losses, adversary, temperature; X goes in and comes out as it is."""
    paper = COFHAE.paper()
    published = {
        "activation": "softplus", "input": "raw", "encoder": "plain-mlp", "decoder": "plain-mlp",
        "hidden": (256, 256), "epochs": 50, "batch_size": 256, "learning_rate": 1e-3, "schedule": "steps",
        "assignment": "squared", "penalty": "adversarial", "masks": "soft", "targets": "none", "warm_up": 0.0,
        "discriminator": (1000, 1000, 1000), "discriminator_betas": (0.9, 0.999), "tau": 2 / 3,
        "lambda1": 1000.0, "lambda2": 10.0, "lambda3": 0.0, "maps": "network",
    }  # fmt: skip
    assert {name: paper.get_params()[name] for name in published} == published
    assert 0.5 / paper.sigma**2 == pytest.approx(100)  # of the squared error
    X = np.random.default_rng(0).uniform(3, 4, (300, 4)).astype(np.float32)
    X[:, 2] = 5
    model = COFHAE.paper(epochs=1, discriminator=(8,)).fit(X, hierarchy=Hierarchy.flat(2))
    given = model.input_.to_input(model.input_.prepare(X))
    assert np.array_equal(given.numpy(), X)
    assert model.autoencoder_.decoder[-1].out_features == 4
    D = model._build(0, with_adversary=True)[1]
    first = D[0]
    assert (first.bias == 0).all()
    assert first.weight.abs().max() <= (6 / sum(first.weight.shape)) ** 0.5  # Glorot's bound


def test_raw_pixels_are_raw():
    """0/1 vectors and images: the decoder starts at nothing, not at the mean image."""
    X = np.tile(np.eye(4), (20, 1))
    flat = COFHAE(input="raw", epochs=1, likelihood="bernoulli").fit(X, hierarchy=Hierarchy.flat(1))
    assert (flat.input_.start == 0).all()
    assert np.array_equal(flat.input_.to_input(flat.input_.prepare(X)).numpy(), X)


def test_the_papers_networks_for_images_use_softplus_and_relu():
    images = np.zeros((8, 64, 64), dtype=np.uint8)
    images[:, :4] = np.arange(8)[:, None, None]
    model = COFHAE.paper(images=True, epochs=1, discriminator=(8,)).fit(images, hierarchy=Hierarchy.flat(1))
    parts = model.autoencoder_.encoder, model.autoencoder_.decoder
    used = [{type(layer).__name__ for layer in part.modules()} & {"ReLU", "Softplus", "SiLU"} for part in parts]
    assert used == [{"Softplus"}, {"ReLU"}]  # as in the published program
    assert (model.input_.start == 0).all()


def test_few_images_of_many_dimensions_are_decoded_from_principal_components():
    """Of which an autoencoder knows those that it has seen by heart, and no other."""
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(200, 20)) @ rng.normal(size=(20, 16 * 16)) / 20 + 0.5).reshape(-1, 16, 16)
    new, known = X[:20].astype(np.float32), X[20:].astype(np.float32)
    model = COFHAE(random_state=0).fit(known, hierarchy=Hierarchy.flat(20))
    assert model.maps_ == "linear"
    assert np.square(new - model.inverse_transform(model.transform(new))).mean() < 0.05 * new.var()
