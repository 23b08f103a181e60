"""The flat baselines: their losses, the mistakes that other implementations make, what they reach on toys;
covers `flat.py` and the files of single baselines."""

import inspect
import itertools
import math

import numpy as np
import pytest
import torch
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone

from contract import checks_of
from disentree import AE, COFHAE, VAE, BetaTCVAE, CascadeVAE, FactorVAE, Hierarchy, JointVAE
from disentree.baselines import DIPVAE, HFS, FlatEstimator
from disentree.baselines.balanced import assign
from disentree.baselines.cascadevae import let_through
from disentree.baselines.dipvae import covariance_of
from disentree.baselines.flat import Posterior
from disentree.baselines.hfs import support_distance
from disentree.baselines.jointvae import capacity, entropy, relaxed_sample
from disentree.baselines.tcvae import decompose, stratified_weights
from disentree.datasets import load_dataset

BASELINES = [AE, VAE, BetaTCVAE, FactorVAE, JointVAE, CascadeVAE, DIPVAE, HFS]
SMALL = {"epochs": 2, "batch_size": 128, "hidden": (8,), "device": "cpu"}


@pytest.fixture(scope="module")
def sticks():
    return load_dataset("chopsticks-depth2-either", n_samples=600, seed=0)


def small(cls, **parameters):
    if cls is FactorVAE:
        parameters = {"discriminator": (8, 8), **parameters}
    return cls(**{**SMALL, **parameters})


def posterior(batch, d, seed=0):
    g = torch.Generator().manual_seed(seed)
    mean, log_variance = torch.randn(batch, d, generator=g), torch.randn(batch, d, generator=g) - 1
    code = Posterior(mean, log_variance, torch.zeros(batch, 0))
    return code, code.sample(g)


# -------------------------------------------------------------------- beta-TCVAE


@pytest.mark.parametrize(("batch", "n"), [(1, 5), (2, 2), (2, 10), (8, 100), (256, 90_000), (7, 7)])
def test_rows_of_the_stratified_weights_sum_to_1(batch, n):
    weights = stratified_weights(batch, n)
    torch.testing.assert_close(weights.sum(1), torch.ones(batch))
    if batch > 1:
        torch.testing.assert_close(weights.diagonal(), torch.full((batch,), 1 / n))
        assert (weights > 0).all() or n == batch - 1


@pytest.mark.parametrize("estimator", ["weighted", "stratified"])
def test_the_three_parts_are_the_kl(estimator):
    code, z = posterior(32, 3)
    parts = decompose(z, code, 1000, estimator)
    q = torch.distributions.Normal(code.mean, (0.5 * code.log_variance).exp()).log_prob(z).sum(1)
    p = torch.distributions.Normal(0.0, 1.0).log_prob(z).sum(1)
    torch.testing.assert_close(sum(parts), (q - p).mean())


def test_one_variable_has_no_total_correlation():
    code, z = posterior(32, 1)
    assert abs(float(decompose(z, code, 1000, "weighted").total_correlation)) < 1e-5
    assert abs(float(decompose(z, code, 1000, "stratified").total_correlation)) < 1e-5


def test_stratified_densities_by_hand():
    """The weight of a row counts once in the joint density, not once for every variable."""
    code, z = posterior(4, 2)
    W = stratified_weights(4, 50)
    sd = (0.5 * code.log_variance).exp()
    pairs = torch.distributions.Normal(code.mean[None], sd[None]).log_prob(z[:, None]).exp()  # i, j, d
    joint = (W * pairs.prod(2)).sum(1)
    marginals = (W[:, :, None] * pairs).sum(1)
    expected = (joint.log() - marginals.log().sum(1)).mean()
    torch.testing.assert_close(decompose(z, code, 50, "stratified").total_correlation, expected)


def test_kl_of_the_posterior():
    code, _ = posterior(16, 3)
    normal = torch.distributions.Normal
    expected = torch.distributions.kl_divergence(
        normal(code.mean, (0.5 * code.log_variance).exp()), normal(0.0, 1.0)
    )
    torch.testing.assert_close(code.kl(), expected)


# -------------------------------------------------------------------- FactorVAE


