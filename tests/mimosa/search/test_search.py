"""MIMOSA by several finders and one judge: small data with a known answer, and what must not matter."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from disentree import MIMOSA
from disentree.datasets import load_dataset
from disentree.metrics import h_error, purity_score
from disentree.mimosa import description_length
from disentree.mimosa.search.search import led_by


@pytest.fixture(scope="module")
def iris():
    ds = load_dataset("iris", numeric=True)
    return ds, MIMOSA().fit(ds.X)


def dimensions(m):
    return sorted(c.dimension for c in m.components_)


def test_two_groups_of_iris(iris):
    ds, m = iris
    assert adjusted_rand_score(ds.paths, m.labels_) > 0.55
    assert m.saved_bits_ > 2 * m.saved_bits_doubt_ > 0
    assert m.candidates_[0]["bits"] == m.description_length_


def test_candidates_name_finders_and_hold_the_models_without_structure(iris):
    _, m = iris
    found = {row["finder"] for row in m.candidates_}
    assert {"gaussian", "ppca", "margins", "mixture"} <= found
    plain = min(row["bits"] for row in m.candidates_ if row["finder"] in ("gaussian", "ppca", "margins"))
    assert m.saved_bits_ == pytest.approx(plain - m.description_length_, abs=1e-6)
    for row in m.candidates_:
        assert row["components"] == len(row["dimensions"])
        assert row["seconds"] >= 0


def test_probabilities_and_labels_agree(iris):
    ds, m = iris
    proba = m.predict_proba(ds.X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_array_equal(proba.argmax(axis=1), m.labels_)
    np.testing.assert_array_equal(m.predict(ds.X), m.labels_)
    core = m.core_labels_ >= 0
    np.testing.assert_array_equal(m.core_labels_[core], m.labels_[core])


def test_a_row_far_away_is_stranger_than_all_others(iris):
    ds, m = iris
    far = ds.X.mean(axis=0) + 20 * ds.X.std(axis=0)
    assert m.outlier_score(far[None])[0] > m.outlier_score(ds.X).max() + 10


@pytest.mark.parametrize("name", ["gaussian", "cube", "integers"])
def test_one_cloud_is_one_component_and_saves_nothing(name):
    ds = load_dataset(name, n_samples=600, seed=1)
    m = MIMOSA().fit(ds.X)
    assert len(m.components_) == 1
    assert m.saved_bits_ == 0


def test_two_separated_clouds_of_full_dimension():
    ds = load_dataset("blobs", n_samples=600, seed=1)
    m = MIMOSA().fit(ds.X)
    assert dimensions(m) == [5, 5]
    assert adjusted_rand_score(ds.paths, m.labels_) == 1
    assert [c.parent for c in m.components_] == [None, None]


def test_exact_subspaces_are_found_to_rounding():
    ds = load_dataset("chopsticks-depth2-either", n_samples=3000, seed=1)
    m = MIMOSA().fit(ds.X)
    assert h_error(ds.hierarchy, m.hierarchy_) == 0
    assert purity_score(ds.paths, m.labels_) == 1
    assert m.candidates_[0]["finder"] == "subspaces"
    assert "mixture" not in {row["finder"] for row in m.candidates_}  # it cannot compete, and is not asked


def test_a_circle_is_no_plane():
    angle = np.random.default_rng(0).uniform(0, 2 * np.pi, 1500)
    X = np.column_stack([np.cos(angle), np.sin(angle), np.full(1500, 3.0)])
    m = MIMOSA().fit(X)
    assert dimensions(m) == [1]
    assert m.saved_bits_ > 0


def test_order_scale_and_shift_do_not_matter(iris):
    ds, m = iris
    order = np.random.default_rng(0).permutation(len(ds.X))
    other = clone(m).fit(1000 * ds.X[order] + 7)
    assert adjusted_rand_score(m.labels_[order], other.labels_) == 1
    assert other.saved_bits_ == pytest.approx(m.saved_bits_, rel=0.15)  # rows are dithered within their grid


def test_the_same_seed_gives_the_same_answer(iris):
    ds, m = iris
    other = clone(m).fit(ds.X)
    np.testing.assert_array_equal(other.labels_, m.labels_)
    assert other.description_length_ == m.description_length_


@pytest.mark.parametrize("n", [2, 10, 29])
def test_few_rows_are_one_component(n):
    m = MIMOSA().fit(np.random.default_rng(0).standard_normal((n, 3)))
    assert (m.labels_ == 0).all()
    assert [row["why_not"] for row in m.candidates_] == [""]


def test_reasons_are_beside_the_proposal_that_was_chosen_last():
    before = [{"bits": 5.0, "why_not": ""}, {"bits": 4.0, "why_not": "chance"}, {"bits": 2.0, "why_not": "chance"}]
    table = led_by({"bits": 3.0, "why_not": ""}, before)
    assert [row["bits"] for row in table] == [3.0, 5.0, 4.0, 2.0]
    assert [row["why_not"] for row in table] == ["", "", "", "chance"]


def test_constant_data():
    m = MIMOSA().fit(np.full((50, 3), 2.5))
    assert dimensions(m) == [0]
    assert m.predict(np.full((2, 3), 2.5)).tolist() == [0, 0]


def test_bad_settings_are_named():
    with pytest.raises(ValueError, match="n_neighbors must be a whole number, 2 or more, got -5"):
        MIMOSA(n_neighbors=-5).fit(np.eye(3))


# ------------------------------------------------------------------ the judge alone


def test_true_labels_take_fewer_bits_than_none_and_shuffled_ones():
    ds = load_dataset("blobs", n_samples=600, seed=2)
    shuffled = np.random.default_rng(0).permutation(ds.paths)
    true, none, wrong = (description_length(labels, ds.X) for labels in (ds.paths, np.zeros(600, int), shuffled))
    assert true < none - 0.3
    assert wrong > none - 0.05


def test_bits_of_a_standard_normal_are_its_entropy():
    X = np.random.default_rng(0).standard_normal((4000, 2))
    entropy = np.log2(2 * np.pi * np.e)  # of two columns
    assert description_length(np.zeros(4000, int), X) == pytest.approx(entropy, abs=0.1)


def test_labels_of_another_length():
    with pytest.raises(ValueError, match="one entry per row"):
        description_length([0, 1], np.eye(3))


def test_a_leaf_with_a_gap_is_not_two_of_lower_dimension():
    ds = load_dataset("chopsticks-depth3-both", n_samples=5000, seed=7, min_offset=0.25)
    assert h_error(ds.hierarchy, MIMOSA().fit(ds.X).hierarchy_) == 0


def test_leaves_that_rows_lie_on_exactly_are_not_given_up_for_density():
    """Two exact leaves against three others that save a little more: only many bits more are further structure."""
    from disentree.mimosa.density.candidate import Candidate
    from disentree.mimosa.density.structureless import fit_gaussian
    from disentree.mimosa.search.judge import Verdict
    from disentree.mimosa.search.search import choose

    leaf = fit_gaussian(np.random.default_rng(0).normal(size=(50, 2)), np.full(2, 1e-6))
    thirds, noise = np.full(3, 1 / 3), np.random.default_rng(1).normal(size=100)
    found = {
        "gaussian": Candidate("gaussian", [leaf], np.ones(1)),
        "subspaces": Candidate("subspaces", [leaf] * 2, np.ones(2) / 2, {"exact": True}),
        "atlas": Candidate("atlas", [leaf] * 3, thirds),
    }

    def chosen(atlas_bits: float) -> str:
        bits = {"gaussian": 0.0, "subspaces": -50.0, "atlas": atlas_bits}
        verdicts = {name: Verdict(name, mean + noise, 0.0) for name, mean in bits.items()}
        return choose(found, verdicts, {"gaussian": 1, "subspaces": 2, "atlas": 3}, 2).candidate.finder

    assert chosen(-53.9) == "subspaces"
    assert chosen(-54.1) == "atlas"
