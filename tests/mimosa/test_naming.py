"""Names of branches and variables."""

import numpy as np
import pandas as pd
import pytest

from disentree import MIMOSA, Hierarchy
from disentree.mimosa.facts import Fact
from disentree.mimosa.naming import (
    LONGEST,
    fact_name,
    name_options,
    names_between,
    renamed,
    together,
    with_names,
)

TREE = Hierarchy.from_dict(
    {
        "variables": [
            {"kind": "continuous", "name": "z1"},
            {
                "kind": "categorical",
                "name": "c1",
                "options": [
                    {"name": "stop", "variables": []},
                    {
                        "name": "branch1",
                        "variables": [
                            {
                                "kind": "categorical",
                                "name": "c2",
                                "options": [
                                    {"name": "stop", "variables": []},
                                    {"name": "branch1", "variables": []},
                                ],
                            }
                        ],
                    },
                ],
            },
        ]
    }
)


def fact(column: str, after: str, before: str = "") -> Fact:
    return Fact("above", (column,), f"{column}{after}", (before, column, after), np.ones(3, bool))


class TestFromReasons:
    def test_short_and_different(self):
        facts = [
            [fact("flipper_length_mm", " > 206")],
            [fact("flipper_length_mm", " > 206"), fact("mass", " > 1")],
        ]
        assert name_options("c1", ["stop", "branch1"], facts) == ["flipper_length_mm > 206", "mass > 1"]

    def test_what_says_something_is_kept(self):
        assert name_options("shape", ["moon", "star"], [[fact("x", " > 1")], []]) == ["moon", "star"]
        assert name_options("Garage", ["no", "yes"], [[], []]) == ["no Garage", "with Garage"]

    def test_without_a_reason_the_number_stays(self):
        assert name_options("c1", ["stop", "branch1"], [[], [fact("x", " > 1")]]) == ["stop", "x > 1"]

    @pytest.mark.parametrize("column", ["AgeInYearsAtScreeningOfAll", "a_very_long_name_of_a_column", "x" * 60])
    def test_never_too_long(self, column):
        assert len(fact_name(fact(column, " > 0.000123"))) <= LONGEST
        assert len(fact_name(fact(column, f" = {'y' * 60}"))) <= LONGEST

    def test_as_many_names_as_there_is_room_for(self):
        assert together(["area", "rooms", "age"], 12) == "area, rooms"


class TestRename:
    def test_variables_and_options(self):
        new = renamed(TREE, {"z1": "size", "c1=branch1": "round", "c2=stop": "flat", "c2": "edge"})
        assert [v.name for v in new.variables] == ["size", "c1", "edge"]
        assert [v.options for v in new.variables] == [(), ("stop", "round"), ("flat", "branch1")]
        assert new == TREE

    def test_names_can_be_exchanged(self):
        new = renamed(TREE, {"c1=stop": "branch1", "c1=branch1": "stop", "c1": "c2", "c2": "c1"})
        assert new.variables[1].options == ("branch1", "stop")
        assert [v.name for v in new.variables] == ["z1", "c2", "c1"]

    @pytest.mark.parametrize(
        ("changes", "problem"),
        [
            ({"branch1": "x"}, "'branch1' is an option of c1 and of c2: write c1=branch1"),
            ({"nothing": "x"}, "there is no variable or option 'nothing'; there are z1, c1, c2, c1=stop"),
            ({"z1": "c1"}, "two variables would be called 'c1'"),
            ({"c1=stop": "branch1"}, "two options of 'c1' would be called 'branch1'"),
            ({"z1": " "}, "the new name of 'z1' must be a text"),
            ({"z1": 3}, "the new name of 'z1' must be a text"),
        ],
    )
    def test_mistakes_are_told(self, changes, problem):
        with pytest.raises(ValueError, match=problem):
            renamed(TREE, changes)

    def test_names_of_a_file(self):
        new = renamed(TREE, {"z1": "size", "c1=branch1": "round"})
        names = names_between(TREE, new)
        assert names["variables"] == {"z1": "size"}
        assert with_names(TREE, names).to_dict() == new.to_dict()
        assert with_names(TREE, {"variables": {"gone": "x"}, "options": {"gone": {}}}).to_dict() == TREE.to_dict()


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
