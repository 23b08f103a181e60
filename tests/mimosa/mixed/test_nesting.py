"""Things that are part of each other, or there instead of each other: `switch_tree.py`, `branches.py`."""

import numpy as np
import pandas as pd
import pytest

from disentree import MIMOSA
from disentree.hierarchy import Hierarchy
from disentree.mimosa.mixed.branches import choices, grafted, make_branches, product_hierarchy
from disentree.mimosa.mixed.fit import Columns, _names, read_columns
from disentree.mimosa.mixed.nesting import Switch, choose_switches, n_paths, rivals
from disentree.mimosa.mixed.presence import Presence
from disentree.mimosa.mixed.presence_bits import presence_bits
from disentree.mimosa.tree.constants import TREE
from disentree.tables import Cells, Codec, Column, Schema, infer_schema

N = 900


def shop(seed: int = 0, none: float = 0.0, mistakes: float = 0.0, together: bool = False) -> pd.DataFrame:
    """Customers who see ads or pay, some of them as a company; `mistakes` of the rows have the other thing too."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(3, N, p=[0.6 * (1 - none), 0.4 * (1 - none), none])
    ads, pays = kind == 0, kind == 1
    if together:
        ads, pays = rng.random(N) < 0.6, rng.random(N) < 0.4
    both = rng.random(N) < mistakes
    company = pays & (rng.random(N) < 0.4)
    frame = pd.DataFrame({"age": rng.normal(40, 12, N).round(1), "visits": rng.gamma(3, 10, N).round(1)})
    for name, there in {"ads": ads | both, "payment": pays | both, "company": company}.items():
        frame[f"{name}_amount"] = np.where(there, rng.gamma(3, 20, N).round(2), np.nan)
        frame[f"{name}_days"] = np.where(there, rng.normal(100, 30, N).round(1), np.nan)
    return frame


def found_in(frame: pd.DataFrame) -> Columns:
    return read_columns(frame, Codec(infer_schema(frame)), np.random.default_rng(0))


def tree_of(found: Columns) -> list[str]:
    names = _names(found)
    ones = [1] * len(found.presence.switches)
    h = product_hierarchy(Hierarchy.flat(1), 0, found.branches, ones, names)
    return [path.name for path in h.paths]


@pytest.mark.parametrize("mistakes", [0.0, 0.004])
def test_things_instead_of_each_other_are_one_choice(mistakes):
    found = found_in(shop(mistakes=mistakes))
    assert len(tree_of(found)) == 3  # ads, payment, payment of a company
    fork = found.branches[0]
    assert fork.options == ["ads", "payment"]
    assert _names(found).branches == ["ads or payment", "company"]
    company = found.branches[1]
    assert company.parent == fork.switches[1]


def test_that_there_is_none_is_an_option_where_it_happens():
    for none in (0.2, 0.015):  # 180 rows, about 13
        found = found_in(shop(none=none))
        fork = found.branches[0]
        assert fork.options == ["ads", "payment", "neither"]
        present = found.present[:, fork.switches]
        chosen = choices(found.branches, found.cells, found.present)[:, 0]
        np.testing.assert_array_equal(chosen == 2, ~present.any(axis=1))


def test_things_that_are_often_there_together_are_separate_choices():
    assert found_in(shop(mistakes=0.01)).branches[0].options == ["no", "yes"]


def test_a_row_with_both_is_on_the_option_of_the_commoner_thing():
    found = found_in(shop(mistakes=0.004))
    fork = found.branches[0]
    present = found.present
    both = present[:, fork.switches].all(axis=1)
    assert both.any()
    assert (choices(found.branches, found.cells, present)[both, 0] == 0).all()
    assert fork.options[0] == "ads"


def test_options_of_a_choice_have_different_names():
    shares = (0.3, 0.3, 0.2, 0.1)
    kind = np.random.default_rng(0).choice(5, 900, p=[*shares, 0.1])
    cells = Cells(np.where(kind[:, None] == np.arange(4), 1.0, np.nan), np.zeros((900, 0), np.int64))
    columns = tuple(Column(name, "number", "float64") for name in ("none", "gift", "gift", "gift 2"))
    switches = [Switch([i], [np.nan], choice=0, share=share) for i, share in enumerate(shares)]
    presence = Presence(switches, np.ones(4, bool), np.zeros(4))
    (fork,) = make_branches(presence, cells, Schema(columns), presence.present(cells))
    assert fork.options == ["none", "gift", "gift (2)", "gift 2", "none (2)"]


@pytest.mark.parametrize("seed", range(10))
def test_things_that_go_together_are_separate_choices(seed):
    found = found_in(shop(seed, together=True))
    assert [branch.options for branch in found.branches] == [["no", "yes"]] * 3


def test_choices_by_hand():
    n = 400
    a = np.arange(n) < 200
    b, c = ~a & (np.arange(n) < 320), ~a & (np.arange(n) >= 320)
    d = a & (np.arange(n) % 2 == 0)  # a part of a
    e = np.arange(n) % 3 == 0  # goes with all
    actives = [d, a, e, c, b]
    switches = [Switch([i], [np.nan], share=float(rows.mean())) for i, rows in enumerate(actives)]
    chosen = choose_switches(switches, actives, TREE.most_paths)
    by_column = {s.columns[0]: s for s in chosen}
    assert by_column[1].choice == by_column[3].choice == by_column[4].choice == 0
    assert by_column[0].choice == by_column[2].choice == -1
    assert chosen[by_column[0].parent].columns == [1]
    assert n_paths(chosen) == 2 * (1 + 2 + 1 + 1)
    assert sorted(len(group) for group in rivals(chosen)) == [1, 1, 3]


def test_few_rows_say_nothing_of_rare_things():
    # Each in 20 of 200 rows: two of them would be in 2 rows together, and may be in none by chance.
    rows = np.arange(200)
    actives = [rows < 20, (rows >= 20) & (rows < 40)]
    switches = [Switch([i], [np.nan], share=0.1) for i in range(2)]
    assert [s.choice for s in choose_switches(switches, actives, TREE.most_paths)] == [-1, -1]


def test_which_of_two_things_exists_is_said_once():
    rng = np.random.default_rng(0)
    a = rng.random(N) < 0.5
    frame = pd.DataFrame({"x": rng.normal(size=N)})
    for name, there in {"a": a, "b": ~a}.items():
        frame[f"{name}_1"] = np.where(there, rng.normal(size=N), np.nan)
        frame[f"{name}_2"] = np.where(there, rng.normal(size=N), np.nan)
    found = found_in(frame)
    alone, switched = presence_bits(found.presence, found.present, found.cells, found.codec)
    assert alone.mean() == pytest.approx(4, abs=0.02)  # one bit for each column
    assert switched.mean() == pytest.approx(1, abs=0.05)


def test_rows_come_back_with_one_of_two_things():
    frame = shop(none=0.2)
    model = MIMOSA(random_state=0).fit(frame)
    assert len(model.hierarchy_.paths) == 4
    assert np.bincount(model.labels_, minlength=4).min() > 0  # no combination is empty
    assert model.table_ is not None
    assert model.features_ is not None
    back = model.table_.frame(model.features_, model.hierarchy_, model.labels_)
    np.testing.assert_array_equal(back["ads_amount"].notna(), frame["ads_amount"].notna())
    np.testing.assert_array_equal(back["company_days"].notna(), frame["company_days"].notna())


def loans(seed: int = 0, mistakes: float = 0.0) -> pd.DataFrame:
    """Loans, some of which are paid back: what was paid is then the amount, and nothing is left. Of the others,
    some have a rate that follows from the term."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(3, N, p=[0.3, 0.3, 0.4])
    amount, term = rng.uniform(10, 60, N), rng.uniform(1, 10, N)
    left = (kind == 0) ^ (rng.random(N) < mistakes)
    garage = rng.random(N) < 0.6
    return pd.DataFrame(
        {
            "amount": amount,
            "term": term,
            "rate": np.where(kind == 1, 2 + 0.5 * term, rng.uniform(2, 8, N)),
            "paid": np.where(kind == 0, amount, rng.uniform(10, 60, N)),
            "balance": np.where(left, np.nan, rng.gamma(3, 10, N)),
            "balance_days": np.where(left, np.nan, rng.gamma(3, 10, N)),
            "garage_area": np.where(garage, rng.normal(40, 5, N), np.nan),
            "garage_year": np.where(garage, rng.normal(1970, 20, N), np.nan),
        }
    )