def test_the_discriminator_leaves_no_gradient_in_the_encoder(sticks, monkeypatch):
    """Nor does the autoencoder's step leave one in the discriminator."""
    seen = []
    original = FactorVAE._train_adversary

    def spy(self, batch):
        net, D = batch.state.model, batch.state.adversary
        assert all(p.grad is None for p in D.parameters()) or seen  # before D's own first step
        before = [p.grad.clone() for p in net.parameters()]
        D_grads = [None if p.grad is None else p.grad.clone() for p in D.parameters()]
        weights = [p.detach().clone() for p in net.parameters()]
        original(self, batch)
        assert all(torch.equal(g, p.grad) for g, p in zip(before, net.parameters(), strict=True))
        assert all(torch.equal(w, p) for w, p in zip(weights, net.parameters(), strict=True))
        assert any(p.grad is not None and p.grad.abs().sum() > 0 for p in D.parameters())
        if seen and D_grads[0] is not None:
            assert all(torch.equal(a, b) for a, b in zip(seen[-1], D_grads, strict=True))
        seen.append([p.grad.clone() for p in D.parameters()])

    monkeypatch.setattr(FactorVAE, "_train_adversary", spy)
    small(FactorVAE, n_continuous=2).fit(sticks.X)
    assert len(seen) == 2 * math.ceil(600 / 128)


# -------------------------------------------------------------------- JointVAE


def test_capacities_grow_and_stop():
    assert capacity(10.0, 0.0, 0.5) == 0
    assert capacity(10.0, 0.25, 0.5) == 5
    assert capacity(10.0, 0.75, 0.5) == 10
    assert capacity(10.0, 0.0, 0.0) == 10
    mask = small(JointVAE, categories=(2, 3)).fit(np.random.default_rng(0).random((50, 3))).autoencoder_.mask
    assert entropy(mask) == pytest.approx(math.log(2) + math.log(3))


def test_relaxed_samples_follow_their_probabilities():
    mask = small(JointVAE, categories=(2, 3)).fit(np.random.default_rng(0).random((50, 3))).autoencoder_.mask
    p = torch.tensor([0.2, 0.8, 0.5, 0.1, 0.4])
    samples = relaxed_sample(mask, p.log().expand(20_000, 5), 0.05, torch.Generator().manual_seed(0))
    torch.testing.assert_close(samples[:, :2].sum(1), torch.ones(20_000))
    torch.testing.assert_close(samples[:, 2:].sum(1), torch.ones(20_000))
    torch.testing.assert_close(samples.mean(0), p, atol=0.02, rtol=0)


# -------------------------------------------------------------------- CascadeVAE


def total(costs, chosen, crowding):
    sizes = np.bincount(chosen, minlength=costs.shape[1])
    return costs[np.arange(len(costs)), chosen].sum() + crowding * (sizes * (sizes - 1) / 2).sum()


@pytest.mark.parametrize("seed", range(8))
def test_the_assignment_is_as_cheap_as_the_best_of_all(seed):
    rng = np.random.default_rng(seed)
    for n, k, crowding in [(1, 1, 1.0), (4, 2, 0.1), (5, 3, 0.3), (6, 3, 0.5), (6, 2, 5.0)]:
        costs = rng.random((n, k)) if seed % 2 else rng.integers(0, 4, (n, k)).astype(float)
        best = min(total(costs, np.array(d), crowding) for d in itertools.product(range(k), repeat=n))
        assert total(costs, assign(costs, crowding), crowding) == pytest.approx(best, abs=1e-9)


def test_a_large_assignment_agrees_with_the_hungarian_method():
    rng = np.random.default_rng(0)
    costs, crowding = rng.random((40, 5)) * 10, 0.2
    places = np.concatenate([costs + crowding * m for m in range(40)], axis=1)  # the m-th place in each category
    rows, columns = linear_sum_assignment(places)
    assert total(costs, assign(costs, crowding), crowding) == pytest.approx(places[rows, columns].sum())


def test_no_crowding_is_the_argmin_and_much_of_it_balances():
    costs = np.random.default_rng(0).random((60, 4))
    assert np.array_equal(assign(costs, 0.0), costs.argmin(1))
    assert np.bincount(assign(costs, 1e6)).tolist() == [15] * 4
    assert np.array_equal(assign(np.full((3, 2), np.nan), 1.0), [0, 0, 0])


def test_variables_are_let_through_one_by_one():
    """Jeong and Song's stages for six variables: 1, 2, 3, 4 | 4, 5, 6."""
    at = [let_through(6, (i + 0.5) / 15, 1 / 15, 4 / 15) for i in range(15)]
    assert at == [1, 2, 3, 4, 4, 5, 6, 6, 6, 6, 6, 6, 6, 6, 6]
    many = [let_through(14, i / 1000, 1 / 15, 4 / 15) for i in range(1000)]
    assert many == sorted(many)
    assert many[810] == 14
    assert let_through(3, 0.0, 0.0, 0.3) == 3


