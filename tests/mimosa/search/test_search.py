"""MIMOSA by several finders and one judge: small data with a known answer, and what must not matter."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from disentree import MIMOSA
from disentree.datasets import load_dataset
from disentree.metrics import h_error, purity_score
from disentree.mimosa import description_length
from disentree.mimosa.coordinates.columns import Columns
from disentree.mimosa.density.candidate import Candidate, LeafCandidate
from disentree.mimosa.density.structureless import fit_gaussian
from disentree.mimosa.finders.protocol import Finder, FindsAgain, Rows
from disentree.mimosa.search.search import finders_for, led_by, search, seed_of


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


@pytest.mark.parametrize("case", [(1000, 20, 5, 0), (1405, 11, 8, 46)])
def test_clouds_in_a_row_are_no_line(case):
    n, d, k, seed = case  # a curve through some of these clouds takes as few bits as they do
    X, kind = make_blobs(n, d, centers=k, random_state=seed)
    m = MIMOSA(random_state=0).fit(X)
    assert sorted(leaf.dimension for leaf in m.components_) == [d] * k
    assert adjusted_rand_score(kind, m.labels_) == 1


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


# ------------------------------------------------------------------ asking finders


@dataclass(frozen=True)
class Given(FindsAgain):
    """A finder that proposes what it was given, and writes down what it drew when it was asked."""

    name: str
    candidates: tuple[LeafCandidate, ...]
    draws: list[float] = field(default_factory=list)

    def propose(self, rows: Rows, rng: np.random.Generator) -> Sequence[Candidate]:
        self.draws.append(rng.random())
        return self.candidates


@pytest.fixture(scope="module")
def clouds() -> Rows:
    """Two clouds with 10 deviations between them: they save about .9 bits per row."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(2000, 2))
    Z[::2, 0] += 10
    return Rows(Z - Z.mean(axis=0), np.full(2, 1e-9), n_jobs=1)


def two(name: str, clouds: Rows, **more) -> LeafCandidate:
    leaves = [fit_gaussian(clouds.Z[start::2], clouds.floor) for start in (0, 1)]
    return LeafCandidate(name, leaves, np.full(2, 0.5), **more)


def ask(clouds: Rows, *finders: Finder):
    return search(clouds, finders, np.random.SeedSequence(7), lambda name: nullcontext())


@pytest.mark.parametrize(
    ("needless_bits", "shift", "asked"),
    [
        (0.0, 0.0, False),  # it saves bits, and is believed
        (0.0, 30.0, True),  # it says that others are needless, and describes rows worse than one Gaussian does
        (4.0, 0.0, True),  # it would have to save 4 bits for that
        (0.5, 0.0, False),
    ],
)
def test_only_a_candidate_that_saves_bits_makes_others_needless(clouds, needless_bits, shift, asked):
    found = two("first", clouds, makes_needless=("second",), needless_bits=needless_bits)
    moved = [replace(leaf, mean=leaf.mean + shift) for leaf in found.components]
    first = Given("first", (replace(found, components=moved),))
    second = Given("second", (two("second", clouds),))
    outcome = ask(clouds, first, second)
    assert bool(second.draws) is asked
    assert ("second" in {row["finder"] for row in outcome.table}) is asked
    assert outcome.candidate.finder == ("second" if shift else "first")


def test_a_sixth_finder_is_asked_like_the_others(clouds):
    few = replace(clouds, Z=clouds.Z[:300], columns=Columns(np.zeros(2), np.eye(2), np.full(2, 1e-9)))
    sixth = Given("sixth", (two("sixth", clouds),))
    outcome = ask(few, *finders_for(few.columns is not None), sixth)
    assert "sixth" in {row["finder"] for row in outcome.table}
    assert {"subspaces", "noisy subspaces"} <= set(outcome.silent)


def test_what_a_finder_draws_does_not_depend_on_who_else_is_asked(clouds):
    alone, again, other = (Given(name, ()) for name in ("new", "new", "newer"))
    assert ask(clouds, alone).silent == ("new",)
    ask(clouds, other, again)
    assert alone.draws == again.draws
    assert alone.draws != other.draws


@pytest.mark.parametrize(
    ("finder", "child"),
    [("subspaces", 1), ("sheets", 1), ("noisy subspaces", 2), ("atlas", 3), ("mixture", 4), ("switches", 6)],
)
def test_known_finders_have_the_seeds_that_they_always_had(finder, child):
    seed = np.random.SeedSequence(5).spawn(3)[2]
    assert seed_of(finder, seed).generate_state(4).tolist() == seed.spawn(7)[child].generate_state(4).tolist()
