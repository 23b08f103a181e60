"""`em_kernels.py`, and the monotone cubics of `margins.py`, against scikit-learn, scipy and numpy."""

import numpy as np
import pytest
from scipy.interpolate import PchipInterpolator
from sklearn.mixture import GaussianMixture

from disentree.mimosa.density import em_kernels as kernels
from disentree.mimosa.density.gaussians import expectation_maximization
from disentree.mimosa.density.margins import MonotoneMap


def rows_and_weights(n=200, q=4, k=3, seed=0):
    rng = np.random.default_rng(seed)
    Y = rng.normal(size=(n, q)) + 3 * rng.integers(0, k, n)[:, None]
    return Y, rng.dirichlet(np.ones(k), n)


def test_roots_and_inverses_are_those_of_numpy():
    A = np.cov(rows_and_weights()[0].T)
    L, ok = kernels.cholesky(A)
    assert ok
    np.testing.assert_allclose(L, np.linalg.cholesky(A))
    np.testing.assert_allclose(kernels.inverse_of_lower(L), np.linalg.inv(L))
    assert not kernels.cholesky(np.array([[1.0, 2.0], [2.0, 1.0]]))[1]


def test_free_covariances_are_a_fixed_point_of_scikit_learn():
    Y, R = rows_and_weights()
    mixture, likelihood, _ = expectation_maximization(Y, R, np.full(4, 1e-6), "full", steps=2000, tolerance=1e-13)
    start = {"weights_init": mixture.shares, "means_init": mixture.means}
    start["precisions_init"] = np.linalg.inv(mixture.covariances)
    theirs = GaussianMixture(3, tol=1e-12, max_iter=1000, reg_covar=0.0, **start).fit(Y)
    assert likelihood / len(Y) == pytest.approx(theirs.lower_bound_, abs=1e-6)
    np.testing.assert_allclose(mixture.means, theirs.means_, atol=1e-3)


@pytest.mark.parametrize("family", ["pooled", "lowrank", "full"])
def test_posteriors_and_likelihood_are_those_of_the_mixture_that_is_returned(family):
    Y, R = rows_and_weights()
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(Y))
    mixture, likelihood, R = expectation_maximization(Y, R, np.full(4, 1e-6), family, weights, steps=7)
    np.testing.assert_allclose(R, mixture.posteriors(Y), atol=1e-12)
    assert likelihood == pytest.approx(float(weights @ mixture.log_density(Y)))


@pytest.mark.parametrize("family", ["pooled", "lowrank"])
def test_one_component_has_the_mean_and_the_total_variance_of_the_rows(family):
    Y, _ = rows_and_weights()
    mixture, _, _ = expectation_maximization(Y, np.ones((len(Y), 1)), np.full(4, 1e-6), family, steps=1)
    np.testing.assert_allclose(mixture.means[0], Y.mean(axis=0))
    assert np.trace(mixture.covariances[0]) == pytest.approx(np.trace(np.cov(Y.T, bias=True)))


def test_components_of_one_covariance_share_it():
    """Two clouds that differ only in place: their covariances are the pooled one, and cost nothing."""
    rng = np.random.default_rng(0)
    Y = np.concatenate([rng.normal(size=(300, 3)), rng.normal([9.0, 0.0, 0.0], size=(300, 3))])
    R = np.repeat(np.eye(2), 300, axis=0)
    mixture, _, _ = expectation_maximization(Y, R, np.full(3, 1e-6), "pooled", steps=3)
    np.testing.assert_allclose(mixture.covariances[0], mixture.covariances[1])
    assert mixture.parameters == 6 + 2 * 3 + 1  # one covariance, two means, one share


def test_a_component_below_the_fewest_rows_is_dropped():
    Y, _ = rows_and_weights(k=2)
    R = np.full((len(Y), 3), [0.495, 0.495, 0.01])
    mixture, _, R = expectation_maximization(Y, R, np.full(4, 1e-6), "full", fewest=5.0)
    assert len(mixture) == 2
    np.testing.assert_allclose(R.sum(axis=1), 1.0)


def test_the_cubic_and_its_slope_are_those_of_scipy():
    rng = np.random.default_rng(0)
    for k in (3, 5, 26):
        at, scores = np.sort(rng.normal(size=k) ** 3), np.sort(rng.normal(size=k))
        x = rng.uniform(at[0], at[-1], 50)
        theirs = PchipInterpolator(at, scores)
        values, slopes = MonotoneMap(at, scores, 1.0, 1.0).inside(x)
        np.testing.assert_allclose(values, theirs(x), atol=1e-9)
        np.testing.assert_allclose(slopes, theirs(x, 1), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("family", ["pooled", "lowrank", "full"])
def test_a_column_that_never_varies_and_has_no_precision_is_singular(family):
    """Pixels that are always 0: the search leaves a finder out that has no inverse, and goes on."""
    Y, R = rows_and_weights(k=2)
    Y[:, 3] = 0.0
    with pytest.raises(np.linalg.LinAlgError):
        expectation_maximization(Y, R, np.zeros(4), family)
