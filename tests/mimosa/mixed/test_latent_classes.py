"""Groups that differ in categories alone: `latent_classes.py`, `category_models.py`, `few_valued.py`."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from disentree import COFHAE, MIMOSA
from disentree.mimosa.mixed.category_models import Answers, fit_classes, fit_network, fit_traits, n_parameters
from disentree.mimosa.mixed.few_valued import few_valued
from disentree.mimosa.mixed.latent_classes import find_classes
from disentree.tables import Codec

N = 600


def kinds(seed: int = 0, n: int = N, q: int = 10) -> tuple[list[np.ndarray], list[int], np.ndarray]:
    """Three kinds of rows; in each, every column mostly has the value of that kind."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    n_levels = [3 + j % 2 for j in range(q)]
    columns = []
    for j, k in enumerate(n_levels):
        usual = (kind + j) % k
        columns.append(np.where(rng.random(n) < 0.75, usual, rng.integers(0, k, n)))
    return columns, n_levels, kind


def opinions(seed: int, n: int = 300, q: int = 8) -> tuple[list[np.ndarray], list[int]]:
    """Answers that all follow one attitude: no groups."""
    rng = np.random.default_rng(seed)
    attitude = rng.normal(size=n)
    steps = [np.sort(rng.normal(size=3)) for _ in range(q)]
    strength = rng.choice([-2.0, 1.0, 2.0], q)
    columns = [(strength[j] * attitude + rng.logistic(size=n) > steps[j][:, None]).sum(axis=0) for j in range(q)]
    return columns, [4] * q


