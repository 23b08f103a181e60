"""Why a tree branches: `reasons.py`, `explanation.py`, `columns.py`, `facts.py`, `rules.py`, `leaves.py`,
`sentences.py`, `formatting.py` and `constants.py`."""

import json

import numpy as np
import pandas as pd
import pytest

from disentree import MIMOSA, Hierarchy
from disentree.datasets import load_dataset
from disentree.mimosa.explain.columns import choose_rows, read_columns
from disentree.mimosa.explain.constants import EXPLAIN
from disentree.mimosa.explain.explanation import Explanation
from disentree.mimosa.explain.formatting import number_text, percent, round_between
from disentree.mimosa.explain.reasons import explain_tree

TWO = Hierarchy.from_dict(
    {
        "variables": [
            {"kind": "continuous", "name": "z1"},
            {
                "kind": "categorical",
                "name": "c1",
                "options": [
                    {"name": "stop", "variables": []},
                    {"name": "branch1", "variables": [{"kind": "continuous", "name": "z2"}]},
                ],
            },
        ]
    }
)


def houses(n: int = 300) -> tuple[pd.DataFrame, np.ndarray]:
    """Houses, a third of which have no garage, with what is known of each."""
    rng = np.random.default_rng(0)
    labels = (np.arange(n) % 3 > 0).astype(int)
    ground, upper = rng.integers(50, 120, n), rng.integers(20, 60, n)
    frame = pd.DataFrame(
        {
            "ground": ground,
            "upper": upper,
            "area": ground + upper,
            "garage": np.where(labels, rng.uniform(10, 40, n).round(1), np.nan),
            "door": np.where(labels, rng.choice(["left", "right"], n), None),
            "year": np.where(labels, rng.integers(1960, 2020, n), rng.integers(1900, 1975, n)),
        }
    )
    return frame, labels


def split_of(found: Explanation, option: str) -> dict:
    return next(split for split in found.splits if split["option"] == option)


class TestSentences:
    def test_what_is_empty_is_told_first_and_names_the_branch(self):
        frame, labels = houses()
        none, some = explain_tree(frame, TWO, labels).splits
        assert none["text"].startswith(
            "garage is empty: all of this group, and no other row; garage and door are empty in"
        )
        assert none["name"] == "garage is empty"
        assert none["rows"] == 100
        assert none["share"] == pytest.approx(1 / 3)
        assert some["name"] == "door has a value"
        assert none["rule"]["text"] == "garage is empty"
        assert (none["rule"]["recall"], none["rule"]["precision"]) == (1.0, 1.0)
        assert none["rule"]["rows"] == pytest.approx(100, abs=2)

    def test_shares_are_those_of_rows_that_were_not_looked_at(self):
        """Of 2,000 columns of noise some differ by chance among 40 rows; none of that is told."""
        rng = np.random.default_rng(1)
        found = explain_tree(rng.normal(size=(40, 2000)), TWO, np.arange(40) % 2)
        assert [split["text"] for split in found.splits] == [
            "No column by itself tells these rows from the others."
        ] * 2
        assert [split["rule"] for split in found.splits] == [None, None]

    def test_a_difference_is_told_with_its_shares(self):
        rng = np.random.default_rng(0)
        labels = np.repeat([0, 1], 3000)
        X = rng.normal(size=(6000, 3))
        X[labels == 1, 1] += 4.0
        found = split_of(explain_tree(X, TWO, labels, ["p", "q", "r"]), "branch1")
        assert found["columns"] == ["q"]
        assert found["text"] == "q > 2: 98 % of this group, and 97 % of the rows that match are in it."
        assert found["rule"]["recall"] == pytest.approx(0.977, abs=0.01)
        assert found["rule"]["precision"] == pytest.approx(0.977, abs=0.01)

    def test_two_questions_where_one_is_not_enough(self):
        rng = np.random.default_rng(0)
        X = rng.uniform(size=(3000, 4))
        labels = ((X[:, 1] > 0.6) & (X[:, 2] > 0.5)).astype(int)
        rule = split_of(explain_tree(X, TWO, labels), "branch1")["rule"]
        assert rule["text"] in ("x3 > 0.5 and x2 > 0.6", "x2 > 0.6 and x3 > 0.5")
        assert min(rule["recall"], rule["precision"]) > 0.99

    def test_categories(self):
        rng = np.random.default_rng(0)
        labels = np.arange(600) % 2
        kinds = np.where(labels == 1, rng.choice(["hen", "duck"], 600), rng.choice(["cat", "dog"], 600))
        frame = pd.DataFrame({"kind": kinds, "weight": rng.normal(size=600)})
        found = split_of(explain_tree(frame, TWO, labels), "branch1")
        assert found["text"] == "kind is duck or hen: all of this group, and no other row."
        assert found["rule"]["precision"] == 1.0

    def test_constants_are_read_when_they_are_needed(self, monkeypatch):
        rng = np.random.default_rng(0)
        labels = np.arange(600) % 2
        X = rng.normal(size=(600, 2)) + labels[:, None] * [4.0, 0.0]
        assert explain_tree(X, TWO, labels).splits[0]["columns"] == ["x1"]
        monkeypatch.setitem(EXPLAIN.__dict__, "contrast", 1.01)
        assert explain_tree(X, TWO, labels).splits[0]["columns"] == []

    def test_dates(self):
        labels = np.arange(400) % 2
        days = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(400) + 1000 * labels, unit="D")
        found = split_of(
            explain_tree(pd.DataFrame({"day": days, "x": np.arange(400.0) % 7}), TWO, labels), "branch1"
        )
        assert found["text"].startswith("day after 202")


