"""Independent choices, each with its own reason and its own support: `factors.py`."""

import re

import numpy as np
import pandas as pd

from disentree import MIMOSA, Hierarchy
from disentree.datasets import load_dataset
from disentree.mimosa.explain.explanation import Explanation
from disentree.mimosa.explain.factors import factor_columns, factor_likeness
from disentree.mimosa.explain.reasons import explain_tree
from disentree.mimosa.stability.comparing import Found, compare
from disentree.mimosa.stability.stability import Stability
from disentree.mimosa.summary.summary import summarize


def switch(name, n):
    line = {"kind": "continuous"}
    options = [{"name": "off", "variables": []}, {"name": "on", "variables": [line] * n}]
    return {"kind": "categorical", "name": name, "options": options}


def product(*names):
    return Hierarchy.from_dict({"variables": [switch(name, i + 1) for i, name in enumerate(names)]})


TWO = product("deck", "pool")
# Sixteen rows, four in each of off off, off on, on off, on on.
LABELS = np.repeat(np.arange(4), 4)


def rows_by_path(first, second, n, m):
    both = np.zeros((n, m))
    np.add.at(both, (first, second), 1)
    return both


def test_only_choices_beside_each_other_are_factors():
    assert factor_columns(TWO) == [0, 2]
    assert factor_columns(product("deck")) == []
    assert factor_columns(TWO.unrolled()) == []


def test_a_factor_is_known_by_its_rows_whatever_it_is_called_and_wherever_it_stands():
    other = Hierarchy.from_dict({"variables": [switch("b", 2), switch("a", 1)]})  # pool first
    moved = np.array([0, 2, 1, 3])[LABELS]
    assert factor_likeness(TWO, other, rows_by_path(LABELS, moved, 4, 4)) == [1, 1]
    # In the unrolled tree deck is there as a whole, pool in two halves.
    assert factor_likeness(TWO, TWO.unrolled(), rows_by_path(LABELS, LABELS, 4, 4)) == [1, 0.5]


def test_likeness_is_that_of_the_least_alike_options():
    again = LABELS.copy()
    again[LABELS == 3] = [3, 3, 1, 1]  # two rows with both are said to have no deck
    # deck: off has 10 rows there, 8 here, 8 in common; on has 6 and 8, 6 in common
    assert factor_likeness(TWO, TWO, rows_by_path(LABELS, again, 4, 4)) == [6 / 8, 1]
    one = Hierarchy.flat(1, (4,))  # leaves side by side: each option of a switch is half of two of them
    assert factor_likeness(TWO, one, rows_by_path(LABELS, LABELS, 4, 4)) == [0.5, 0.5]
    nothing = Hierarchy.flat(3)
    assert factor_likeness(TWO, nothing, rows_by_path(LABELS, np.zeros(16, int), 4, 1)) == [0, 0]