def dependent(seed: int, n: int = 300, q: int = 8) -> tuple[list[np.ndarray], list[int]]:
    """Columns each of which depends on an earlier one: no groups."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, 4, n)]
    for _ in range(q - 1):
        above = columns[rng.integers(len(columns))]
        columns.append(np.where(rng.random(n) < 0.7, rng.permutation(4)[above], rng.integers(0, 4, n)))
    return columns, [4] * q


@pytest.fixture(scope="module")
def three_kinds():
    columns, n_levels, kind = kinds()
    found = find_classes(columns, n_levels, np.random.default_rng(0))
    assert found is not None
    return columns, n_levels, kind, found


def test_kinds_are_found(three_kinds):
    columns, _, kind, found = three_kinds
    assert adjusted_rand_score(kind, found.posteriors(columns).argmax(axis=1)) > 0.9
    assert found.shares == pytest.approx([0.5, 0.3, 0.2], abs=0.06)


def test_the_shares_of_values_in_each_kind(three_kinds):
    columns, n_levels, _, found = three_kinds
    for j, (column, k) in enumerate(zip(columns, n_levels, strict=True)):
        usual = (np.arange(3) + j) % k  # of each kind, in three quarters of its rows and then by chance
        shares = np.bincount(column)[usual] / N * np.exp(found.tables[j][usual, np.arange(3)])
        assert shares == pytest.approx(0.75 + 0.25 / k, abs=0.12)


def test_the_names_of_values_and_the_order_of_rows_do_not_matter(three_kinds):
    columns, n_levels, _, one = three_kinds
    rng = np.random.default_rng(1)
    rows = rng.permutation(N)
    renamed = [rng.permutation(k)[c[rows]] for c, k in zip(columns, n_levels, strict=True)]
    other = find_classes(renamed, n_levels, np.random.default_rng(0))
    assert other is not None
    labels = one.posteriors(columns).argmax(axis=1)[rows]
    assert adjusted_rand_score(labels, other.posteriors(renamed).argmax(axis=1)) > 0.97


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("made", [opinions, dependent])
def test_attitudes_and_dependent_columns_are_no_groups(made, seed):
    assert find_classes(*made(seed), np.random.default_rng(0)) is None


def test_empty_cells_say_nothing(three_kinds):
    columns, _, _, found = three_kinds
    nothing = [np.full(2, -1)] * len(columns)
    np.testing.assert_allclose(found.posteriors(nothing), np.tile(found.shares, (2, 1)))


def test_a_network_by_hand():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, 2000))
    answers = Answers.of([a, b, a ^ b], [2, 2, 2])
    # Neither alone says anything of the third: no pair is worth a parent, so that nothing is found.
    assert all(not family.parents for family in fit_network(answers).families)
    copied = Answers.of([a, b, a, np.where(b == 1, a, 1 - a)], [2, 2, 2, 2])
    bits = -fit_network(copied).log_likelihood(copied).mean() / np.log(2)
    assert bits == pytest.approx(3, abs=0.02)  # the copy is free
    some = np.where(rng.random(2000) < 0.2, -1, a)
    empty = Answers.of([some, b], [2, 2])
    assert -fit_network(empty).log_likelihood(empty).mean() / np.log(2) == pytest.approx(1.8, abs=0.05)


def test_an_empty_cell_of_a_parent_costs_parameters_where_there_are_some():
    rng = np.random.default_rng(0)
    parent, child = rng.integers(0, 3, 300), rng.integers(0, 3, 300)
    places = np.stack([child, parent], axis=1)
    assert n_parameters(places, 0, (), (3, 3)) == 2
    assert n_parameters(places, 0, (1,), (3, 3)) == 2 * 3
    places[:10, 1] = -1
    assert n_parameters(places, 0, (1,), (3, 3)) == 2 * 4


def test_a_trait_by_hand():
    columns, n_levels = opinions(0, n=2000)
    answers = Answers.of(columns, n_levels)
    independent = -sum(np.log2(np.bincount(c) / 2000) @ (np.bincount(c) / 2000) for c in columns)
    bits = -fit_traits(answers, 1).log_likelihood(answers).mean() / np.log(2)
    assert bits < independent - 1
    assert np.exp(fit_traits(answers, 2).log_shares).sum() == pytest.approx(1)


def test_one_class_is_every_column_on_its_own():
    columns, n_levels, _ = kinds(n=2000)
    answers = Answers.of(columns, n_levels)
    model = fit_classes(answers, 1, np.random.default_rng(0))
    np.testing.assert_allclose(np.exp(model.log_tables[0]), answers.shares(), atol=1e-3)


def test_columns_with_few_values():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "answer": rng.integers(1, 6, N),
            "word": rng.choice(["often", "never"], N),
            "person": rng.choice([f"p{i}" for i in range(40)], N),  # 15 rows of each
            "count": rng.poisson(40, N),
            "size": rng.normal(size=N),
            "only": np.where(rng.random(N) < 0.2, 3, np.nan),
        }
    )
    codec = Codec.fit(frame)
    p = len(codec.schema.numeric)
    found = few_valued(codec.read(frame), codec.schema, range(len(codec.used)), [])
    assert [codec.used[p + j].name for j in found.categorical] == ["word"]
    assert [codec.used[j].name for j in found.counted] == ["answer"]
    assert found.n_levels == [2, 5]
    np.testing.assert_array_equal(found.columns[1] + 1, frame["answer"])


@pytest.fixture(scope="module")
def survey():
    columns, _, kind = kinds(seed=1, n=400)
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({f"q{j}": c + 1 for j, c in enumerate(columns)})
    frame["q0"] = frame["q0"].map({1: "often", 2: "seldom", 3: "never"})
    frame["age"] = rng.normal(40, 10, len(frame)).round(1)
    return frame, kind


def test_mimosa_finds_groups_of_answers(survey, tmp_path):
    frame, kind = survey
    model = MIMOSA(random_state=0, n_jobs=1).fit(frame)
    assert model.candidates_[0]["finder"] == "classes"
    assert adjusted_rand_score(kind, model.labels_) > 0.9
    assert model.verdict_.startswith("3 groups of rows: ")
    model.save(tmp_path)
    again = MIMOSA.load(tmp_path)
    np.testing.assert_array_equal(again.predict(frame), model.labels_)
    learned = COFHAE(max_steps=20, random_state=0)
    learned.fit(frame, hierarchy=model.hierarchy_, paths=model.labels_)
    assert (learned.predict_path(frame) == model.labels_).mean() > 0.8


def test_answers_that_are_all_whole_numbers_say_the_group():
    columns, _, kind = kinds(seed=1, n=400)
    frame = pd.DataFrame({f"q{j}": c + 1.0 for j, c in enumerate(columns)})
    frame.loc[0, "q0"] = np.nan
    model = MIMOSA(random_state=0, n_jobs=1).fit(frame)
    assert model.table_.evidence == []  # no column of text
    assert adjusted_rand_score(kind, model.labels_) > 0.9
    np.testing.assert_array_equal(model.predict(frame), model.labels_)


def test_shuffled_answers_are_no_groups(survey):
    frame, _ = survey
    rng = np.random.default_rng(0)
    shuffled = pd.DataFrame({name: rng.permutation(values) for name, values in frame.items()})
    model = MIMOSA(random_state=0, n_jobs=1).fit(shuffled)
    assert len(model.hierarchy_.paths) == 1