# -------------------------------------------------------------------- toys


def binned_total_correlation(Z, bins=16):
    """Of two variables, in nats, by counting; with the usual correction for the number of cells."""
    counts = np.histogram2d(*Z.T, bins=bins)[0] / len(Z)
    product = counts.sum(1, keepdims=True) * counts.sum(0, keepdims=True)
    on = counts > 0
    return float((counts[on] * np.log(counts[on] / product[on])).sum()) - (bins - 1) ** 2 / (2 * len(Z))


def test_penalties_cut_the_total_correlation():
    """Two uniform factors in a rotated linear mixing whose principal axes are 30 degrees off the factors."""
    rng = np.random.default_rng(0)
    turn = np.deg2rad(30)
    R = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    X = (rng.uniform(-1, 1, (1500, 2)) @ R * [1, 0.8]) @ np.linalg.qr(rng.standard_normal((4, 4)))[0][:2]
    left = {}
    for cls, own in ((VAE, {}), (BetaTCVAE, {"beta": 10.0}), (FactorVAE, {"discriminator": (32, 32)})):
        settings = {**SMALL, "epochs": None, "steps": 500, "hidden": (16,), "learning_rate": 8e-3}
        model = cls(**settings, **own, n_continuous=2, random_state=1).fit(X)
        Z = model.transform(X)
        assert np.square(model.inverse_transform(Z) - X).mean() < 0.05 * X.var(0).mean()
        left[cls] = binned_total_correlation(Z)
    assert left[VAE] > 0.08
    assert left[BetaTCVAE] < 0.3 * left[VAE]
    assert left[FactorVAE] < 0.3 * left[VAE]


@pytest.mark.parametrize(
    ("cls", "own"),
    [
        (JointVAE, {"gamma": 5.0, "continuous_capacity": 1.0, "ramp": 0.6}),
        (CascadeVAE, {"warm_up": 0.0}),
    ],
)
def test_three_classes_are_recovered(cls, own):
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=900)
    X = 2 * np.eye(4)[labels] + 0.02 * rng.standard_normal((900, 4))
    X[:, 3] += rng.uniform(-0.3, 0.3, 900)
    settings = {**SMALL, "epochs": None, "steps": 300, "hidden": (16,), "learning_rate": 5e-3, "sigma": 0.2}
    model = cls(**settings, **own, n_continuous=1, categories=3, random_state=1).fit(X)
    found = model.transform(X)[:, 1].astype(int)
    table = np.zeros((3, 3))
    np.add.at(table, (labels, found), 1)
    assert table[linear_sum_assignment(-table)].sum() / 900 >= 0.95


# -------------------------------------------------------------------- DIP-VAE, HFS, one's own


def test_covariances_of_a_batch():
    z = torch.tensor([[0.0, 1.0], [2.0, 3.0], [4.0, -1.0]])
    expected = torch.tensor([[8 / 3, -4 / 3], [-4 / 3, 8 / 3]])
    torch.testing.assert_close(covariance_of(z), expected)


def test_the_distance_of_a_support_from_a_product():
    g = torch.Generator().manual_seed(0)
    grid = torch.tensor([[a, b] for a in (0.0, 1.0, 2.0) for b in (0.0, 1.0, 2.0)])
    assert support_distance(grid, g) == 0
    assert support_distance(grid * torch.tensor([1.0, 5.0]), g) == 0  # in standard deviations
    line = torch.tensor([[0.0, 0.0], [1.0, 1.0]])  # standard deviations of 1/sqrt(2): the corners are sqrt(2) away
    assert support_distance(line, g) == pytest.approx(2.0, rel=1e-5)
    assert support_distance(line[:, :1], g) == 0


def test_a_baseline_is_its_loss(sticks, tmp_path):
    class Small(FlatEstimator):
        def __init__(self, *, weight=3.0, **common):
            super().__init__(**common)
            self.weight = weight

        def terms(self, batch):
            reconstruction, size = batch.reconstruction(batch.code.mean), batch.code.mean.square().mean()
            return {"loss": reconstruction + self.weight * size, "reconstruction": reconstruction, "size": size}

    model = small(Small, n_continuous=2, weight=5.0).fit(sticks.X)
    assert set(model.history_[0]) == {"epoch", "loss", "reconstruction", "size", "seconds"}
    assert Small().get_params()["weight"] == 3
    model.save(tmp_path)
    assert np.array_equal(Small.load(tmp_path).transform(sticks.X), model.transform(sticks.X))

    class Without(FlatEstimator):
        pass

    with pytest.raises(NotImplementedError, match="Without must define terms"):
        small(Without, n_continuous=1).fit(sticks.X)


