"""Every share that is quoted beside a rule is that of the rule as it is printed."""

import re

import numpy as np
import pandas as pd
import pytest

from disentree import Hierarchy
from disentree.mimosa.explain.columns import choose_rows, read_columns
from disentree.mimosa.explain.constants import EXPLAIN
from disentree.mimosa.explain.formatting import percent, rule_shares
from disentree.mimosa.explain.reasons import explain_tree


def matches(frame: pd.DataFrame, text: str) -> np.ndarray:
    """The rows for which a printed rule holds."""
    parts = [
        np.logical_and.reduce([condition(frame, one) for one in part.split(" and ")])
        for part in text.split("; or ")
    ]
    return np.logical_or.reduce(parts)


def condition(frame: pd.DataFrame, text: str) -> np.ndarray:
    if found := re.fullmatch(r"(\S+) < (\w+) ≤ (\S+)", text):
        low, name, high = found.groups()
        return ((frame[name] > float(low)) & (frame[name] <= float(high))).to_numpy()
    or_empty = text.endswith(" or empty")
    text = text.removesuffix(" or empty")
    name, _, rest = text.partition(" ")
    column = frame[name]
    if rest in ("is empty", "has a value"):
        return (column.isna() if rest == "is empty" else column.notna()).to_numpy()
    if rest.startswith("is not "):
        return (column != rest.removeprefix("is not ")).to_numpy()
    if rest.startswith("is "):
        return column.isin(re.split(r", | or ", rest.removeprefix("is "))).to_numpy()
    sign, value = rest.split(" ")
    compare = {">": column.gt, "≤": column.le, "=": column.eq}[sign]
    return (compare(float(value)) | (column.isna() & or_empty)).to_numpy()