class TestLeaves:
    def test_what_follows_and_what_is_free(self):
        rng = np.random.default_rng(0)
        a, c = rng.uniform(1, 2, (2, 200)).round(3)
        X = np.stack([a, a, c, np.full(200, 90.0)], axis=1)
        leaf = explain_tree(X, Hierarchy.flat(2), np.zeros(200, int), ["a", "b", "c", "angle"]).leaves[0]
        assert leaf["text"] == "2 free directions: a and c vary freely; a = b; angle = 90."
        assert leaf["columns"] == ["a", "c"]
        assert leaf["dimension"] == 2
        assert leaf["name"] == "all rows"

    def test_fewer_directions_than_columns(self):
        rng = np.random.default_rng(0)
        t = rng.normal(size=(500, 2))
        X = np.stack([t[:, 0], t[:, 1], t[:, 0] + 0.3 * t[:, 1], t[:, 0] - 0.3 * t[:, 1]], axis=1)
        X += 0.01 * rng.normal(size=X.shape)
        leaf = explain_tree(X, Hierarchy.flat(2), np.zeros(500, int)).leaves[0]
        assert leaf["text"] == "2 free directions among 4 columns of numbers, best told by x1 and x2."


@pytest.fixture(scope="module")
def found():
    frame, labels = houses()
    return explain_tree(frame, TWO, labels).to_dict()


class TestSame:
    """What a tree is explained by does not depend on how the rows came."""

    def test_order_of_rows(self, found):
        frame, labels = houses()
        order = np.random.default_rng(5).permutation(len(frame))
        shuffled = explain_tree(frame.iloc[order].reset_index(drop=True), TWO, labels[order])
        assert shuffled.to_dict() == found

    def test_order_of_columns(self, found):
        frame, labels = houses()
        other = explain_tree(frame[frame.columns[::-1]], TWO, labels).to_dict()
        for mine, theirs in zip(other["splits"], found["splits"], strict=True):
            assert set(mine["columns"]) == set(theirs["columns"])
            assert {k: v for k, v in mine["rule"].items() if k != "text"} == {
                k: v for k, v in theirs["rule"].items() if k != "text"
            }
            assert sorted(mine["text"].replace(".", "").replace(";", "").split()) == sorted(
                theirs["text"].replace(".", "").replace(";", "").split()
            )

    def test_units_of_a_column_change_its_numbers_only(self, found):
        frame, labels = houses()
        other = explain_tree(frame.assign(garage=frame["garage"] * 1000), TWO, labels).to_dict()
        assert [s["text"] for s in other["splits"]] == [s["text"] for s in found["splits"]]
        other = explain_tree(frame.assign(year=frame["year"] * 100), TWO, labels).to_dict()
        for mine, theirs in zip(other["splits"], found["splits"], strict=True):
            assert mine["rule"] == theirs["rule"]
            assert mine["columns"] == theirs["columns"]
            shares = [text.partition("(")[2] for text in (mine["text"], theirs["text"])]
            assert shares[0] == shares[1]