# -------------------------------------------------------------------- structure


def test_structure_is_used_as_in_the_paper(sticks):
    """Of the tree with categoricals of 2, 3 and 3 options, 6 paths and 6 continuous variables."""
    kinds = {}
    for cls in BASELINES:
        model = small(cls, epochs=1).fit(sticks.X, hierarchy=sticks.hierarchy, paths=sticks.paths)
        variables = model.hierarchy_.variables
        kinds[cls] = [v.n_options for v in variables if v.kind == "categorical"]
        assert sum(v.kind == "continuous" for v in variables) == 6
        assert model.transform(sticks.X[:5]).shape == (5, len(variables))
        assert not np.isnan(model.transform(sticks.X[:5])).any()
    assert kinds == {cls: {JointVAE: [2, 3, 3], CascadeVAE: [6]}.get(cls, []) for cls in BASELINES}


def test_parameters_override_the_structure_and_defaults_replace_it(sticks):
    X, tree = sticks.X[:200], sticks.hierarchy.to_dict()
    assert small(VAE, epochs=1).fit(X).hierarchy_ == Hierarchy.flat(10)
    assert small(VAE, epochs=1, n_continuous=3).fit(X, hierarchy=tree).hierarchy_ == Hierarchy.flat(3)
    joint = small(JointVAE, epochs=1, n_continuous=2, categories=(4, 2)).fit(X, hierarchy=tree)
    assert joint.hierarchy_ == Hierarchy.flat(2, (4, 2))
    cascade = small(CascadeVAE, epochs=1, categories=[3]).fit(X, hierarchy=tree)
    assert cascade.hierarchy_ == Hierarchy.flat(6, (3,))
    assert small(CascadeVAE, epochs=1).fit(X, hierarchy=Hierarchy.flat(2)).hierarchy_ == Hierarchy.flat(2)


@pytest.mark.parametrize(
    ("cls", "parameters", "sentence"),
    [
        (JointVAE, {}, r"JointVAE needs categories=\(options, \.\.\.\), or fit\(X, hierarchy"),
        (CascadeVAE, {}, "CascadeVAE needs categories=options"),
        (CascadeVAE, {"categories": (2, 3)}, "CascadeVAE has one categorical"),
        (JointVAE, {"categories": (2, 0)}, r"categories must be whole numbers above 0; got \(2, 0\)"),
        (VAE, {"n_continuous": 0}, "VAE needs at least one continuous variable"),
        (VAE, {"n_continuous": 1.5}, "n_continuous must be None or a whole number"),
        (VAE, {"beta": -1.0}, "beta must be a number of at least 0"),
        (VAE, {"batch_size": 0}, "batch_size must be None or a whole number"),
        (BetaTCVAE, {"estimator": "exact"}, "estimator must be one of weighted, stratified; got 'exact'"),
        (FactorVAE, {"discriminator_betas": (1,)}, "discriminator_betas must be two numbers"),
        (JointVAE, {"categories": 2, "ramp": 2.0}, "ramp must be a fraction from 0 to 1"),
        (CascadeVAE, {"categories": 2, "crowding": -1.0}, "crowding must be a number of at least 0"),
    ],
)
def test_mistakes_get_a_sentence(cls, parameters, sentence, sticks):
    model = cls(**SMALL).set_params(**parameters)
    with pytest.raises(ValueError, match=sentence):
        model.fit(sticks.X)


# -------------------------------------------------------------------- manners


class StopAt:
    def __init__(self, epoch, what):
        self.epoch, self.what = epoch, what

    def __call__(self, record, model):
        if record["epoch"] == self.epoch:
            raise self.what