def table(seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Groups of very different sizes that overlap more or less, in numbers, categories and empty cells."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(300, 3000)), int(rng.integers(2, 5))
    labels = rng.choice(k, n, p=rng.dirichlet(np.full(k, 1.5)))
    centers = rng.normal(size=(k, 3)) * rng.uniform(0.5, 4)
    frame = pd.DataFrame(rng.normal(size=(n, 3)) + centers[labels], columns=["wide", "tall", "deep"]).round(2)
    shares = rng.dirichlet(np.full(4, 0.5), size=k)
    frame["kind"] = [rng.choice(["ash", "elm", "oak", "fir"], p=shares[label]) for label in labels]
    frame["age"] = np.where(rng.random(n) < rng.uniform(0, 1, k)[labels], rng.integers(0, 60, n), np.nan)
    return frame, labels


@pytest.mark.parametrize("seed", range(20))
def test_every_quoted_share_is_that_of_the_printed_rule(seed):
    frame, labels = table(seed)
    k = labels.max() + 1
    found = explain_tree(frame, Hierarchy.flat(1, (int(k),)), labels)
    rows, held = choose_rows(read_columns(frame), labels)
    held_frame, y = frame.iloc[rows[held]], labels[rows[held]]
    for option, split in enumerate(found.splits):
        if (rule := split["rule"]) is None:
            continue
        holds, here = matches(held_frame, rule["text"]), y == option
        recall, precision = holds[here].mean(), here[holds].mean()
        assert rule["recall"] == pytest.approx(recall, abs=0.0051), rule
        assert rule["precision"] == pytest.approx(precision, abs=0.0051), rule
        assert rule["precision"] >= EXPLAIN.rule
        assert rule["shares"] == rule_shares(rule["recall"], rule["precision"])
        assert rule["rows"] == len(y)
        if split["name"] == rule["text"]:
            assert rule["recall"] >= EXPLAIN.rule
            assert split["text"].startswith(f"{rule['text']}: {percent(rule['recall'])} of this group")


def test_some_of_these_tables_have_rules_and_some_have_none():
    """Or the test above could not fail."""
    splits = [s for seed in range(20) for s in explain_tree(*_with_tree(*table(seed))).splits]
    named = [s["rule"] is not None and s["rule"]["text"] == s["name"] for s in splits]
    assert 10 < sum(named) < len(splits) - 10
    assert any(s["rule"] is None for s in splits)


def _with_tree(frame: pd.DataFrame, labels: np.ndarray):
    return frame, Hierarchy.flat(1, (int(labels.max()) + 1,)), labels


def test_names_are_rules_or_numbers():
    allowed = re.compile(r"group \d \(\d+\.\d %\)")
    for seed in range(20):
        for split in explain_tree(*_with_tree(*table(seed))).splits:
            is_rule = split["rule"] is not None and split["name"] == split["rule"]["text"]
            assert is_rule or allowed.fullmatch(split["name"]), split["name"]


def test_a_rule_for_a_few_rows_counts_those_that_match_elsewhere():
    """A band that holds nearly all of a small group, and twenty times as many other rows."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], [4000, 80])
    x = np.concatenate([rng.uniform(0, 3000, 4000), rng.uniform(1300, 2000, 80)])
    split = explain_tree(
        pd.DataFrame({"distance": x, "noise": rng.normal(size=4080)}), *_with_tree(x, labels)[1:]
    ).splits[1]
    assert split["rule"] is None
    assert split["name"] == "group 2 (2.0 %)"


def test_the_shortest_exact_reason_is_the_name():
    rng = np.random.default_rng(0)
    joint = rng.random(900) < 0.4
    region = np.where(joint, "Sardinia", rng.choice(["North", "South"], 900))
    area = np.where(joint, rng.choice(["Coast", "Inland"], 900), np.where(region == "North", "Umbria", "Apulia"))
    second = np.where(joint, rng.normal(40, 5, 900), np.nan)
    frame = pd.DataFrame(
        {"area": area, "region": region, "verified_second_income": second, "z": rng.normal(size=900)}
    )
    names = [split["name"] for split in explain_tree(*_with_tree(frame, joint.astype(int))).splits]
    assert names == ["region is not Sardinia", "region is Sardinia"]


def test_that_a_column_has_values_is_not_said_by_a_limit_below_nearly_all_of_them():
    rng = np.random.default_rng(0)
    there = np.arange(6000) % 500 > 1  # so few are empty that a leaf of a tree has values too
    delay = np.where(there, rng.normal(0, 20, 6000), np.nan)
    frame = pd.DataFrame({"delay": delay, "day": rng.integers(1, 30, 6000)})
    found = explain_tree(frame, Hierarchy.flat(1, (2,)), there.astype(int))
    assert found.splits[1]["rule"]["text"] == "delay has a value"


def test_a_name_never_changes_a_number():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 300)
    percent_ = np.where(labels == 1, 100, rng.integers(20, 90, 600))
    frame = pd.DataFrame({"account_never_delinquent_percent": percent_, "x": rng.normal(size=600)})
    for k, split in enumerate(explain_tree(*_with_tree(frame, labels)).splits):
        assert split["name"].startswith("account_never_delinquent_percent ")
        assert (matches(frame, split["name"]) == (labels == k)).all()


def test_rows_of_a_large_path_that_are_not_looked_at_count(monkeypatch):
    """Of a small path more rows are looked at than its share: precision is still that of all rows."""
    monkeypatch.setitem(EXPLAIN.__dict__, "rows", 1000)
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], [39_000, 1000])
    x = np.concatenate([rng.normal(0, 1, 39_000), rng.normal(4, 1, 1000)])
    split = explain_tree(*_with_tree(pd.DataFrame({"size": x, "noise": rng.normal(size=40_000)}), labels)).splits[
        1
    ]
    rule = split["rule"]
    if rule is not None:
        holds = matches(pd.DataFrame({"size": x}), rule["text"])
        assert rule["precision"] == pytest.approx((labels[holds] == 1).mean(), abs=0.12)