def test_support_of_factors_counts_resamples():
    found = Found(TWO, LABELS, [None] * 4)
    without_pool = Found(product("deck"), LABELS // 2, [None] * 2)
    records = [compare(found, found), compare(found, without_pool)]
    result = Stability.from_records(found, records, 0.5)
    assert result.factors == [{"name": "deck", "support": 1.0}, {"name": "pool", "support": 0.5}]
    assert result.support.tolist() == [0.5] * 4  # leaves came back once
    assert result.to_dict()["factors"] == result.factors
    assert result.verdict == "Every choice came back in at least 50% of 2 resamples of the rows."
    assert "pool: came back in 50% of resamples" in str(result)
    told = summarize(TWO, LABELS, stability=result.to_dict())
    assert "every choice but" not in told.sentences[-1]
    assert [one.support for one in told.root.divisions] == [f["support"] for f in result.to_dict()["factors"]]


def test_rare_combinations_do_not_make_another_product():
    labels = np.concatenate([np.repeat([0, 1, 2], 20), [3]])
    again = labels.copy()
    again[-1] = 1  # the only row with both
    found = Found(TWO, labels, [None] * 4)
    assert compare(found, Found(TWO, again, [None] * 4))["same_tree"] is True
    wider = product("pool", "deck", "shed")  # a choice more, that no row uses
    assert compare(found, Found(wider, 2 * labels, [None] * 8))["same_tree"] is False
    assert compare(found, Found(product("deck"), labels // 2, [None] * 2))["same_tree"] is False


def test_a_factor_of_which_a_resample_has_one_option_does_not_count():
    found = Found(TWO, np.array([0, 0, 1, 1]), [None] * 4)
    record = compare(found, found)
    assert record["factors"] == [None, 1.0]
    result = Stability.from_records(found, [record], 0.5)
    assert np.isnan(result.factors[0]["support"])
    assert result.to_dict()["factors"][0]["support"] is None
    assert result.verdict == "Every choice came back in at least 100% of 1 resample of the rows."


def test_a_tree_has_no_factors():
    found = Found(product("deck"), np.array([0, 0, 1, 1]), [None] * 2)
    assert Stability.from_records(found, [compare(found, found)], 0.5).factors == []


def test_each_factor_has_its_own_reason():
    """Which rows have a deck does not depend on which have a pool, and the reasons do not mix."""
    rng = np.random.default_rng(0)
    deck, pool = rng.random(600) < 0.5, rng.random(600) < 0.3
    frame = pd.DataFrame(
        {
            "area": rng.normal(1500, 300, 600),
            "deck": np.where(deck, rng.normal(200, 40, 600), 0.0),
            "pool": np.where(pool, rng.normal(50, 5, 600), 0.0),
        }
    )
    found = explain_tree(frame, TWO, 2 * deck.astype(int) + pool)
    assert [f["name"] for f in found.factors] == ["deck", "pool"]
    assert [f["columns"] for f in found.factors] == [["deck"], ["pool"]]
    assert [f["variables"] for f in found.factors] == [[0, 1], [0, 2]]
    text = found.factors[1]["text"]
    assert text.startswith("pool, beside 1 other choice: ")
    assert text.endswith("adds 2 variables.")
    assert f"({pool.mean():.1%})" in text
    lines = str(found).splitlines()
    assert lines.index(found.factors[0]["text"]) < lines.index(text)
    assert Explanation.from_dict(found.to_dict()) == found
    assert explain_tree(frame, product("deck"), deck.astype(int)).factors == []


def test_a_choice_that_no_column_tells_is_told_by_what_varies():
    """By hand: where on, y has nine times the variance that it has where off, and x the same."""
    rng = np.random.default_rng(0)
    one, other = rng.random(3000) < 0.5, rng.random(3000) < 0.5
    x, y = rng.normal(size=3000) * np.where(other, 2.0, 1.0), rng.normal(size=3000) * np.where(one, 3.0, 1.0)
    found = explain_tree(np.column_stack([x, y]), TWO, 2 * one.astype(int) + other)
    assert [f["columns"] for f in found.factors] == [["x2"], ["x1"]]
    assert re.search(
        r"Where on, these vary more: x2 \((8|9)\.\d times the variance\)\.$", found.factors[0]["text"]
    )
    assert found.factors[0]["text"].endswith(found.factors[0]["reason"])
    assert {leaf["name"] for leaf in found.leaves} == {
        f"deck = {d}, pool = {p}" for d in ("off", "on") for p in ("off", "on")
    }


def test_switches_are_named_by_their_reasons_unless_someone_has_named_them():
    rng = np.random.default_rng(0)
    deck, pool = rng.random(600) < 0.5, rng.random(600) < 0.3
    size = {
        "deck": np.where(deck, rng.normal(200, 40, 600), 0.0),
        "pool": np.where(pool, rng.normal(50, 5, 600), 0),
    }
    frame = pd.DataFrame({"area": rng.normal(1500, 300, 600), **size})
    names = explain_tree(frame, product("c1", "c2"), 2 * deck.astype(int) + pool).names
    assert names["options"]["c1"] == {"off": "deck = 0", "on": "deck > 0"}
    assert names["variables"] == {"c1": "by deck", "c2": "by pool"}
    kept = explain_tree(frame, TWO, 2 * deck.astype(int) + pool).names
    assert kept["options"]["deck"] == {"off": "off", "on": "on"}


def test_a_fitted_product_tells_its_factors():
    model = MIMOSA(random_state=0, n_jobs=1).fit(load_dataset("product-2", n_samples=3000, seed=0).X)
    result = model.stability(2)
    assert [f["support"] for f in result.factors] == [1.0, 1.0]
    assert [f["name"] for f in result.factors] == [f["name"] for f in model.factors_]
    first, *_, last = model.summary_.sentences
    assert first.startswith("2 yes/no properties of a row, independent of each other: ")
    assert last == "This is beyond chance, and every choice came back in at least 100% of 2 resamples of the rows."
