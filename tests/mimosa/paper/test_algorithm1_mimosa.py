"""The paper's MIMOSA, on the whitened representation (seconds) and with its own autoencoder (small);
covers `paper/`."""

import time

import numpy as np
import pytest
import torch
from sklearn.base import clone

from disentree import MIMOSA
from disentree.datasets import load_dataset
from disentree.geometry.pca import principal_axes
from disentree.metrics import coverage_score, h_error, purity_score
from disentree.mimosa import PaperMIMOSA
from disentree.mimosa.paper.autoencoder import flat_autoencoder, reconstruction_loss


def whitened(name, n_samples):
    ds = load_dataset(name, n_samples=n_samples, seed=0)
    A = ds.X - ds.X.mean(axis=0)
    axes = principal_axes(A)
    s = axes.singular_values
    return ds, A @ axes.whitening(int((s > 1e-7 * s[0]).sum()))


@pytest.mark.parametrize("name", ["chopsticks-depth2-slope", "chopsticks-depth2-inter"])
def test_given_representation(name):
    n_samples = 4000
    ds, Z = whitened(name, n_samples)
    m = MIMOSA.paper(representation="given").fit(Z)
    assert h_error(ds.hierarchy, m.hierarchy_) == 0
    assert purity_score(ds.paths, m.labels_) >= 0.95
    assert coverage_score(m.labels_) >= 0.8
    np.testing.assert_array_equal(m.labels_, m.core_labels_)
    assert set(m.timings_) >= {"neighbors", "local SVD", "growing", "merging", "hierarchy"}
    order = np.random.default_rng(0).permutation(n_samples)
    shuffled = clone(m).fit(Z[order])
    assert purity_score(m.labels_[order], shuffled.labels_) == 1.0
    labels = m.predict(Z[:500])  # the paper has none: as the default does it
    known = m.labels_[:500] >= 0
    assert np.mean(labels[known] == m.labels_[:500][known]) >= 0.95


def test_the_representation_can_be_whitened_or_half(tmp_path):
    """The paper's rules depend on the scale of the latent: one stretched by 30 has other neighborhoods."""
    ds, Z = whitened("chopsticks-depth2-slope", 3000)
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(2, 2)))[0]
    stretched = (Z / Z.std(axis=0) * [30.0, 1.0] + 5.0) @ turn
    conditions = []
    for power in (0.0, 0.5, 1.0):
        m = MIMOSA.paper(representation="given", whiten=power).fit(stretched)
        s = np.linalg.svd(m.embedding_ - m.embedding_.mean(axis=0), compute_uv=False)
        conditions.append(s[0] / s[-1])
        np.testing.assert_allclose(m.representation_.transform(stretched[:5]), m.embedding_[:5])
    np.testing.assert_allclose(conditions, [30, 30**0.5, 1], rtol=0.02)
    np.testing.assert_allclose(np.cov(m.embedding_.T), np.eye(2), atol=1e-3)
    assert h_error(ds.hierarchy, m.hierarchy_) == 0
    m.save(tmp_path / "m")
    loaded = PaperMIMOSA.load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.representation_.transform(stretched), m.embedding_)


def test_with_its_own_autoencoder():
    ds = load_dataset("chopsticks-depth2-inter", n_samples=800, seed=0)
    before = torch.random.get_rng_state()
    threads = torch.get_num_threads()
    m = MIMOSA.paper(initial_dim=2, epochs=8, batch_size=32, random_state=3).fit(ds.X)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert torch.get_num_threads() == threads
    assert m.embedding_.shape == (800, 2)
    losses = [epoch["loss"] for epoch in m.representation_.history]
    assert losses[-1] < 0.05 * losses[0]
    np.testing.assert_allclose(m.representation_.transform(ds.X[:5]), m.embedding_[:5], rtol=1e-4, atol=1e-5)
    again = clone(m).fit(ds.X)
    np.testing.assert_array_equal(again.embedding_, m.embedding_)
    np.testing.assert_array_equal(again.labels_, m.labels_)


def test_images_go_through_the_convolutional_network():
    ds = load_dataset("spaceshapes", n_samples=64, seed=0)
    m = MIMOSA.paper(initial_dim=3, epochs=1, batch_size=32, min_size_merged=2, cos_simil_thresh=0.5)
    m.fit(ds.X)
    assert m.embedding_.shape == (64, 3)
    assert m.predict(ds.X[:3]).shape == (3,)
    color = np.repeat(ds.X[:32, :, :, None], 3, axis=3)
    assert clone(m).fit(color).embedding_.shape == (32, 3)