class TestHeldOut:
    def test_a_third_of_each_path_and_equal_rows_together(self):
        rng = np.random.default_rng(0)
        X = rng.integers(0, 40, (900, 1)).astype(float)
        labels = np.arange(900) % 3
        rows, held = choose_rows(read_columns(X), labels)
        assert sorted(rows) == list(range(900))
        for path in range(3):
            assert held[labels[rows] == path].mean() == pytest.approx(1 / 3, abs=0.15)
            inside = rows[labels[rows] == path]
            sides = {}
            for row, out in zip(inside, held[labels[rows] == path], strict=True):
                assert sides.setdefault(X[row, 0], out) == out

    def test_rare_paths_stay_when_rows_are_many(self):
        labels = np.zeros(5000, int)
        labels[:40] = 1
        rows, _ = choose_rows(read_columns(np.random.default_rng(0).normal(size=(5000, 2))), labels, most=1000)
        assert len(rows) < 1200
        assert (labels[rows] == 1).sum() == 40

    def test_rows_without_a_path_are_left_out(self):
        rows, held = choose_rows(read_columns(np.arange(30.0)[:, None]), np.full(30, -1))
        assert len(rows) == len(held) == 0


class TestOfAnEstimator:
    def test_rows_of_the_training_or_given_ones(self, tmp_path):
        ds = load_dataset("chopsticks-depth2-inter", n_samples=400, seed=0)
        model = MIMOSA(random_state=0).fit(ds.X)
        found = model.explain()
        assert found.splits[0]["relations"] == ["x1 = x2 = ... = x64"]
        assert [s["name"] for s in found.splits] == ["stop", "branch1"], "columns without names give none"
        model.save(tmp_path)
        loaded = MIMOSA.load(tmp_path)
        with pytest.raises(ValueError, match="has no rows: give X"):
            loaded.explain()
        assert loaded.explain(ds.X).to_dict() == found.to_dict()

    def test_images_have_no_columns(self):
        model = MIMOSA(representation="linear").fit(np.random.default_rng(0).normal(size=(60, 4, 4)))
        with pytest.raises(ValueError, match="images have none"):
            model.explain()

    def test_one_cloud(self):
        model = MIMOSA(random_state=0).fit(load_dataset("gaussian", n_samples=300, seed=0).X)
        found = model.explain()
        assert found.splits == []
        assert "All rows\n    10 free directions" in str(found)


class TestReading:
    def test_text_and_html(self):
        frame, labels = houses()
        found = explain_tree(frame.rename(columns={"garage": "<b>"}), TWO, labels)
        text = str(found)
        assert "<b> is empty: 100 rows (33.3%)" in text
        assert "<b> is empty: all of this group, and no other row; " in text
        assert "area = ground + upper" in text
        html = found._repr_html_()
        assert "&lt;b&gt; is empty" in html
        assert "<b></b>" not in html

    def test_json(self):
        frame, labels = houses()
        found = explain_tree(frame, TWO, labels)
        again = Explanation.from_dict(json.loads(json.dumps(found.to_dict())))
        assert str(again) == str(found)

    def test_bad_labels(self):
        with pytest.raises(ValueError, match="one path for each of 3 rows"):
            explain_tree(np.zeros((3, 1)), TWO, [0, 1])
        with pytest.raises(ValueError, match="below 2"):
            explain_tree(np.zeros((3, 1)), TWO, [0, 1, 2])
        with pytest.raises(ValueError, match="2 names"):
            explain_tree(np.zeros((3, 2)), TWO, [0, 1, 1], ["a"])

    @pytest.mark.parametrize(
        ("low", "high", "wanted"),
        [(205.3, 207.1, 206.0), (0.0, 3.0, 0.0), (-1.0, 2.0, 0.0), (203.0, 211.0, 210.0), (-7.8, -7.2, -7.5)],
    )
    def test_round_numbers(self, low, high, wanted):
        found = round_between(low, high)
        assert low <= found < high
        if wanted != -7.5:
            assert found == wanted

    def test_words_for_shares_and_numbers(self):
        assert [percent(p) for p in (1.0, 0.9999, 0.994, 0.5, 0.004, 1e-5, 0.0)] == [
            "all", "nearly all", "99.4 %", "50 %", "0.4 %", "almost none", "none",
        ]  # fmt: skip
        assert [number_text(v) for v in (1950.0, 0.1 + 0.2, 1e-7, 123456.7, -0.0)] == [
            "1950", "0.3", "1e-07", "123457", "0",
        ]  # fmt: skip
