"""Known answers; covers `mig.py`, `sap.py`, `factor_vae.py` and `dci.py`."""

import numpy as np
import pytest

from disentree import Hierarchy
from disentree.datasets import load_dataset
from disentree.metrics import dci_score, dci_scores, factor_vae_score, mig_score, sap_score

ALL = [mig_score, sap_score, dci_score, factor_vae_score]


def doubled(V, hierarchy):
    """Every variable twice."""
    tree = hierarchy.to_dict()["variables"]
    twice = [{**v, "name": f"{v['name']}{i}"} for v in tree for i in (1, 2)]
    return np.repeat(V, 2, axis=1), Hierarchy.from_dict({"variables": twice})


def test_identity_is_high(mixed):
    h, V = mixed
    assert mig_score(V, V, h, h) > 0.95
    assert sap_score(V, V, h, h) > 0.8  # the second best code of a categorical guesses: .5 and .33 at best
    assert sap_score(V[:, :3], V[:, :3], Hierarchy.flat(3), Hierarchy.flat(3)) > 0.95
    assert min(dci_scores(V, V, h, h)) > 0.99
    assert factor_vae_score(V, V, h, h) > 0.99


def test_duplicates_are_low_on_the_gap_metrics(mixed):
    h, V = mixed
    Z, twice = doubled(V, h)
    assert mig_score(V, Z, h, twice) < 0.01
    assert sap_score(V, Z, h, twice) < 0.01
    assert dci_score(V, Z, h, twice) > 0.99  # each copy is still about one factor
    assert dci_scores(V, Z, h, twice).informativeness > 0.99


@pytest.mark.parametrize("score", ALL)
def test_constant_codes_score_zero(score, mixed):
    h, V = mixed
    assert score(V, np.zeros_like(V), h, h) == 0


@pytest.mark.parametrize("score", [mig_score, sap_score, dci_score])
def test_independent_codes_are_near_zero(score, mixed):
    h, V = mixed
    assert score(V, h.sample(len(V), 1), h, h) < 0.06


def test_independent_codes_guess_the_factor(mixed):
    h, V = mixed
    assert factor_vae_score(V, h.sample(len(V), 1), h, h) < 0.35


@pytest.mark.parametrize("score", ALL)
def test_a_rotation_lies_in_between(score):
    h = Hierarchy.flat(2)
    V = h.sample(2000)
    Z = V @ np.array([[1, 1], [-1, 1]]) / np.sqrt(2)
    assert score(V, Z, h, h) < 0.7 * score(V, V, h, h)


@pytest.mark.parametrize("score", ALL)
def test_units_and_order_do_not_matter(score, mixed):
    h, V = mixed
    Z = V.copy()
    Z[:, 0] = 1e-6 * V[:, 0]
    Z[:, 1] = 1e3 * V[:, 1] + 5
    Z[:, 4] = np.array([2.0, 0.0, 1.0])[V[:, 4].astype(int)]  # another order of options
    assert score(V, Z, h, h) == pytest.approx(score(V, V, h, h), abs=0.02)


@pytest.mark.parametrize("score", ALL)
def test_one_code_and_one_factor(score):
    one, two = Hierarchy.flat(1), Hierarchy.flat(2)
    V = two.sample(1000)
    if score is not dci_score:  # trees can only use the one code, even for a factor it knows nothing of
        assert score(V, V[:, :1], two, one) > 0.3
    assert score(V[:, :1], V, one, two) > 0.9
    assert score(V[:, :1], V[:, :1], one, one) > 0.95


@pytest.mark.parametrize("score", ALL)
def test_a_factor_with_one_value_is_harmless(score):
    h = Hierarchy.flat(2, (2,))
    V = h.sample(500)
    V[:, 1], V[:, 2] = 3.0, 0.0
    assert 0 <= score(V, V, h, h) <= 1


@pytest.mark.parametrize("score", ALL)
def test_seeded(score, mixed):
    h, V = mixed
    Z = V + 0.3 * np.random.default_rng(0).standard_normal(V.shape) * ~h.is_categorical
    assert score(V, Z, h, h, random_state=1) == score(V, Z, h, h, random_state=1)


@pytest.mark.parametrize("score", [sap_score, dci_score])
def test_same_score_for_any_number_of_threads(score, mixed):
    h, V = mixed
    Z = V + 0.3 * np.random.default_rng(0).standard_normal(V.shape) * ~h.is_categorical
    assert score(V, Z, h, h) == score(V, Z, h, h, n_jobs=2)


def test_direction_of_dci():
    """One code for two factors: complete, not disentangled. Two codes for one factor: the reverse."""
    two, one = Hierarchy.flat(2), Hierarchy.flat(1)
    V = two.sample(3000)
    mixture = V.sum(axis=1, keepdims=True)
    assert dci_scores(V, mixture, two, one).disentanglement < 0.1
    assert dci_scores(V, mixture, two, one).completeness > 0.99
    assert dci_scores(mixture, V, one, two).disentanglement > 0.99
    assert dci_scores(mixture, V, one, two).completeness < 0.1


def test_direction_of_the_factor_vae_score():
    """It looks for the fixed true factor in the codes: codes without the factor cannot show it."""
    two = Hierarchy.flat(2)
    V = two.sample(2000)
    Z = np.stack([V[:, 0], np.random.default_rng(1).random(2000)], axis=1)
    assert factor_vae_score(V, Z, two, two) < 0.8


def test_small_units_are_not_pruned():
    """A perfect code of a slope between -.01 and .01 has a standard deviation of .006."""
    ds = load_dataset("chopsticks-depth2-slope", n_samples=2000, seed=0)
    assert np.nanstd(ds.codes[:, ~ds.hierarchy.is_categorical]) < 0.05
    assert factor_vae_score(ds.codes, ds.codes, ds.hierarchy, ds.hierarchy) > 0.99


@pytest.mark.parametrize("score", ALL)
def test_hierarchical_codes(score, sticks):
    V, h = sticks.codes, sticks.hierarchy
    assert score(V, V, h, h) > 0.4
    assert score(V, h.sample(len(V), 1), h, h) < 0.5 * score(V, V, h, h)


def test_inactive_is_an_option_of_its_own():
    """Where a categorical is not active it must not look like its first option."""
    h = Hierarchy.from_dict(
        {
            "variables": [
                {
                    "kind": "categorical",
                    "options": [
                        {
                            "variables": [
                                {"kind": "categorical", "options": [{"variables": []}, {"variables": []}]}
                            ]
                        },
                        {"variables": []},
                    ],
                }
            ]
        }
    )
    V = h.sample(4000)
    # From the inner categorical the outer one can be told exactly.
    inner = np.nan_to_num(V[:, [1]] + 1)
    assert sap_score(V[:, [0]], inner, Hierarchy.flat(0, (2,)), Hierarchy.flat(0, (3,))) == 1


def test_dci_agrees_with_scikit_learn():
    h = Hierarchy.flat(2, (3,))
    V = h.sample(500)
    Z = V.copy()
    Z[:, 0] += 0.5 * V[:, 1]
    fast, reference = dci_scores(V, Z, h, h), dci_scores(V, Z, h, h, estimator="reference")
    np.testing.assert_allclose(fast, reference, atol=0.005)
