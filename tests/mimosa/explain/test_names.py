"""Names of branches and variables."""

import numpy as np
import pandas as pd
import pytest

from disentree import MIMOSA, Hierarchy
from disentree.mimosa.explain.columns import read_columns
from disentree.mimosa.explain.names import name_options, name_variables, together
from disentree.mimosa.explain.reasons import explain_tree
from disentree.mimosa.explain.rules import Rule

TREE_OF_TWO = Hierarchy.flat(0, (2,))


def rule(text: str, recall: float = 1.0, precision: float = 1.0, is_short: bool = True) -> Rule:
    return Rule(text, (text.split()[0],), recall, precision, 100, is_short)


class TestFromRules:
    def test_a_branch_is_called_by_its_rule(self):
        rules = [rule("flipper > 206"), rule("mass > 1")]
        assert name_options("c1", ["stop", "branch1"], rules, [0.4, 0.6]) == ["flipper > 206", "mass > 1"]

    def test_what_says_something_is_kept(self):
        assert name_options("shape", ["moon", "star"], [rule("x > 1"), None], [0.5, 0.5]) == ["moon", "star"]
        assert name_options("Garage", ["no", "yes"], [None, None], [0.5, 0.5]) == ["no Garage", "with Garage"]

    @pytest.mark.parametrize(
        ("recall", "precision", "is_short", "name"),
        [
            (0.99, 0.99, True, "rpm ≤ 1730"),
            (0.81, 0.81, True, "rpm ≤ 1730"),
            (0.99, 0.79, True, "group 1 (14.8 %)"),
            (0.79, 0.99, True, "group 1 (14.8 %)"),
            (0.99, 0.99, False, "group 1 (14.8 %)"),
        ],
    )
    def test_without_a_good_rule_it_has_a_number_and_a_share(self, recall, precision, is_short, name):
        rules = [rule("rpm ≤ 1730", recall, precision, is_short), None]
        assert name_options("c1", ["branch1", "off"], rules, [0.148, 0.852]) == [name, "group 2 (85.2 %)"]

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
        assert found.splits[1]["text"].startswith(f"{slow}: ")
        assert sorted(found.names["variables"]["c1"].removeprefix("by ").split(", ")) == ["rpm", "temperature"]

    def test_groups_that_overlap_have_no_name_that_sounds_like_a_rule(self):
        rng = np.random.default_rng(6)
        mode = np.repeat([0, 1], 600)
        frame = pd.DataFrame({"rpm": rng.normal(1500 + 200 * mode, 200), "noise": rng.normal(size=1200)})
        for k, split in enumerate(explain_tree(frame, TREE_OF_TWO, mode).splits):
            assert split["name"] == f"group {k + 1} (50.0 %)"
            assert split["text"].startswith("rpm ")
            assert " % of these, " in split["text"]

    def test_all_values_of_a_category_are_in_the_name(self):
        mode = np.repeat([0, 1], 300)
        plans = np.where(mode == 0, np.array(["free", "ads"])[np.arange(600) % 2], "paid")
        frame = pd.DataFrame({"plan": plans, "noise": np.random.default_rng(7).normal(size=600)})
        names = [split["name"] for split in explain_tree(frame, TREE_OF_TWO, mode).splits]
        assert names == ["plan is not paid", "plan is paid"]

    def test_as_many_names_as_there_is_room_for(self):
        assert together(["area", "rooms", "age"], 12) == "area, rooms"


class TestOfVariables:
    def test_a_variable_is_called_by_what_it_moves(self):
        rng = np.random.default_rng(0)
        z = rng.normal(size=(500, 3))
        frame = pd.DataFrame(
            {
                "carat": z[:, 0] + 0.1 * rng.normal(size=500),
                "length": 3 * z[:, 0] + 0.1 * rng.normal(size=500),
                "price": 100 * z[:, 1],
                "cut": np.where(z[:, 2] > 0, "fair", "good"),
            }
        )
        names = name_variables(Hierarchy.flat(3), z, read_columns(frame), np.ones(len(frame)), set())
        assert set(names["z1"].split(", ")) == {"carat", "length"}
        assert (names["z2"], names["z3"]) == ("price", "cut")

    def test_names_differ_and_say_so_when_nothing_moves(self):
        rng = np.random.default_rng(0)
        x = rng.normal(size=400)
        frame = pd.DataFrame({"length": x, "noise": rng.normal(size=400)})
        codes = np.stack([x, -x, np.zeros(400)], axis=1)
        names = name_variables(Hierarchy.flat(3), codes, read_columns(frame), np.ones(len(frame)), {"length"})
        assert list(names.values()) == ["value of length", "value of length (2)", "other"]

    def test_a_category_that_is_one_in_the_leaf_moves_nothing(self):
        rng = np.random.default_rng(0)
        z = np.where(np.arange(600) < 100, rng.normal(size=600), np.nan)
        frame = pd.DataFrame({"length": np.nan_to_num(z), "area": np.where(np.arange(600) < 100, "here", "there")})
        assert name_variables(Hierarchy.flat(1), z[:, None], read_columns(frame), np.ones(len(frame)), set()) == {
            "z1": "length"
        }


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    weight = np.concatenate([rng.normal(2, 0.2, 150), rng.normal(9, 0.2, 150)])
    height = np.where(weight > 5, 3, 0) + rng.normal(size=300)  # groups differ in more than one column
    return pd.DataFrame({"weight": weight, "height": height, "width": rng.normal(size=300)})


def choice(hierarchy):
    return next(v for v in hierarchy.variables if v.kind == "categorical")


class TestOfAnEstimator:
    def test_columns_with_names_name_the_branches(self, frame, tmp_path):
        model = MIMOSA(random_state=0).fit(frame)
        names = choice(model.hierarchy_).options
        assert {name.split(" ")[0] for name in names} == {"weight"}
        of_variables = [v.name for v in model.hierarchy_.variables if v.kind == "continuous"]
        assert of_variables
        assert all(name.split(" ")[0].rstrip(",") in frame for name in of_variables)
        assert choice(model.hierarchy_).name == "by weight"
        assert choice(model.plain_hierarchy_).options == ("branch1", "branch2")
        assert model.verdict_.startswith("2 groups of rows: weight ")
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
            assert choice(model.hierarchy_).options == ("branch1", "branch2")
            assert "branch1 (" in model.summary()
