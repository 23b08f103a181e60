"""Data that is linear but for noise."""

import numpy as np
import pytest

from disentree import MIMOSA
from disentree.datasets import load_dataset
from disentree.geometry.subspaces import AffineSubspace, reach
from disentree.metrics import h_error, purity_score
from disentree.mimosa.density.sheet import assign
from disentree.mimosa.finders.flats.noisy import NoisyFlat, _support, find_flats, flats_in_noise, is_curved


def rng_of(seed):
    return np.random.default_rng(seed)


def noisy_pieces(seed=0, n=6000, noise=0.02, columns=30):
    """A plane, a line in it, and a line across it, in 30 columns of white noise; and the piece of each row."""
    rng = rng_of(seed)
    piece = rng.integers(3, size=n)
    Z = np.zeros((n, 3))
    Z[piece == 0, 0] = rng.uniform(-1, 1, (piece == 0).sum())
    Z[piece == 1, 2] = rng.uniform(-1, 1, (piece == 1).sum())
    Z[piece == 2, :2] = rng.uniform(-1, 1, ((piece == 2).sum(), 2))
    axes = np.linalg.qr(rng.normal(size=(columns, 3)))[0]
    return Z @ axes.T + noise * rng.normal(size=(n, columns)), piece


# -------------------------------------------------------------------- known answers


def test_reach_of_noise():
    assert reach(1) == pytest.approx(1.96, abs=0.001)
    assert reach(2) == pytest.approx(np.sqrt(-2 * np.log(0.05)))


def test_distances_from_a_flat():
    flat = AffineSubspace(np.array([0.0, 0.0, 1.0]), np.eye(3)[:2], np.ones(2))
    assert flat.distances(np.array([[5.0, 7.0, 4.0], [0.0, 0.0, 1.0]])).tolist() == [3.0, 0.0]
    assert flat.project(np.array([[5.0, 7.0, 4.0]])).tolist() == [[5.0, 7.0, 1.0]]


def test_support_counts_both_sides_and_completes_a_face():
    r = reach(1)
    line = AffineSubspace(np.zeros(2), np.eye(2)[:1], np.ones(1))
    heights = np.array([0.0, 0.5 * r, -0.9 * r, 1.1 * r, 1.5 * r, 1.9 * r, -1.2 * r, 5 * r])
    assert _support(np.column_stack([np.arange(8.0), heights]), line) == (3, 6)  # three above, one below
    assert _support(np.column_stack([np.arange(3.0), heights[:3]]), line) == (3, 0)


def test_a_noisy_table_of_few_columns():
    rng = rng_of(5)
    piece = rng.integers(2, size=4000)
    Z = rng.uniform(-1, 1, (4000, 2))
    Z[piece == 0, 1] = 0
    X = Z @ rng.normal(size=(2, 10)) + 0.05 * rng.normal(size=(4000, 10))
    m = MIMOSA(random_state=0).fit((X - X.mean(axis=0)) / X.std(axis=0))
    assert [c.dimension for c in m.components_] == [1, 2]
    assert purity_score(piece, m.labels_) > 0.9


def test_lines_in_a_plane():
    X, piece = noisy_pieces()
    m = MIMOSA(random_state=0).fit(X)
    assert sorted(c.dimension for c in m.components_) == [1, 1, 2]
    assert purity_score(piece, m.labels_) > 0.96
    parent = {c.dimension: c.parent for c in m.components_}
    assert m.components_[parent[2]].dimension == 1  # the plane hangs below one of the lines
    assert purity_score(piece, m.predict(X)) > 0.96


def test_what_is_likely_where_flats_cross():
    """On a line of density 10 through a plane of density 1 (points per unit), in noise of deviation 1: the line is
    likelier where 10 / sqrt(2 pi) exp(-y^2 / 2) > 1, that is for |y| < 1.66."""
    line = np.column_stack([np.linspace(-50, 50, 1001), np.zeros(1001)])
    plane = np.stack(np.meshgrid(np.arange(-60.0, 61), np.arange(-60.0, 61)), axis=-1).reshape(-1, 2)
    sheets = [NoisyFlat(line, np.eye(2)[:1]), NoisyFlat(plane, np.eye(2))]
    at = np.array([[0.3, 0.0], [0.3, 1.3], [0.3, 2.1], [0.3, 9.0]])
    assert assign(sheets, at, 1.0)[0].tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("d", [2, 4])
def test_a_solid_has_no_flats_in_it(d):
    rng = rng_of(d)
    Y = rng.uniform(-20, 20, (6000, d)) + rng.normal(size=(6000, d))
    assert find_flats(Y, rng) == []


def test_a_circle_is_not_made_of_lines():
    rng = rng_of(0)
    angle = rng.uniform(0, 2 * np.pi, 3000)
    Y = 200 * np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(size=(3000, 2))
    assert is_curved(Y, AffineSubspace.fit(Y[(Y[:, 0] > 0) & (np.abs(Y[:, 1]) < 40)], 1))
    assert find_flats(Y, rng) == []
    assert flats_in_noise(Y, np.ones(2), 40, np.random.SeedSequence(0)) is None


def test_a_wave_is_left_to_neighborhoods():
    rng = rng_of(1)
    u = rng.uniform(-1, 1, (4000, 2))
    wave = np.column_stack([u, np.sin(3 * u[:, 0])]) @ rng.normal(size=(3, 40))
    m = MIMOSA(random_state=0).fit(wave + 0.02 * rng.normal(size=wave.shape))
    assert [c.dimension for c in m.components_] == [2]


def test_a_straight_line_is_not_curved():
    rng = rng_of(0)
    Y = np.column_stack([rng.uniform(-200, 200, 2000), np.zeros(2000)]) + rng.normal(size=(2000, 2))
    (flat,) = find_flats(Y, rng)
    assert not is_curved(Y, flat)


# -------------------------------------------------------------------- invariances


def test_order_rotation_and_scale_do_not_matter():
    X, _ = noisy_pieces(seed=1, n=1000)
    rng = rng_of(2)
    usual = MIMOSA(random_state=0).fit(X).labels_
    order = rng.permutation(len(X))
    turned = 100 * X[order] @ np.linalg.qr(rng.normal(size=(30, 30)))[0] + 7
    found = MIMOSA(random_state=0).fit(turned).labels_
    assert purity_score(usual[order], found) > 0.99
    assert purity_score(found, usual[order]) > 0.99


# -------------------------------------------------------------------- end to end


@pytest.mark.parametrize(
    ("name", "noise", "n", "least"),
    [("depth2-slope", 0.03, 4000, 0.88), ("depth2-either", 0.01, 2000, 0.93), ("depth2-both", 0.01, 4000, 0.98)],
)
def test_the_hierarchy_is_right_in_noise(name, noise, n, least):
    ds = load_dataset(f"chopsticks-{name}", n_samples=n, seed=21, noise=noise)
    m = MIMOSA(random_state=0).fit(ds.X)
    assert h_error(m.hierarchy_, ds.hierarchy) == 0
    assert purity_score(ds.paths, m.labels_) > least
    fresh = load_dataset(f"chopsticks-{name}", n_samples=1000, seed=22, noise=noise)
    assert purity_score(fresh.paths, m.predict(fresh.X)) > least - 0.03
    assert np.isfinite(m.description_length_)
