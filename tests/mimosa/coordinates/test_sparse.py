"""Principal components of sparse rows, counts, and a fit to them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csc_matrix, csr_matrix, random_array
from sklearn.metrics import adjusted_rand_score

from disentree.mimosa import MIMOSA
from disentree.mimosa.coordinates.constants import COORDINATES
from disentree.mimosa.coordinates.counts import Stabilizer, _bits, are_counts, chosen_stabilizer, sparse_counts
from disentree.mimosa.coordinates.sparse import leading_axes, shuffled, sparse_coordinates


def kinds_of_counts(n=900, p=200, seed=0, depth=True):
    """Counts of three kinds of rows: each has twenty columns of its own, and rows differ in their sums."""
    rng = np.random.default_rng(seed)
    kind, rates = rng.integers(3, size=n), np.full((3, p), 0.2)
    for k in range(3):
        rates[k, 20 * k : 20 * k + 20] = 4.0
    sums = np.exp(0.4 * rng.normal(size=n)) if depth else np.ones(n)
    return csr_matrix(rng.poisson(sums[:, None] * rates[kind])), kind


def test_axes_are_those_of_dense_centered_rows():
    X = csr_matrix(random_array((300, 150), density=0.1, rng=np.random.default_rng(0)) * 5)
    X = csr_matrix(X + csr_matrix(np.outer(np.arange(300) % 7 == 0, np.arange(150) % 3 == 0) * 4.0))
    mean = np.asarray(X.mean(axis=0)).ravel()
    s, axes = leading_axes(X, mean, 1, np.random.default_rng(0))
    _, exact, V = np.linalg.svd(X.toarray() - mean, full_matrices=False)
    assert s == pytest.approx(exact[:1], rel=1e-6)
    assert abs(axes[:, 0] @ V[0]) == pytest.approx(1, abs=1e-6)


def test_columns_keep_their_values_when_rows_are_shuffled():
    X = kinds_of_counts()[0]
    Y = shuffled(X, np.random.default_rng(0))
    np.testing.assert_array_equal(np.sort(X.toarray(), axis=0), np.sort(Y.toarray(), axis=0))
    assert (X != Y).nnz > 0


@pytest.mark.parametrize("n_kinds", [1, 2, 3])
def test_coordinates_are_those_beyond_chance(n_kinds):
    X, kind = kinds_of_counts(depth=False)
    found = sparse_coordinates(csr_matrix(X[kind < n_kinds]), None, np.random.default_rng(0))
    assert found.representation.weights.shape == (200, n_kinds - 1 + COORDINATES.noise_directions)
    assert found.columns is not None
    assert found.columns.basis.shape == (n_kinds + 3, n_kinds + 3)


def test_no_axis_is_a_single_column_though_rows_are_many():
    rng = np.random.default_rng(0)
    kind, rates = rng.integers(2, size=8000), np.tile(rng.gamma(0.5, 0.2, 150), (2, 1))
    rates[0, :20] = rates[1, 20:40] = 1.0
    rates[:, 140] = 2.0  # the noisiest, and of few values
    X = csr_matrix(rng.poisson(rates[kind]))
    axes = leading_axes(X, np.asarray(X.mean(axis=0)).ravel(), 2, rng)[1]
    assert (axes[:, 1] ** 2).max() > 0.9
    weights = sparse_coordinates(X, None, rng).representation.weights
    assert weights.shape[1] == 1 + COORDINATES.noise_directions
    assert ((weights**2).max(axis=0) < 0.5 * (weights**2).sum(axis=0)).all()


def test_a_wide_table_of_counts_is_searched_as_a_sparse_matrix():
    X = kinds_of_counts(n=300)[0]
    dense = X.toarray().astype(float)
    assert sparse_counts(dense, 100).nnz == X.nnz
    for other in (dense + 0.5, dense - 1, dense[:, :50], np.maximum(dense, 1), (dense > 0) * 1):
        assert sparse_counts(other, 100) is other
    names = [f"gene{j}" for j in range(200)]
    m = MIMOSA(n_jobs=1).fit(pd.DataFrame(dense, columns=pd.Index(names)))
    n = MIMOSA(n_jobs=1).fit(X, feature_names=names)
    np.testing.assert_array_equal(m.labels_, n.labels_)
    assert m.leaf_names_.tolist() == n.leaf_names_.tolist()
    assert str(m.explain()) == str(n.explain())
    nullable = pd.DataFrame(dense, columns=pd.Index(names)).astype("Int64")  # pandas holds these as objects
    assert str(m.explain(nullable)) == str(n.explain(X))


def test_a_column_without_weight_has_no_say():
    X, _ = kinds_of_counts(depth=False)
    weights = np.where(np.arange(200) < 20, 0.0, 1.0)
    found = sparse_coordinates(X, weights, np.random.default_rng(0))
    assert not found.representation.weights[:20].any()
    assert found.representation.weights[20:].any(axis=1).all()


def test_zeros_stay_zeros_and_dense_rows_are_the_same():
    X = kinds_of_counts()[0]
    for one in (Stabilizer(), Stabilizer("root"), Stabilizer("log", 50.0)):
        assert one(X).nnz == X.nnz
        np.testing.assert_allclose(one(X.toarray()), one(X).toarray())


def test_bits_are_those_of_counts_on_every_scale():
    """Normal densities of the scale, carried back: by the change of variables in numbers."""
    X = kinds_of_counts(n=40, p=5)[0].astype(float)
    X.data += 0.5
    for one in (Stabilizer("root"), Stabilizer("log", 20.0)):
        rows = X.toarray()
        Y, step = one(rows), 1e-6
        if one.scale == "log":  # with the sum as it is
            factor = 20.0 / np.where(rows.sum(axis=1) > 0, rows.sum(axis=1), 1.0)
            slope = factor[:, None] / (1 + rows * factor[:, None])
        else:
            slope = (one(rows + step) - one(np.maximum(rows - step, 0))) / (step + np.minimum(rows, step))
        mean, var = Y[::2].mean(axis=0), Y[::2].var(axis=0)
        nats = 0.5 * (Y[1::2] - mean) ** 2 / var + 0.5 * np.log(2 * np.pi * var) - np.log(slope[1::2])
        expected = nats.sum() / len(nats) / np.log(2)
        if one.scale == "log":
            totals = np.log(np.where(rows.sum(axis=1) > 0, rows.sum(axis=1), 1.0))
            m, s = totals[::2].mean(), totals[::2].std()
            own = 0.5 * ((totals[1::2] - m) / s) ** 2 + totals[1::2] + np.log(s * np.sqrt(2 * np.pi))
            expected += own.mean() / np.log(2)
        assert _bits(one, X) == pytest.approx(expected, rel=1e-4)


def test_counts_whose_sums_differ_are_taken_as_logarithms_and_other_numbers_as_they_are():
    rng = np.random.default_rng(0)
    X = kinds_of_counts()[0]
    assert chosen_stabilizer(X, rng).scale == "log"
    assert chosen_stabilizer(csr_matrix(X * 0.3), rng).scale == ""
    assert chosen_stabilizer(csr_matrix(X > 0, dtype=float), rng).scale == ""


def test_one_cell_of_many_that_is_no_count_is_seen():
    X = csr_matrix(np.full((300, 500), 2.0))
    assert are_counts(X)
    X.data[12_345] = -7.5
    assert not are_counts(X)


def test_bits_are_of_the_columns_whose_counts_vary():
    X = kinds_of_counts(n=400)[0].toarray()
    X[:, 0] = 3  # its logarithm varies with the sums of rows
    for one in (Stabilizer(), Stabilizer("root"), Stabilizer("log", 50.0)):
        with_it, without = _bits(one, csr_matrix(X)), _bits(one, csr_matrix(X[:, 1:]))
        assert with_it == pytest.approx(without, rel=0.03 if one.scale == "log" else 1e-12)


@pytest.fixture(scope="module")
def fitted():
    X, kind = kinds_of_counts()
    return MIMOSA(n_jobs=1).fit(X, feature_names=[f"gene{j}" for j in range(200)]), X, kind


def test_kinds_are_found_and_told_by_their_columns(fitted):
    m, X, kind = fitted
    assert len(m.hierarchy_.paths) == 3
    assert adjusted_rand_score(kind, m.labels_) > 0.98
    assert any("gene" in name for name in m.leaf_names_)
    assert "gene" in str(m.explain())
    assert "gene" in " ".join(m.why(X[:20]))
    assert "Counts are taken as logarithms" in " ".join(m.summary(full=True).split())


def test_sparse_and_dense_rows_are_on_the_same_leaves(fitted, tmp_path):
    m, X, _ = fitted
    np.testing.assert_array_equal(m.predict(X), m.labels_)
    np.testing.assert_array_equal(m.predict(X.toarray()), m.labels_)
    np.testing.assert_allclose(m.transform(csc_matrix(X)), m.transform(X.toarray()), atol=1e-8)
    m.save(tmp_path)
    loaded = MIMOSA.load(tmp_path)
    np.testing.assert_array_equal(loaded.predict(X), m.labels_)
    np.testing.assert_allclose(loaded.outlier_score(X[:50]), m.outlier_score(X[:50]))
    assert loaded.why(X[:1]).iloc[0] == m.why(X[:2]).iloc[0]


def test_a_row_of_another_kind_is_strange(fitted):
    m, X, _ = fitted
    odd = np.zeros((1, 200))
    odd[0, 150:] = 30
    told = m.place(csr_matrix(odd))
    assert told["strange"][0] > m.strange_from_
    assert m.place(X)["fits"].mean() > 0.99


def test_new_kinds_of_sparse_rows_become_leaves(fitted):
    m = MIMOSA(n_jobs=1).fit(fitted[1])
    rng = np.random.default_rng(5)
    rates = np.full(200, 0.2)
    rates[:20] = rates[20:40] = rates[40:60] = 8.0
    found = m.update(csr_matrix(rng.poisson(rates, (60, 200))))
    assert found.sizes == [60]
    assert len(m.hierarchy_.paths) == 4
    assert m.labels_.shape == (960,)


def test_bad_sparse_rows_are_refused(fitted):
    X = fitted[1].astype(float)
    X.data[3] = np.nan
    with pytest.raises(ValueError, match="a sparse matrix has no empty cells"):
        MIMOSA().fit(X)
    with pytest.raises(ValueError, match="feature_names must name each column of a sparse matrix, got 2"):
        MIMOSA().fit(fitted[1], feature_names=["a", "b"])
    with pytest.raises(ValueError, match="feature_names must name each column"):
        MIMOSA().fit(np.zeros((5, 2)), feature_names=["a", "b"])
