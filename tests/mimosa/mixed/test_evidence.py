"""What cells show: of the leaf, of what exists, and of how strange a row is."""

import numpy as np
import pandas as pd
import pytest

from disentree import MIMOSA

N = 600


def homes(seed=1):
    """Houses have gardens, flats do not."""
    rng = np.random.default_rng(seed)
    house = rng.random(N) < 0.5
    area = np.where(house, rng.normal(150, 20, N), rng.normal(80, 15, N))
    return pd.DataFrame(
        {
            "cat": np.where(house, "house", "flat"),
            "area": area,
            "garden": np.where(house, rng.uniform(50, 500, N), np.nan),
            "lift": rng.random(N) < 0.3,
            "built": pd.Timestamp("1990-01-01") + pd.to_timedelta(rng.integers(0, 9000, N), unit="D"),
        }
    )


@pytest.fixture(scope="module")
def fitted():
    frame = homes()
    return frame, MIMOSA(n_jobs=1).fit(frame)


def one(frame, cat):
    return frame[frame["cat"] == cat].head(1)


def leaf(m, row):
    return m.place(row).iloc[0]


def test_ordinary_rows_are_certain_and_not_strange(fitted):
    frame, m = fitted
    placed = m.place(frame)
    assert (placed["probability"] > 0.99).all()
    assert abs(placed["strange"].mean()) < 1e-9
    assert (placed["strange"] > m.strange_from_).sum() == 1  # one in a thousand, rounded up
    assert frame["garden"].notna().eq(placed["path"] == leaf(m, one(frame, "house"))["path"]).all()


@pytest.mark.parametrize("cat", ["HOUSE", "castle", None])
def test_a_garden_shows_a_house_whatever_the_category_says(fitted, cat):
    frame, m = fitted
    house = one(frame, "house")
    usual, now = leaf(m, house), leaf(m, house.assign(cat=cat))
    assert now["path"] == usual["path"]
    assert np.isfinite(m.transform(house.assign(cat=cat))).sum() == np.isfinite(m.transform(house)).sum()
    assert now["strange"] > usual["strange"] + 5
    assert now["strange"] > m.strange_from_


@pytest.mark.parametrize(
    ("cat", "changed"), [("house", {"cat": "flat"}), ("house", {"garden": np.nan}), ("flat", {"garden": 100.0})]
)
def test_a_contradiction_lowers_the_probability_and_raises_the_score(fitted, cat, changed):
    frame, m = fitted
    row = one(frame, cat)
    usual, now = leaf(m, row), leaf(m, row.assign(**changed))
    assert now["probability"] < 0.9
    assert now["strange"] > usual["strange"] + 5


@pytest.mark.parametrize("column", ["area", "garden"])
def test_the_score_saturates_nowhere(fitted, column):
    frame, m = fitted
    row = one(frame, "house")
    values = [row[column].iloc[0], 1e4, 1e9, 1e12, 1e50, 1e160, 1e200, 1e300, 1.7e308]
    for sign in (1, -1):
        scores = [leaf(m, row.assign(**{column: sign * value}))["strange"] for value in values[1:]]
        assert np.isfinite(scores).all()
        assert (np.diff([leaf(m, row)["strange"], *scores]) > 0).all()
        proba = m.predict_proba(row.assign(**{column: sign * 1e200}))
        np.testing.assert_allclose(proba.sum(axis=1), 1)


@pytest.mark.parametrize(
    "changed",
    [{"lift": 7}, {"lift": "yes"}, {"lift": None}, {"area": np.nan}, {"built": pd.NaT},
     {"built": pd.Timestamp("2200-01-01")}],
)  # fmt: skip
def test_every_column_counts(fitted, changed):
    frame, m = fitted
    for cat in ("house", "flat"):
        row = one(frame, cat)
        with_change = row.astype({"lift": object}).assign(**changed)
        assert m.outlier_score(with_change)[0] > m.outlier_score(row)[0] + 3


def test_numbers_are_no_dates(fitted):
    frame, m = fitted
    with pytest.raises(ValueError, match="column 'built' must hold dates, as it did before"):
        m.place(frame.head(2).assign(built=5))
    m.place(frame.head(2).assign(built=np.nan))  # empty cells are no numbers


def test_rows_off_the_plane_of_an_array_are_strange():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, N))
    X = np.column_stack([a, b, a + b, np.full(N, 3.0)])
    m = MIMOSA(n_jobs=1).fit(X)
    row = X[:1]
    assert abs(m.outlier_score(X).mean()) < 1
    for column, value in ((2, row[0, 2] + 1), (3, 4.0), (2, 1e9), (3, 1e200)):
        other = row.copy()
        other[0, column] = value
        assert m.outlier_score(other)[0] > m.outlier_score(row)[0] + 10
    rising = [m.outlier_score(row + 10.0**k * np.array([0, 0, 1, 0]))[0] for k in (0, 9, 100, 160, 300)]
    assert (np.diff(rising) > 0).all()
    assert np.isfinite(rising).all()


def test_saved_models_say_the_same(fitted, tmp_path):
    frame, m = fitted
    m.save(tmp_path)
    odd = frame.head(20).assign(cat="castle", garden=1e9)
    pd.testing.assert_frame_equal(MIMOSA.load(tmp_path).place(odd), m.place(odd))