@pytest.mark.parametrize("cls", BASELINES)
def test_saving_resuming_and_round_trips(cls, sticks, tmp_path):
    settings = {"epochs": 3, **({"categories": 2} if cls in (JointVAE, CascadeVAE) else {}), "n_continuous": 2}
    whole = small(cls, **settings).fit(sticks.X)
    Z = whole.transform(sticks.X)
    whole.hierarchy_.validate(Z)
    again = whole.inverse_transform(Z)
    assert again.shape == sticks.X.shape
    assert [record["epoch"] for record in whole.history_] == [1, 2, 3]
    assert list(whole.history_[0])[:3] == ["epoch", "loss", "reconstruction"]

    whole.save(tmp_path / "model")
    loaded = cls.load(tmp_path / "model", device="cpu")
    assert np.array_equal(loaded.transform(sticks.X), Z)
    assert np.array_equal(loaded.inverse_transform(Z), again)
    assert loaded.history_ == whole.history_
    other = COFHAE if cls is not COFHAE else VAE
    with pytest.raises(ValueError, match=f"holds a model of class {cls.__name__}, not {other.__name__}"):
        other.load(tmp_path / "model")

    with pytest.raises(ZeroDivisionError):  # a crash after the first epoch
        small(cls, **settings, checkpoint=tmp_path / "run", callbacks=[StopAt(1, ZeroDivisionError)]).fit(sticks.X)
    resumed = small(cls, **settings, checkpoint=tmp_path / "run").fit(sticks.X)
    for name, weight in whole.autoencoder_.state_dict().items():
        assert torch.equal(weight, resumed.autoencoder_.state_dict()[name]), name
    with pytest.raises(ValueError, match="checkpoint of a run with other parameters"):
        small(cls, **{**settings, "n_continuous": 3}, checkpoint=tmp_path / "run").fit(sticks.X)


def test_ctrl_c_and_divergence_keep_the_last_good_model(sticks):
    with pytest.warns(RuntimeWarning, match="stopped in epoch 2 of 3; kept the model of epoch 1"):
        model = small(VAE, epochs=3, callbacks=[StopAt(1, KeyboardInterrupt)]).fit(sticks.X)
    assert model.interrupted_
    with pytest.raises(RuntimeError, match=r"diverged: .* a lower learning_rate may help"):
        small(VAE, learning_rate=1e30, schedule="constant").fit(sticks.X)


@pytest.mark.parametrize("cls", BASELINES)
def test_parameters_of_base_and_model_are_one_list(cls):
    names = set(cls().get_params())
    assert {"n_continuous", "epochs", "sigma", "callbacks"} <= names
    assert names == set(inspect.signature(cls).parameters)
    copy = clone(cls(epochs=7, n_continuous=3))
    assert (copy.epochs, copy.n_continuous) == (7, 3)
    assert cls.quick().steps < cls().steps
    paper = cls.paper(images=True)
    assert (paper.epochs, paper.encoder, paper.schedule) == (50, "burgess", "steps")
    assert cls.paper().encoder == "plain-mlp"


@pytest.mark.parametrize("network", ["conv", "sharp"])
@pytest.mark.parametrize("cls", [VAE, CascadeVAE])
def test_images(cls, network, tmp_path):
    rng = np.random.default_rng(0)
    images = np.zeros((64, 16, 16), dtype=np.float32)
    for image, s in zip(images, rng.integers(0, 12, 64), strict=True):
        image[4:8, s : s + 4] = 1
    own = {"categories": 2} if cls is CascadeVAE else {}
    model = small(cls, **own, n_continuous=2, epochs=3, encoder=network, decoder=network).fit(images)
    assert model.input_.likelihood == "bernoulli"
    codes = model.transform(images)
    again = model.inverse_transform(codes)
    assert again.shape == images.shape
    assert 0 <= again.min() <= again.max() <= 1
    model.save(tmp_path)
    np.testing.assert_array_equal(cls.load(tmp_path, device="cpu").transform(images), codes)


@checks_of(JointVAE(categories=2, n_continuous=2, epochs=1, hidden=(4,), device="cpu"))
def test_scikit_learn_agrees(estimator, check):
    check(estimator)


@pytest.mark.parametrize("beta", [1.0, 5.0])
def test_the_total_correlation_counts_beta_minus_1_times(beta, sticks):
    model = small(BetaTCVAE, beta=beta, n_continuous=3).fit(sticks.X)
    for record in model.history_:
        expected = record["reconstruction"] + record["kl"] + (beta - 1) * record["total_correlation"]
        assert record["loss"] == pytest.approx(expected, rel=1e-4)
        assert abs(record["total_correlation"]) > 0.01 * record["loss"]
    plain = small(VAE, n_continuous=3).fit(sticks.X)
    assert np.array_equal(model.transform(sticks.X), plain.transform(sticks.X)) == (beta == 1)
