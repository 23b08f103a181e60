"""Components that are looked into again; covers `framed.py` too."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from disentree import MIMOSA
from disentree.datasets import load_dataset
from disentree.metrics import h_error
from disentree.mimosa.coordinates.columns import Columns
from disentree.mimosa.density.candidate import LeafCandidate
from disentree.mimosa.density.framed import Frame, InnerLeaf
from disentree.mimosa.density.gaussians import log_gaussians
from disentree.mimosa.density.structureless import fit_gaussian
from disentree.mimosa.density.tiles import fit_flat_leaf
from disentree.mimosa.finders.protocol import Rows
from disentree.mimosa.search.regions import is_thin, look_again


def curve_in_a_cluster(n, seed):
    """Three clusters in 4-D; two fifths of the rows of one are on a curve with 1 % of noise."""
    rng = np.random.default_rng(seed)
    k = rng.integers(0, 3, n)
    X = 40 * np.eye(4)[k] + rng.standard_normal((n, 4))
    on = (k == 2) & (rng.random(n) < 0.4)
    s = rng.uniform(-3, 3, n)
    curve = 40 * np.eye(4)[2] + np.stack([np.cos(s), np.sin(s), s / 3, 0 * s], axis=1)
    X[on] = curve[on] + 0.01 * rng.standard_normal((on.sum(), 4))
    return X, np.where(on, 3, k)


def rows(X):
    p = X.shape[1]
    return Rows(X, np.full(p, 1e-12), Columns(np.zeros(p), np.eye(p), np.full(p, 1e-12)), n_jobs=1)


def gaussians(X, labels):
    leaves = [fit_gaussian(X[labels == c], np.full(X.shape[1], 1e-12)) for c in range(labels.max() + 1)]
    return LeafCandidate("mixture", leaves, np.bincount(labels) / len(X))


def test_a_curve_in_one_of_three_clusters_is_found_and_saved(tmp_path):
    X, true = curve_in_a_cluster(3000, 1)
    m = MIMOSA(n_jobs=1).fit(X)
    assert sorted(c.dimension for c in m.components_) == [1, 4, 4, 4]
    assert adjusted_rand_score(true, m.labels_) > 0.97
    curve = next(i for i, c in enumerate(m.components_) if c.dimension == 1)
    assert [c.parent for c in m.components_].count(curve) == 1  # the cluster around it
    chosen, runner_up = m.candidates_[:2]
    assert chosen["finder"] == f"{runner_up['finder']} + mixture"
    assert chosen["bits"] < runner_up["bits"]
    plain = min(row["bits"] for row in m.candidates_ if row["finder"] in ("gaussian", "ppca", "margins"))
    assert m.saved_bits_ == pytest.approx(plain - m.description_length_, abs=1e-6)
    m.save(tmp_path)
    np.testing.assert_array_equal(MIMOSA.load(tmp_path).predict(X), m.labels_)


def test_the_curve_is_found_within_clusters_that_a_mixture_found():
    X, true = curve_in_a_cluster(3000, 2)
    candidate = gaussians(X[:2100], np.minimum(true[:2100], 2))
    looked = look_again(candidate, rows(X[:2100]), X[2100:], np.random.default_rng(0))
    assert looked is not None
    assert sorted(looked.candidate.dimensions) == [1, 4, 4, 4]
    assert looked.candidate.finder == "mixture + atlas"
    assert looked.saved_bits > 5 * looked.doubt > 0
    assert looked.candidate.shares.sum() == pytest.approx(1)


@pytest.mark.parametrize("kind", ["gaussian", "cube", "skewed", "curved"])
def test_clouds_without_structure_stay_as_they_are(kind):
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 1500)
    X = rng.uniform(-1, 1, (3000, 4)) if kind == "cube" else rng.standard_normal((3000, 4))
    if kind == "skewed":
        X = np.exp(0.7 * X)
    if kind == "curved":
        X[:, 0] += X[:, 1] ** 2
    X[:, 0] += 40 * labels
    order = rng.permutation(3000)
    X, labels = X[order], labels[order]
    candidate = gaussians(X[:2100], labels[:2100])
    assert look_again(candidate, rows(X[:2100]), X[2100:], rng) is None


@pytest.mark.parametrize(("at", "dimensions"), [(0, None), (30, [1, 2, 2])])
def test_a_plane_with_a_gap_is_one_if_a_line_lies_in_the_gap_and_two_if_not(at, dimensions):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 3000)  # 0 the line, 1 the plane
    X = rng.normal(size=(3000, 2))
    X[:, 0] *= 3
    X[:, 1] = np.where(labels == 1, X[:, 1] / 2 + rng.choice([-4, 4], 3000), at)
    floor = np.full(2, 1e-12)
    leaves = [fit_flat_leaf(X[labels == 0], 1, floor, rng), fit_gaussian(X[labels == 1], floor)]
    candidate = LeafCandidate("subspaces", leaves, np.full(2, 0.5))
    looked = look_again(candidate, rows(X[:2000]), X[2000:], rng)
    assert (None if looked is None else sorted(looked.candidate.dimensions)) == dimensions


def test_a_line_with_a_gap_is_one():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 3000)
    X = rng.uniform(-1, 1, (3000, 3))
    X[labels == 0, 1:] = 0
    X[labels == 0, 0] += 5 * rng.choice([-1, 1], (labels == 0).sum())
    leaves = [fit_flat_leaf(X[labels == c], d, np.full(3, 1e-12), rng) for c, d in ((0, 1), (1, 3))]
    candidate = LeafCandidate("subspaces", leaves, np.full(2, 0.5))
    assert look_again(candidate, rows(X[:2000]), X[2000:], rng) is None


@pytest.mark.parametrize(("name", "n", "seed", "gap"), [("either", 20_000, 1, 0.25), ("both", 30_000, 19, 0.1)])
def test_gaps_change_no_tree(name, n, seed, gap):
    # either: a line and the plane around it are not found a second time, less well; both: the parts of a plane
    # with a gap are no lines
    data = load_dataset(f"chopsticks-depth2-{name}", n_samples=n, seed=seed, min_offset=gap)
    assert h_error(data.hierarchy, MIMOSA(n_jobs=1).fit(data.X).hierarchy_) == 0


def test_an_inner_leaf_is_a_density_of_all_coordinates():
    rng = np.random.default_rng(0)
    covariance = np.array([[4.0, 1.0, 0.0], [1.0, 2.0, 0.1], [0.0, 0.1, 0.01]])
    Z = rng.multivariate_normal([1, 2, 3], covariance, 5000)
    frame = Frame.fit(Z, 2, np.zeros(3))
    leaf = InnerLeaf(frame, fit_gaussian(frame(Z), np.zeros(2)))
    expected = log_gaussians(Z[:50], Z.mean(axis=0)[None], np.cov(Z.T)[None])[:, 0]
    np.testing.assert_allclose(leaf.log_density(Z[:50]), expected, atol=0.02)
    assert leaf.dimension == 2


def test_thin_structure_is_told_from_a_cloud():
    rng = np.random.default_rng(0)
    cloud = rng.standard_normal((2000, 4))
    assert not is_thin(cloud, rng)
    cloud[:600, 2:] = 0.01 * rng.standard_normal((600, 2))
    assert is_thin(cloud, rng)
