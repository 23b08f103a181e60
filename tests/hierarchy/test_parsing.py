"""Hierarchies from dicts and JSON."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from disentree import Hierarchy
from strategies import hierarchies, trees

from .conftest import continuous, hierarchy


def test_names_left_out_are_filled_in_without_clashes():
    h = hierarchy({"kind": "continuous"}, *continuous("z2"), {"kind": "continuous"})
    assert [v.name for v in h.variables] == ["z1", "z2", "z3"]
    h = hierarchy({"kind": "categorical", "options": [{"variables": []}, {"variables": []}]})
    assert (h.variables[0].name, h.variables[0].options) == ("c1", ("0", "1"))


@given(trees())
def test_any_hierarchy_survives_json(tree):
    h = Hierarchy.from_dict(tree)
    again = Hierarchy.from_json(h.to_json())
    assert again == h
    assert hash(again) == hash(h)
    assert again.to_dict() == h.to_dict()
    assert Hierarchy.from_json(h.to_json(indent=None)).to_dict() == h.to_dict()


@given(hierarchies())
def test_names_are_never_left_out_on_the_way_out(h):
    def check(group):
        for variable in group["variables"]:
            assert variable["name"]
            for option in variable.get("options", ()):
                assert option["name"]
                check(option)

    check(h.to_dict())
    assert len(str(h).splitlines()) >= 1


# ------------------------------------------------------------------ bad input


DEEP = {"variables": [{"kind": "categorical", "options": [{"variables": [{"kind": "?"}]}]}]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must be JSON: Expecting value at line 1, column 1"),
        ("{'variables': []}", "must be JSON"),
        ('{"variables": [}', "must be JSON: .* at line 1, column 16"),
        ("[]", "hierarchy must be an object, got list"),
        ("3", "hierarchy must be an object, got int"),
        ("null", "hierarchy must be an object, got NoneType"),
        ("{}", "hierarchy must have a list of variables"),
        ('{"variables": {}}', "hierarchy must have a list of variables"),
        ('{"variables": "xyz"}', "hierarchy must have a list of variables"),
        ('{"variables": [], "vars": []}', "hierarchy has an unknown key 'vars'"),
        (json.dumps(DEEP), r"hierarchy.variables\[0\].options\[0\].variables\[0\]: kind must be"),
    ],
)
def test_malformed_json_is_told_in_one_sentence(text, message):
    with pytest.raises(ValueError, match=message) as caught:
        Hierarchy.from_json(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("variable", "message"),
    [
        (3, r"hierarchy.variables\[0\] must be an object, got int"),
        ({}, r"variables\[0\]: kind must be 'continuous' or 'categorical', got None"),
        ({"kind": "discrete"}, "kind must be 'continuous' or 'categorical', got 'discrete'"),
        ({"kind": []}, "kind must be 'continuous' or 'categorical'"),
        ({"kind": "continuous", "options": []}, "a continuous variable has no options"),
        ({"kind": "continuous", "name": 3}, "a name must be a string, got 3"),
        ({"kind": "categorical"}, r"variables\[0\] must have a list of options"),
        ({"kind": "categorical", "options": []}, "must have at least one option"),
        ({"kind": "categorical", "options": [[]]}, r"options\[0\] must be an object, got list"),
        ({"kind": "categorical", "options": [{}]}, r"options\[0\] must have a list of variables"),
    ],
)
def test_malformed_variables_are_told_in_one_sentence(variable, message):
    with pytest.raises(ValueError, match=message) as caught:
        Hierarchy.from_dict({"variables": [variable]})
    assert "\n" not in str(caught.value)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["variables", "kind", "name", "options", "?"]), inner, max_size=4)
    ),
)


@given(json_values)
def test_any_json_makes_a_hierarchy_or_a_clear_error(value):
    try:
        h = Hierarchy.from_json(json.dumps(value))
    except ValueError as error:
        message = str(error)
    else:
        message = ""
        assert Hierarchy.from_json(h.to_json()) == h
    assert "\n" not in message
