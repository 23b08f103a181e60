"""Trees of tables with columns of any kind: `model.py`, `fit.py`, `scoring.py`, `dimension.py`,
`imputation.py`, `evidence.py`, `presence_bits.py`, and MIMOSA on data frames."""

import numpy as np
import pandas as pd
import pytest

from disentree import MIMOSA
from disentree.datasets import load_dataset
from disentree.mimosa.mixed.dimension import shared_dimension
from disentree.mimosa.mixed.fit import read_columns
from disentree.mimosa.mixed.imputation import fit_imputation
from disentree.tables import Codec

N = 600


def ships(seed=0, n=N):
    """A table in which the shape of a thing decides what else can be said about it."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, n)
    value = {name: rng.random(n) for name in ("x", "phase", "shine", "angle", "jet")}
    has_jet = (kind == 2) & (rng.random(n) < 0.5)
    return pd.DataFrame(
        {
            "shape": np.array(["moon", "star", "ship"])[kind],
            "x": value["x"],
            "phase": np.where(kind == 0, value["phase"], np.nan),
            "shine": np.where(kind == 1, value["shine"], np.nan),
            "angle": np.where(kind == 2, value["angle"], np.nan),
            "jet": np.where(has_jet, value["jet"], np.nan),
        }
    )


@pytest.fixture(scope="module")
def fitted():
    frame = ships()
    return frame, MIMOSA().fit(frame)


def test_a_column_that_decides_what_exists_is_the_branch(fitted):
    frame, m = fitted
    assert str(m.plain_hierarchy_) == (
        "○ z1\n◇ shape\n├── moon\n│   └── ○ phase 1\n├── ship\n│   ├── ○ angle 1\n│   └── ◇ jet\n"
        "│       ├── no ∅\n│       └── yes\n│           └── ○ jet 1\n└── star\n    └── ○ shine 1"
    )
    assert "no jet" in str(m.hierarchy_)
    names = np.array([path.name for path in m.plain_hierarchy_.paths])[m.labels_]
    expected = "shape=" + frame["shape"] + np.where(frame["jet"].notna(), "/jet=yes", "")
    expected += np.where((frame["shape"] == "ship") & frame["jet"].isna(), "/jet=no", "")
    assert (names == expected).all()
    assert m.saved_bits_ > 1


def test_proposals_are_compared_in_the_same_cells(fitted):
    """With the branches or without: no row of the table mixes the two, and what has fewer bits has a reason."""
    _, m = fitted
    chosen, *others = m.candidates_
    assert chosen["branches"] == len(m.table_.branches)
    assert chosen["bits"] == m.description_length_
    plain = [row for row in others if row["finder"] in ("gaussian", "ppca", "margins")]
    assert chosen["finder"] in [row["finder"] for row in plain]  # without the branches
    assert {row["branches"] for row in plain} == {0}
    assert min(row["bits"] for row in plain) - chosen["bits"] == pytest.approx(m.saved_bits_)
    assert [row["bits"] for row in others] == sorted(row["bits"] for row in others)
    assert all(bool(row["why_not"]) == (row["bits"] < chosen["bits"]) for row in others)
    assert m.summary_.footnote.partition("Runner-up: ")[2].startswith(
        ("1 branch by what", "2 branches by what", f"{others[0]['finder']}, without branches")
    )


def test_leaves_that_repeat_what_exists_say_why_they_were_not_chosen():
    rng = np.random.default_rng(4)
    n = 600
    second = rng.random(n) < 0.5
    ground, upper = rng.uniform(50, 150, n), np.where(second, rng.uniform(30, 100, n), np.nan)
    total = ground + np.nan_to_num(upper)
    m = MIMOSA().fit(pd.DataFrame({"ground": ground, "upper": upper, "total": total, "age": rng.normal(size=n)}))
    chosen, *others = m.candidates_
    fewer = [row for row in others if row["bits"] < chosen["bits"]]
    assert fewer
    assert {row["why_not"] for row in fewer} == {"its groups only repeat what exists where"}
    assert "not chosen, since its groups only repeat what exists where" in m.summary_.footnote


def test_rows_get_to_their_paths(fitted):
    frame, m = fitted
    new = ships(1)
    proba = m.predict_proba(new)
    assert proba.shape == (N, len(m.hierarchy_.paths))
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert (m.predict(frame) == m.labels_).all()
    unknown = new.assign(shape=None)  # what exists says it
    assert (m.predict(unknown) == m.predict(new)).all()
    with pytest.raises(ValueError, match="no column 'x'"):
        m.predict(new.drop(columns="x"))


def test_the_order_of_rows_and_columns_does_not_matter(fitted):
    frame, m = fitted
    order = np.random.default_rng(1).permutation(N)
    other = MIMOSA().fit(frame.iloc[order][frame.columns[::-1]])
    assert other.hierarchy_.canonical() == m.hierarchy_.canonical()
    names = [np.array([p.name for p in one.hierarchy_.paths])[one.labels_] for one in (m, other)]
    assert [set(name.split("/")) for name in names[0][order]] == [set(name.split("/")) for name in names[1]]


def test_strange_rows_of_a_table_stand_out(fitted):
    frame, m = fitted
    assert abs(m.outlier_score(frame).mean()) < 1e-9
    assert m.outlier_score(frame.assign(x=50.0)).min() > 10


def test_a_model_of_a_table_can_be_saved(fitted, tmp_path):
    frame, m = fitted
    m.save(tmp_path)
    again = MIMOSA.load(tmp_path)
    np.testing.assert_array_equal(again.predict_proba(frame), m.predict_proba(frame))
    assert again.summary() == m.summary()


def test_cells_that_are_empty_by_accident_are_no_branch():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(N, 4)) @ rng.normal(size=(4, 4)), columns=list("abcd"))
    frame = frame.mask(rng.random(frame.shape) < [0.02, 0.1, 0.3, 0.4])
    m = MIMOSA().fit(frame)
    assert len(m.hierarchy_.paths) == 1
    assert m.saved_bits_ == 0
    assert {column.empty for column in m.table_.codec.schema.columns} == {"random"}
    assert m.summary().startswith("No structure found")


@pytest.mark.parametrize("n_categories", [1, 3])
def test_tables_of_categories_only(n_categories):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"c{i}": rng.choice(list("xyz"), N) for i in range(n_categories)})
    m = MIMOSA().fit(frame)
    assert len(m.hierarchy_.paths) == 1
    assert m.saved_bits_ == 0


def test_nothing_that_can_be_used():
    frame = pd.DataFrame({"name": [f"row {i}" for i in range(50)], "one": 1, "none": None})
    with pytest.raises(ValueError, match="no column that can be used"):
        MIMOSA().fit(frame)


def test_penguins_with_text_and_empty_cells():
    ds = load_dataset("penguins")
    m = MIMOSA().fit(ds.X)
    from sklearn.metrics import adjusted_rand_score

    assert adjusted_rand_score(ds.paths, m.labels_) > 0.9
    assert len(m.hierarchy_.paths) == 3


def test_left_out_columns_do_not_change_what_numbers_say():
    ds = load_dataset("chopsticks-depth2-slope", n_samples=1000, seed=3)
    frame = pd.DataFrame(np.asarray(ds.X), columns=[f"x{i}" for i in range(ds.X.shape[1])])
    m = MIMOSA().fit(frame.assign(name=[f"row {i}" for i in range(1000)]))
    plain = MIMOSA().fit(frame)
    assert (m.labels_ == plain.labels_).all()
    assert m.hierarchy_ == plain.hierarchy_


def pixels(seed: int = 0, n: int = 200) -> pd.DataFrame:
    """Two kinds of small images in whole numbers that are often zero; a corner has two values."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 2, n)
    X = (rng.uniform(0, 30, (2, 5))[kind] + rng.normal(0, 4, (n, 5)) - 8).clip(0, 16).round()
    X[:, 0] = rng.random(n) < 0.1
    return pd.DataFrame(X, columns=list("abcde"))


