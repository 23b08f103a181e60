"""Names of branches and variables."""

import numpy as np
import pandas as pd
import pytest

from disentree import MIMOSA, Hierarchy
from disentree.mimosa.explain.constants import EXPLAIN
from disentree.mimosa.explain.facts import Fact, Measured, category_in_name
from disentree.mimosa.explain.names import fact_name, name_options, reason_names, together
from disentree.mimosa.explain.reasons import explain_tree

TREE_OF_TWO = Hierarchy.flat(0, (2,))


def fact(column: str, after: str, before: str = "") -> Fact:
    return Fact("above", (column,), f"{column}{after}", (before, column, after), np.ones(3, bool))


def names_of(here: float, elsewhere: float, n_here: int = 100, n_there: int = 100) -> list[str]:
    known = [Measured(fact("rpm", " ≤ 1730"), here, elsewhere, here - elsewhere)]
    return [name.text for name in reason_names(known, None, n_here, n_there, 2)]


class TestFromReasons:
    def test_different(self):
        reasons = [["flipper > 206"], ["flipper > 206", "mass > 1"]]
        assert name_options("c1", ["stop", "branch1"], reasons) == ["flipper > 206", "mass > 1"]

    def test_what_says_something_is_kept(self):
        assert name_options("shape", ["moon", "star"], [["x > 1"], []]) == ["moon", "star"]
        assert name_options("Garage", ["no", "yes"], [[], []]) == ["no Garage", "with Garage"]

    def test_without_a_reason_the_number_stays(self):
        assert name_options("c1", ["stop", "branch1"], [[], ["x > 1"]]) == ["stop", "x > 1"]

    @pytest.mark.parametrize("column", ["AgeInYearsAtScreeningOfAll", "a_very_long_name_of_a_column", "x" * 60])
    def test_never_too_long(self, column):
        assert len(fact_name(("", column, " > 0.000123"), (column,))) <= EXPLAIN.longest_name
        assert len(fact_name(("", column, category_in_name("=", "y" * 60)), (column,))) <= EXPLAIN.longest_name

    def test_long_values_are_cut_and_say_so(self):
        """Also one that has an "or" of its own, and that begins as another does."""
        mode = np.repeat([0, 1], 300)
        answers = np.array(["Several times a day or more often", "Several times a month"])[mode]
        frame = pd.DataFrame({"visits": answers, "noise": np.random.default_rng(7).normal(size=600)})
        names = [split["name"] for split in explain_tree(frame, TREE_OF_TWO, mode).splits]
        assert names == ["visits = Several time…", "group 2 (visits)"]  # the cut value would name both

    @pytest.mark.parametrize(
        ("here", "elsewhere", "n_there", "name"),
        [
            (0.99, 0.01, 100, "rpm ≤ 1730"),
            (0.99, 0.01, 2000, "part of rpm ≤ 1730"),  # 20 rows elsewhere for 99 here
            (0.99, 0.30, 100, "part of rpm ≤ 1730"),
            (0.74, 0.01, 100, "mostly rpm ≤ 1730"),
            (0.45, 0.01, 100, "group 2 (rpm)"),
        ],
    )
    def test_a_name_that_is_not_the_rule_says_so(self, here, elsewhere, n_there, name):
        assert names_of(here, elsewhere, n_there=n_there)[0] == name

    def test_two_conditions_where_one_is_shared_with_a_sibling(self):
        rng = np.random.default_rng(5)
        mode = np.repeat([0, 1, 2], 300)
        frame = pd.DataFrame(
            {
                "rpm": np.where(mode == 2, 2400.0, 1200.0) + rng.normal(0, 90, 900),
                "temperature": np.where(mode == 0, 30.0, 70.0) + rng.normal(0, 3, 900),
                "noise": rng.normal(size=900),
            }
        )
        found = explain_tree(frame, Hierarchy.flat(0, (3,)), mode)
        idle, slow, fast = (split["name"] for split in found.splits)
        assert idle.startswith("temperature ≤ ")
        assert fast.startswith("rpm > ")
        first, _, second = slow.partition(" and ")
        assert {first[:5], second[:5]} == {"rpm ≤", "tempe"}
        holds = frame.eval(slow.replace("≤", "<="))
        assert holds[mode == 1].mean() > 0.9
        assert holds[mode != 1].mean() < 0.05
        said = found.splits[1]["text"].split(" elsewhere; ")[0]
        assert "at most" in said
        assert "above" in said  # the two conditions with their shares come first
        assert sorted(found.names["variables"]["c1"].removeprefix("by ").split(", ")) == ["rpm", "temperature"]

    def test_groups_that_overlap_have_no_name_that_sounds_like_a_rule(self):
        rng = np.random.default_rng(6)
        mode = np.repeat([0, 1], 600)
        frame = pd.DataFrame({"rpm": rng.normal(1500 + 300 * mode, 200), "noise": rng.normal(size=1200)})
        for split in explain_tree(frame, TREE_OF_TWO, mode).splits:
            assert split["name"].startswith("mostly rpm ")
            assert split["text"].startswith("rpm ")
            assert " % of these, " in split["text"]

    def test_all_values_of_a_category_are_in_the_name(self):
        mode = np.repeat([0, 1], 300)
        plans = np.where(mode == 0, np.array(["free", "ads"])[np.arange(600) % 2], "paid")
        frame = pd.DataFrame({"plan": plans, "noise": np.random.default_rng(7).normal(size=600)})
        names = [split["name"] for split in explain_tree(frame, TREE_OF_TWO, mode).splits]
        assert names == ["plan = free or ads", "plan = paid"]

    def test_as_many_names_as_there_is_room_for(self):
        assert together(["area", "rooms", "age"], 12) == "area, rooms"


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    weight = np.concatenate([rng.normal(2, 0.2, 150), rng.normal(9, 0.2, 150)])
    return pd.DataFrame({"weight": weight, "height": rng.normal(size=300), "width": rng.normal(size=300)})


class TestOfAnEstimator:
    def test_columns_with_names_name_the_branches(self, frame, tmp_path):
        model = MIMOSA(random_state=0).fit(frame)
        names = model.hierarchy_.variables[0].options
        assert {name.split(" ")[0] for name in names} == {"weight"}
        assert model.hierarchy_.variables[0].name == "by weight"
        assert model.plain_hierarchy_.variables[0].options == ("branch1", "branch2")
        assert "(weight " in model.summary()
        assert {split["name"] for split in model.explain().splits} == {*names}
        model.rename({names[0]: "first", "by weight": "kind"})
        model.save(tmp_path)
        loaded = MIMOSA.load(tmp_path)
        assert loaded.hierarchy_.to_dict() == model.hierarchy_.to_dict()
        assert loaded.plain_hierarchy_.to_dict() == model.plain_hierarchy_.to_dict()
        assert loaded.hierarchy_.paths[0].name == "kind=first"

    def test_columns_without_names_give_none(self, frame):
        for X in (frame.to_numpy(), pd.DataFrame(frame.to_numpy())):
            model = MIMOSA(random_state=0).fit(X)
            assert model.hierarchy_.variables[0].options == ("branch1", "branch2")
            assert "component 0:" in model.summary()
