"""Golden values by hand; covers `information.py`, `infomec.py`, `modularity.py` and `mcc.py`."""

import math

import numpy as np
import pytest

from disentree import Hierarchy
from disentree import metrics as m
from disentree.metrics.flat.information import information

BITS = np.array([[a, b] for a in (0, 1) for b in (0, 1)] * 25, dtype=float)  # each pair of bits in 25 rows
TWO = Hierarchy.flat(0, (2, 2))


def test_information_by_hand():
    a = np.array([0, 0, 0, 1, 1, 1, 1, 1])
    b = np.array([0, 0, 1, 1, 1, 1, 1, 1])
    # p(0,0) = 2/8, p(0,1) = 1/8, p(1,1) = 5/8; margins 3/8, 5/8 and 2/8, 6/8
    expected = 2 / 8 * math.log(8 / 3) + 1 / 8 * math.log(8 / 18) + 5 / 8 * math.log(8 / 6)
    assert information(a, b) == pytest.approx(expected)
    # two rows and two columns of cells, of which three are not empty: (2 + 2 - 3 - 1) / 16 = 0
    assert information(a, b, corrected=True) == pytest.approx(expected)
    # the entropy of a bit: two cells, (2 + 2 - 2 - 1) / 16
    assert information(b, b, corrected=True) - information(b, b) == pytest.approx(1 / 16)


def test_the_codes_themselves_are_perfect():
    assert m.infomec_scores(BITS, BITS, TWO, TWO) == pytest.approx((1, 1, 1), abs=1e-3)
    assert m.modularity_score(BITS, BITS, TWO, TWO) == 1
    assert m.explicitness_score(BITS, BITS, TWO, TWO) == 1
    assert m.mcc_score(BITS, BITS, TWO, TWO) == pytest.approx(1)


def test_one_code_for_two_factors():
    """A code of four values tells both bits, as much of each, and no other code is needed."""
    both = 2 * BITS[:, :1] + BITS[:, 1:]
    four = Hierarchy.flat(0, (4,))
    found = m.infomec_scores(BITS, both, TWO, four)
    assert found.modularity == pytest.approx(0, abs=1e-9)  # equal shares of two factors
    assert found.compactness == 1
    assert found.explicitness == pytest.approx(1, abs=1e-3)
    assert m.modularity_score(BITS, both, TWO, four) == pytest.approx(0, abs=1e-9)  # 1 - I^2 / I^2
    # Cramer's V of a bit and the four values is 1; only one of two factors can have the code
    assert m.mcc_score(BITS, both, TWO, four) == pytest.approx(0.5)


def test_a_factor_in_two_codes():
    twice = np.column_stack([BITS[:, 0], BITS[:, 0], BITS[:, 1], BITS[:, 1]])
    found = m.infomec_scores(BITS, twice, TWO, Hierarchy.flat(0, (2,) * 4))
    assert found.modularity == pytest.approx(1)
    assert found.compactness == pytest.approx(
        (1 / 2 - 1 / 4) / (1 - 1 / 4)
    )  # half of each row's sum, of four codes


def test_exclusive_or_cannot_be_read_by_a_line():
    """The codes are the bits, the factor is whether they differ: nothing linear tells it, nor does one of them."""
    differ = (BITS[:, :1] != BITS[:, 1:]).astype(float)
    one = Hierarchy.flat(0, (2,))
    assert m.infomec_scores(differ, BITS, one, TWO).explicitness == pytest.approx(0, abs=0.01)
    assert m.explicitness_score(differ, BITS, one, TWO) == pytest.approx(0, abs=1e-6)
    assert m.mcc_score(differ, BITS, one, TWO) == pytest.approx(0, abs=1e-6)


def test_correlations_by_hand():
    x = np.array([0.0, 1, 2, 3])[:, None]
    y = np.array([0.0, 1, 3, 2])[:, None]
    assert m.mcc_score(x, -y) == pytest.approx(0.8)  # 4 of 5: both have squares of 5 about the mean
    sign = np.array([0.0, 0, 1, 1])[:, None]
    # options explain 4 of the 5: means .5 and 2.5 about 1.5
    assert m.mcc_score(x, sign, None, Hierarchy.flat(0, (2,))) == pytest.approx(math.sqrt(4 / 5))


def test_a_matching_gives_each_code_away_once():
    rng = np.random.default_rng(0)
    V = rng.standard_normal((500, 2))
    assert m.mcc_score(V, V[:, [0, 0]]) < 0.6  # the second factor is left with a copy of the first


@pytest.mark.parametrize("score", [m.infomec_scores, m.modularity_score, m.explicitness_score, m.mcc_score])
def test_codes_that_never_change_tell_nothing(score):
    V = np.random.default_rng(0).random((200, 2))
    assert np.max(score(V, np.zeros((200, 3)))) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    "score", [m.mig_score, m.sap_score, m.dci_score, m.factor_vae_score, m.r4c_score, m.r4_score]
)
def test_plain_arrays_are_flat_and_continuous(score):
    V = np.random.default_rng(0).random((400, 2))
    Z, flat = V @ [[1, 0.2], [0, 1]], Hierarchy.flat(2)
    assert score(V, Z) == score(V, Z, flat, flat)


def test_independent_codes_tell_nothing_for_all_the_bins():
    V, Z = np.random.default_rng(0).random((2, 3000, 2))
    assert information(*(np.digitize(x[:, 0], np.linspace(0, 1, 20)) for x in (V, Z))) > 0.04  # the bias
    assert m.infomec_scores(V, Z).explicitness < 0.02
    assert m.explicitness_score(V, Z) < 0.15


class TestOwnScores:
    """`register_metric`, and names that say where a function is."""

    def test_evaluate_calls_them(self):
        V = np.random.default_rng(0).random((50, 2))
        m.register_metric("mean_gap", lambda V, Z, v_hierarchy, z_hierarchy: abs(V - Z).mean())
        assert m.evaluate(V, V + 1, metrics=["mean_gap"])["scores"] == {"mean_gap": pytest.approx(1)}

    def test_a_name_may_say_where_it_is(self):
        V = np.random.default_rng(0).random((50, 2))
        name = "disentree.metrics:mcc_score"
        assert m.evaluate(V, V, metrics=[name])["scores"] == {name: pytest.approx(1)}

    @pytest.mark.parametrize(
        ("name", "problem"),
        [("mig", "there is a metric 'mig' already"), ("two words", "must be a word without blanks")],
    )
    def test_names_that_are_taken(self, name, problem):
        with pytest.raises(ValueError, match=problem):
            m.register_metric(name, lambda *_: 0.0)

    def test_only_functions(self):
        with pytest.raises(TypeError, match="score must be a function"):
            m.register_metric("three", 3)
