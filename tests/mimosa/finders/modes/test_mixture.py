"""The mixture finder: `mixture.py`, `mixture_leaf.py`, `gaussians.py`, `growth.py`, `valleys.py`, `margins.py`,
`structureless.py`, and the coordinates of tables (`choosing.py`)."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.metrics import adjusted_rand_score

from disentree import MIMOSA
from disentree.datasets import load_dataset
from disentree.mimosa.coordinates.choosing import table_coordinates
from disentree.mimosa.density.em_kernels import unbiased
from disentree.mimosa.density.gaussians import (
    dimension_of,
    expectation_maximization,
    log_gaussians,
    not_below,
)
from disentree.mimosa.density.margins import Margins, monotone_map
from disentree.mimosa.density.structureless import fit_gaussian, fit_ppca
from disentree.mimosa.finders.modes import mixture
from disentree.mimosa.finders.modes.constants import MODES
from disentree.mimosa.finders.modes.growth import grow, two_means
from disentree.mimosa.finders.modes.valleys import deepest, depth, is_valley, merge_pieces
from disentree.mimosa.tree.parts import splits

# ------------------------------------------------------------------ Gaussians


def test_log_gaussians_are_those_of_scipy():
    rng = np.random.default_rng(0)
    Y, means = rng.normal(size=(7, 3)), rng.normal(size=(2, 3))
    covariances = np.array([np.eye(3), np.diag([1.0, 4.0, 9.0]) + 0.3])
    expected = [multivariate_normal(m, c).logpdf(Y) for m, c in zip(means, covariances, strict=True)]
    np.testing.assert_allclose(log_gaussians(Y, means, covariances), np.stack(expected, axis=1))


def test_no_deviation_is_below_the_precision():
    covariance = np.diag([4.0, 1e-8])
    np.testing.assert_allclose(not_below(covariance, np.array([0.1, 0.1])), np.diag([4.0, 0.01]))
    np.testing.assert_array_equal(not_below(covariance, np.array([1e-5, 1e-5])), covariance)


@pytest.mark.parametrize("seed", range(5))
def test_a_covariance_of_amounts_in_large_units_stays_positive(seed):
    """Loans: a few directions of 1e17 times the precision, beside others below it."""
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(rng.normal(size=(17, 17)))[0]
    covariance = (axes * np.array([0.01] * 14 + [1e16, 3e16, 1e17])) @ axes.T
    np.linalg.cholesky(not_below((covariance + covariance.T) / 2, np.ones(17)))


def test_eigenvalues_that_chance_explains_are_one():
    edge = np.sqrt(2 / 50)
    low, high = (1 - edge) ** 2, (1 + edge) ** 2
    np.testing.assert_allclose(unbiased(np.array([low / 2, 3 * high]), 50), [0.5, 3.0])
    np.testing.assert_allclose(unbiased(np.array([low * 1.01, high * 0.99]), 50), 1.0)


@pytest.mark.parametrize(
    ("variances", "expected"),
    [([1, 1, 1], 3), ([9, 4, 1], 3), ([1, 1, 1e-4], 2), ([1, 1e-4, 1e-4], 1), ([1e-12] * 3, 0)],
)
def test_dimension_of_a_gaussian(variances, expected):
    assert dimension_of(np.diag(np.array(variances, float)), np.full(3, 1e-5), 1000) == expected


def test_the_two_gaussians_without_structure_have_the_dimension_of_the_cloud():
    Z = np.random.default_rng(0).normal(size=(300, 10)) * np.linspace(3, 1, 10)
    flat = Z * np.where(np.arange(10) < 4, 1.0, 0.01)
    for fit in (fit_gaussian, fit_ppca):
        assert fit(Z, np.full(10, 1e-9)).dimension == 10
        assert fit(flat, np.full(10, 1e-9)).dimension == 4


def test_em_recovers_two_gaussians():
    rng = np.random.default_rng(0)
    Y = np.concatenate([rng.normal(0, 1, (300, 2)), rng.normal(8, 2, (100, 2))])
    R = np.where((Y[:, 0] > 4)[:, None], [0.0, 1.0], [1.0, 0.0])
    found, _, _ = expectation_maximization(Y, R, np.full(2, 1e-6), "full")
    np.testing.assert_allclose(found.shares, [0.75, 0.25], atol=0.02)
    np.testing.assert_allclose(found.means, [[0, 0], [8, 8]], atol=0.5)
    np.testing.assert_allclose(np.diagonal(found.covariances, axis1=1, axis2=2), [[1, 1], [4, 4]], rtol=0.3)


# ------------------------------------------------------------------ growth


def test_two_means_by_hand():
    y = np.array([[0.0, 0], [1, 0], [10, 0], [11, 0]])
    assert two_means(y, np.ones(4), np.array([1.0, 0.0])).tolist() == [False, False, True, True]


@pytest.mark.parametrize("family", ["pooled", "lowrank", "full"])
def test_growth_stops_at_the_true_number_of_gaussians(family):
    ds = load_dataset("clusters", n_samples=800, seed=3)
    found, _, R = grow(ds.X, np.full(10, 1e-9), family, 9)
    assert len(found) == 5
    assert adjusted_rand_score(ds.paths, R.argmax(axis=1)) > 0.99
    assert len(grow(ds.X[ds.paths == 0], np.full(10, 1e-9), family, 9)[0]) == 1


def test_growth_goes_on_from_a_smaller_mixture():
    ds = load_dataset("clusters", n_samples=800, seed=3)
    two, _, R = grow(ds.X, np.full(10, 1e-9), "full", 2)
    assert len(two) == 2
    assert len(grow(ds.X, np.full(10, 1e-9), "full", 9, R)[0]) == 5


# ------------------------------------------------------------------ pieces and valleys


def test_depth_of_the_valley_between_two_equal_normals():
    # four deviations apart, the density in the middle is 2 exp(-2) of that at a peak, but for what the other adds
    assert depth(np.array([0.25, 0.25]), np.array([0.5, 0.5])) == pytest.approx(2 * np.exp(-2), rel=0.01)
    assert depth(np.array([1.0, 1.0]), np.array([0.5, 0.5])) == 1


def test_an_even_row_of_values_has_no_valley_and_two_heaps_have():
    assert deepest(np.linspace(-0.5, 1.5, 400), 0.2) < 0.5
    heaps = np.sort(np.random.default_rng(0).normal([0, 1], 0.15, (200, 2)).ravel())
    assert deepest(heaps, 0.15) > 5


def test_the_depth_and_the_rows_must_agree_on_a_valley():
    assert is_valley(0.4, 3.0)
    assert not is_valley(0.6, 3.1)
    assert not is_valley(0.4, 2.7)
    assert is_valley(0.1, 2.3)
    assert is_valley(0.9, 6.0)


def test_a_thin_piece_in_a_wide_one_is_for_other_finders():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3))
    X[:500, 2] *= 0.01
    found, _, R = grow(X, np.full(3, 1e-9), "full", 24)
    assert len(found) > 1
    assert merge_pieces(X, found, R, np.full(3, 1e-9), "full").max() == 0


def test_pieces_of_a_bent_cloud_are_one_leaf():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 2)) * [2.0, 0.5]
    X[:, 1] += 0.4 * X[:, 0] ** 2
    found, _, R = grow(X, np.full(2, 1e-9), "full", 24)
    assert len(found) > 1
    assert merge_pieces(X, found, R, np.full(2, 1e-9), "full").max() == 0


# ------------------------------------------------------------------ margins


def test_a_normal_column_is_standardized_and_a_skewed_one_becomes_normal():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(3, 2, 3000), np.exp(rng.normal(size=3000))])
    maps = Margins.fit(X, np.full(2, 1e-9))
    S, _ = maps(X)
    assert [m.straight for m in maps.maps] == [True, False]
    assert np.abs(np.mean(S**3, axis=0)).max() < 0.2
    np.testing.assert_allclose(S.std(axis=0), 1, atol=0.05)


def test_the_jacobian_is_the_slope_of_the_scores():
    m = monotone_map(np.exp(np.random.default_rng(0).normal(size=500)), 6, 1e-9)
    x = np.array([0.001, 0.5, 1.0, 3.0, 30.0])
    slope = (m(x + 1e-6)[0] - m(x - 1e-6)[0]) / 2e-6
    np.testing.assert_allclose(np.log(slope), m(x)[1], atol=1e-3)


# ------------------------------------------------------------------ coordinates


def test_columns_of_one_unit_are_kept_and_others_are_standardized():
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 17, (400, 30)).astype(float)
    pixels[:, :2] = 0
    pixels[:3, :2] = 16  # rarely set: a small deviation, in the same unit
    same = table_coordinates(pixels, rng).representation.weights
    np.testing.assert_allclose(np.linalg.norm(same, axis=0), 1)
    units = pixels * np.where(np.arange(30) < 15, 1.0, 1000.0)
    assert np.linalg.norm(table_coordinates(units, rng).representation.weights, axis=0).min() < 0.5


# ------------------------------------------------------------------ the finder


def test_candidates_and_their_refits_have_the_same_names():
    ds = load_dataset("wine", numeric=True)
    rng = np.random.default_rng(0)
    coordinates = table_coordinates(np.asarray(ds.X, float), rng)
    Z = coordinates.representation.transform(np.asarray(ds.X, float))
    found = mixture.find(Z, coordinates.floor, rng, coordinates.columns)
    names = [c.finder for c in found]
    assert names == ["mixture", "gmm", "mixture-with-margins", "margins-mixture", "margins-gmm"]
    again = mixture.refit(Z[::2], coordinates.floor, rng, coordinates.columns, found)
    assert [c.finder for c in again] == names
    alone = mixture.refit(Z[::2], coordinates.floor, rng, coordinates.columns, [found[2]])
    assert [c.finder for c in alone] == [found[2].finder]
    gated, plain = found[2], found[0]
    np.testing.assert_allclose(gated.posteriors(Z), plain.posteriors(Z), atol=1e-8)
    # the density of all leaves is that of the mixture of scores, whatever tells the leaves apart
    leaf = gated.components[0]
    S, jacobian = leaf.space(Z)
    np.testing.assert_allclose(gated.log_density(Z), leaf.density.log_density(S) + jacobian)


def test_bent_manifolds_get_no_mixtures_among_margins():
    ds = load_dataset("swiss-roll", n_samples=1200, seed=1, noise=0.005)
    rng = np.random.default_rng(0)
    coordinates = table_coordinates(ds.X, rng)
    Z = coordinates.representation.transform(ds.X)
    found = mixture.find(Z, np.full(3, 1e-4), rng, coordinates.columns)
    assert [c.finder for c in found] == ["mixture", "gmm"]
    assert len(found[0].mixture) <= MODES.first_pieces


def test_a_gaussian_mixture_is_always_among_the_candidates():
    ds = load_dataset("blobs", n_samples=300, seed=4)
    m = MIMOSA().fit(ds.X)
    row = next(row for row in m.candidates_ if row["finder"] == "gmm")
    assert row["dimensions"] == [5, 5]


def test_groups_that_parts_of_the_rows_do_not_bring_back_are_not_told():
    ds = load_dataset("breast-cancer", numeric=True)
    assert len(MIMOSA(random_state=0).fit(ds.X).components_) == 1


@pytest.mark.parametrize("kind", ["skewed", "heavy", "bent", "rotated cube"])
def test_an_odd_cloud_is_one_component(kind):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(700, 4))
    if kind == "skewed":
        X = np.exp(0.8 * X)
    elif kind == "heavy":
        X /= np.sqrt(rng.chisquare(4, (700, 1)) / 4)
    elif kind == "bent":
        X[:, 1] += 0.5 * X[:, 0] ** 2
    else:
        X = rng.uniform(-1, 1, (700, 4)) @ np.linalg.qr(X[:4])[0]
    rng = np.random.default_rng(0)
    coordinates = table_coordinates(X, rng)
    Z = coordinates.representation.transform(X)
    for candidate in mixture.find(Z, coordinates.floor, rng, coordinates.columns):
        assert len(candidate.components) == 1, candidate.finder


# ------------------------------------------------------------------ odd input


@pytest.fixture(scope="module")
def two_blobs():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 200)
    return rng.normal(size=(200, 4)) + 4.0 * labels[:, None], labels


@pytest.mark.parametrize("kind", ["copied column", "constant columns", "one outlier"])
def test_two_blobs_are_found_in_spite_of(kind, two_blobs):
    X, labels = two_blobs
    if kind == "copied column":
        X = np.column_stack([X, X[:, 0]])
    elif kind == "constant columns":
        X = np.column_stack([X, np.ones((200, 2))])
    else:
        X = np.concatenate([X, [[1e9, 0, 0, 0]]])
    m = MIMOSA().fit(X)
    assert [c.dimension for c in m.components_] == [4, 4]
    assert adjusted_rand_score(labels, m.labels_[:200]) == 1


@pytest.mark.parametrize("kind", ["fewer rows than columns", "copied rows", "whole numbers", "bits"])
def test_no_structure_in(kind):
    rng = np.random.default_rng(0)
    X = {
        "fewer rows than columns": lambda: rng.normal(size=(40, 120)),
        "copied rows": lambda: np.repeat(rng.normal(size=(60, 4)), 4, axis=0),
        "whole numbers": lambda: np.rint(rng.normal(size=(300, 3))),
        "bits": lambda: rng.integers(0, 2, (300, 4)).astype(float),
    }[kind]()
    assert len(MIMOSA().fit(X).components_) == 1


def test_equal_rows_are_held_out_together():
    Z = np.repeat(np.random.default_rng(0).normal(size=(30, 2)), 3, axis=0)
    held = splits(Z, np.random.default_rng(0))
    assert sorted(np.concatenate(held).tolist()) == list(range(90))
    for rows in held:
        others = np.setdiff1d(np.arange(90), rows)
        assert not set(Z[rows, 0]) & set(Z[others, 0])
