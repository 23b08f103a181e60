"""Other names for a tree: `renaming.py`, and `sizes.py`, which writes shares behind them."""

import numpy as np
import pytest

from disentree import Hierarchy
from disentree.hierarchy.renaming import renamed, with_names
from disentree.hierarchy.sizes import with_sizes

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
        names = {"variables": {"z1": "size"}, "options": {"c1": {"branch1": "round"}}}
        assert with_names(TREE, names).to_dict() == new.to_dict()
        assert with_names(TREE, {"variables": {"gone": "x"}, "options": {"gone": {}}}).to_dict() == TREE.to_dict()


def test_sizes_are_those_of_all_paths_below():
    labels = np.array([0, 0, 0, 1, 2, 2, -1, 2])
    sized = with_sizes(TREE, labels, after={(1, 1): ", weak"})
    assert [v.options for v in sized.variables[1:]] == [
        ("stop (37.5%)", "branch1 (50.0%, weak)"), ("stop (12.5%)", "branch1 (37.5%)"),
    ]  # fmt: skip
    assert sized == TREE