def test_a_frame_of_numbers_is_an_array():
    assert Codec.fit(pixels()).schema.is_plain
    frame = pd.DataFrame(np.random.default_rng(0).poisson([0.1, 1, 6], (200, 3)))
    frame[0] = frame[0].clip(0, 1)
    as_frame, as_array = MIMOSA(n_jobs=1).fit(frame), MIMOSA(n_jobs=1).fit(frame.to_numpy())
    assert as_frame.table_ is None
    np.testing.assert_array_equal(as_frame.labels_, as_array.labels_)
    assert as_frame.plain_hierarchy_ == as_array.plain_hierarchy_


def test_zeros_at_the_end_of_a_range_are_no_branches():
    frame = pixels(n=N)
    assert (frame.nunique() > 10).sum() == 4
    assert (frame == 0).mean().max() > 0.4
    frame["place"] = np.random.default_rng(0).choice(list("abc"), N)
    codec = Codec.fit(frame)
    assert read_columns(frame, codec, np.random.default_rng(0)).presence.switches == []


def test_imputation_by_hand():
    rng = np.random.default_rng(0)
    x = rng.normal(size=4000)
    X = np.stack([x, 2 * x + 1], axis=1)
    X[::4, 1] = np.nan
    imputation = fit_imputation(X)
    np.testing.assert_allclose(imputation(X)[::4, 1], 2 * X[::4, 0] + 1, atol=0.01)
    np.testing.assert_allclose(imputation.mean, [x.mean(), 2 * x.mean() + 1], atol=0.01)


def test_shared_dimensions_by_hand():
    rng = np.random.default_rng(0)
    F = rng.normal(size=(2000, 2))
    columns = [F[:, [i % 2]] + 0.3 * rng.normal(size=(2000, 1)) for i in range(6)]
    assert shared_dimension(columns, rng) == 2
    assert shared_dimension(columns[:1], rng) == 1
    assert shared_dimension([], rng) == 0
