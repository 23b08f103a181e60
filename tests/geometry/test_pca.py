import numpy as np
import pytest

from disentree.geometry.pca import principal_axes


def table(n=500, p=6, seed=0, spread=(9.0, 4.0, 2.0, 1.0, 0.5, 0.2)):
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(rng.standard_normal((p, len(spread))))[0]
    X = rng.standard_normal((n, len(spread))) * spread @ axes.T
    return X - X.mean(axis=0)


@pytest.mark.parametrize("solver", ["auto", "qr", "covariance", "randomized"])
def test_every_solver_agrees_with_the_singular_value_decomposition(solver):
    X = table()
    _, s, Vt = np.linalg.svd(X, full_matrices=False)
    found = principal_axes(X, 4, solver=solver)
    np.testing.assert_allclose(found.singular_values, s[:4], rtol=1e-9)
    np.testing.assert_allclose(np.abs(Vt[:4] @ found.axes), np.eye(4), atol=1e-7)
    np.testing.assert_allclose(found.variances, s[:4] ** 2 / len(X), rtol=1e-9)


@pytest.mark.parametrize("solver", ["qr", "covariance"])
def test_blocks_give_the_axes_of_the_whole(solver):
    X = table()
    whole = principal_axes(X, solver=solver)
    blocks = principal_axes(iter([X[:3], X[3:200], X[200:]]), solver=solver)
    assert blocks.n_rows == whole.n_rows == len(X)
    np.testing.assert_allclose(blocks.singular_values, whole.singular_values, rtol=1e-9)
    np.testing.assert_allclose(np.abs(blocks.axes.T @ whole.axes), np.eye(6), atol=1e-9)


def test_large_arrays_are_decomposed_in_blocks(monkeypatch):
    monkeypatch.setattr("disentree.geometry.pca.BLOCK", 50)
    X = table()
    expected = np.linalg.svd(X, compute_uv=False)
    np.testing.assert_allclose(principal_axes(X).singular_values, expected, rtol=1e-10)


def test_qr_resolves_what_a_covariance_cannot():
    X = table(spread=(1.0, 1e-11))
    expected = np.linalg.svd(X, compute_uv=False)[1]
    np.testing.assert_allclose(principal_axes(X, solver="qr").singular_values[1], expected, rtol=1e-3)


def test_wide_arrays_are_decomposed_by_the_randomized_solver_from_the_seed():
    X = table(n=100, p=1100)
    expected = np.linalg.svd(X, compute_uv=False)[:3]
    one, other = (principal_axes(X.astype(np.float32), 3, random_state=seed) for seed in (0, 0))
    np.testing.assert_allclose(one.singular_values, expected, rtol=1e-4)
    np.testing.assert_array_equal(one.axes, other.axes)
    assert one.axes.shape == (1100, 3)


def test_a_generator_is_drawn_from_only_where_chance_is_needed():
    rng = np.random.default_rng(0)
    principal_axes(table(), 3, random_state=rng)
    assert rng.integers(1000) == np.random.default_rng(0).integers(1000)


def test_whitened_components_have_deviation_one_and_no_correlation():
    X = table()
    W = X @ principal_axes(X).whitening(5)
    np.testing.assert_allclose(W.T @ W / len(X), np.eye(5), atol=1e-9)


def test_the_randomized_solver_names_what_it_needs():
    with pytest.raises(ValueError, match="array of rows and a number of components"):
        principal_axes(table(), solver="randomized")
    with pytest.raises(ValueError, match="array of rows and a number of components"):
        principal_axes([table()], 3, solver="randomized")