@pytest.mark.parametrize("mistakes", [0.0, 0.002])
def test_a_choice_that_repeats_the_leaves_of_numbers_is_one_choice_with_them(mistakes, tmp_path):
    frame = loans(mistakes=mistakes)
    model = MIMOSA(random_state=0, n_jobs=1).fit(frame)
    table = model.table_
    assert table is not None
    assert [branch.switches for branch in table.branches] == [[1]]  # the garage
    assert table.tied == [0]
    assert len(model.hierarchy_.paths) == 2 * len(table.core.paths)
    back = table.frame(model.features_, model.hierarchy_, model.labels_)
    for name in ("balance", "balance_days", "garage_area"):
        assert (back[name].notna() == frame[name].notna()).mean() > 0.99
    np.testing.assert_array_equal(model.predict(frame), model.labels_)
    model.save(tmp_path)
    np.testing.assert_array_equal(MIMOSA.load(tmp_path).predict(frame), model.labels_)


def test_things_are_put_where_a_categorical_says_so():
    core = Hierarchy.from_dict(
        {
            "variables": [
                {"kind": "continuous"},
                {"kind": "categorical", "options": [{"variables": []}, {"variables": []}]},
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
                },
            ]
        }
    )
    of_first, of_second = ([dict(path.choices)[column] for path in core.paths] for column in (1, 2))
    third = np.array([dict(path.choices).get(3, 0) == 1 for path in core.paths])
    for has in (np.array(of_first) == 1, np.array(of_second) == 0, third):
        found = grafted(core, has, 2, "balance")
        assert found is not None
        assert [path.dimension for path in found.paths] == (1 + 2 * has).tolist()
    found = grafted(core, np.array(of_first) == 0, 0, "")  # without a variable nothing changes
    assert found is not None
    assert [path.choices for path in found.paths] == [path.choices for path in core.paths]
    assert grafted(core, np.array(of_first) == np.array(of_second), 1, "balance") is None