def test_losses_by_hand():
    x, out = torch.tensor([[0.0, 1.0], [1.0, 1.0]]), torch.tensor([[0.5, 1.0], [1.0, 0.0]])
    assert reconstruction_loss(out, x, images=False) == pytest.approx(100 * (0.25 + 1) / 2)
    zero = torch.zeros(1, 1, 2, 2)
    assert float(reconstruction_loss(zero, zero + 0.5, images=True)) == pytest.approx(4 * np.log(2))


def test_published_settings():
    settings = MIMOSA.paper().get_params()
    assert isinstance(MIMOSA.paper(), PaperMIMOSA)
    published = {
        "num_nearest_neighbors": 40,
        "ransac_frac": 2 / 3,
        "eig_cumsum_thresh": 0.95,
        "eig_decay_thresh": 4,
        "cos_simil_thresh": 0.99,
        "contagion_num": 5,
        "min_size_init": 0.0002,
        "min_size_merged": 0.02,
        "neighbor_lengthscale_mult": 10,
        "whiten": 0,
        "epochs": 50,
        "batch_size": 256,
        "learning_rate": 1e-3,
    }
    assert {name: settings[name] for name in published} == published
    assert settings["min_common_edge_frac"] is None
    assert PaperMIMOSA._n_rows(0.02, 100_000) == 2000
    assert PaperMIMOSA._n_rows(0.0002, 100_000) == 20
    assert PaperMIMOSA._n_rows(2000, 90_000) == 2000


def test_times_of_the_steps_add_up():
    Z = np.random.default_rng(0).uniform(-1, 1, (3000, 2))
    m = MIMOSA.paper(representation="given")
    m.fit(Z[:500])  # compiles
    start = time.perf_counter()
    m.fit(Z)
    assert 0 < sum(m.timings_.values()) <= time.perf_counter() - start


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ransac_frac": 1.5}, "ransac_frac must be between"),
        ({"contagion_num": 0}, "contagion_num must be a whole number, 1 or more, got 0"),
        ({"initial_dim": 50}, "num_nearest_neighbors must exceed initial_dim"),
        ({"representation": "pca"}, "representation must be 'autoencoder' or 'given', got 'pca'"),
        ({"eig_decay_thresh": 0.5}, "eig_decay_thresh must be 1 or more"),
        ({"eig_decay_thresh": "much"}, "eig_decay_thresh must be 1 or more, got 'much'"),
        ({"epochs": 2.5}, r"epochs must be a whole number, 1 or more, got 2\.5"),
        ({"min_common_edge_frac": -1}, "min_common_edge_frac must be 0 or more, got -1"),
        ({"whiten": 2}, "whiten must be between 0 and 1, got 2"),
        ({"n_jobs": 0}, "n_jobs must be None, -1 or a whole number, 1 or more, got 0"),
    ],
)
def test_wrong_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        MIMOSA.paper().set_params(**settings).fit(np.eye(5))  # annotations are checked in calls


def test_wrong_data():
    with pytest.raises(ValueError, match="take 64x64 images, got 8x8"):
        MIMOSA.paper().fit(np.zeros((10, 8, 8)))
    with pytest.raises(ValueError, match="values between 0 and 1 for the Bernoulli loss"):
        MIMOSA.paper().fit(np.full((10, 64, 64), 3.0))
    with pytest.raises(ValueError, match="fewer dimensions than num_nearest_neighbors=40, got 64"):
        MIMOSA.paper(representation="given").fit(np.random.default_rng(0).standard_normal((100, 64)))


def test_nothing_found_is_said():
    Z = np.random.default_rng(0).uniform(-1, 1, (300, 2)) ** 3
    with pytest.raises(ValueError, match=r"no component was found that has min_size_merged=0\.999"):
        MIMOSA.paper(representation="given", min_size_merged=0.999, contagion_num=30).fit(Z)


def test_the_common_edge_fraction_can_be_scaled():
    scaled, usual = MIMOSA.paper(min_common_edge_frac=2.0), MIMOSA.paper()
    assert scaled._least_common_edge(2) == 2 * usual._least_common_edge(2)


def test_activation_changes_the_representation():
    ds = load_dataset("chopsticks-depth2-slope", n_samples=400, seed=0)
    seed = np.random.SeedSequence(0)
    soft, sharp = (flat_autoencoder(ds.X, 2, seed, epochs=1, activation=a) for a in ("softplus", "relu"))
    assert not np.allclose(soft.transform(ds.X), sharp.transform(ds.X))
    with pytest.raises(ValueError, match="activation must be 'softplus' or 'relu', got 'tanh'"):
        MIMOSA.paper(activation="tanh").fit(ds.X)
