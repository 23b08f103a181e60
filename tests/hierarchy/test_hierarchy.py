"""Hierarchies, codes and paths; covers `hierarchy.py` and `tree.py`."""

import gc
import json
import random
import time
import weakref
from html import escape

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from disentree import Hierarchy
from disentree.datasets import dataset_info
from strategies import coded, hierarchies, shuffled, trees

NAN = np.nan


def continuous(*names):
    return [{"kind": "continuous", "name": name} for name in names]


def categorical(name, **options):
    return {
        "kind": "categorical",
        "name": name,
        "options": [{"name": key, "variables": value} for key, value in options.items()],
    }


def hierarchy(*variables):
    return Hierarchy.from_dict({"variables": list(variables)})


@pytest.fixture
def shapes():
    """x, y, shape = moon (phase) | star (nothing) | ship (angle, jet = no | yes (jetlen))"""
    jet = categorical("jet", no=[], yes=continuous("jetlen"))
    ship = [*continuous("angle"), jet]
    return hierarchy(*continuous("x", "y"), categorical("shape", moon=continuous("phase"), star=[], ship=ship))


@pytest.fixture
def two_choices():
    """A group with two categoricals: a = 0 (u) | 1, then z, then b = 0 | 1 | 2 (v, w)"""
    a = categorical("a", a0=continuous("u"), a1=[])
    b = categorical("b", b0=[], b1=[], b2=continuous("v", "w"))
    return hierarchy(a, *continuous("z"), b)


# ------------------------------------------------------------------ by hand


def test_columns_follow_the_tree(shapes):
    assert [v.name for v in shapes.variables] == ["x", "y", "shape", "phase", "angle", "jet", "jetlen"]
    assert [v.index for v in shapes.variables] == list(range(7))
    assert [v.parent for v in shapes.variables] == [None, None, None, 2, 2, 2, 5]
    assert [v.option for v in shapes.variables] == [None, None, None, 0, 2, 2, 1]
    assert [v.depth for v in shapes.variables] == [0, 0, 0, 1, 1, 1, 2]
    assert shapes.variables[2].options == ("moon", "star", "ship")
    assert shapes.is_categorical.tolist() == [False, False, True, False, False, True, False]
    assert shapes.n_variables == 7


def test_paths_are_leaves_with_their_dimension(shapes):
    assert [p.dimension for p in shapes.paths] == [3, 2, 3, 4]
    assert [p.name for p in shapes.paths] == [
        "shape=moon",
        "shape=star",
        "shape=ship/jet=no",
        "shape=ship/jet=yes",
    ]
    assert [p.active for p in shapes.paths] == [(0, 1, 2, 3), (0, 1, 2), (0, 1, 2, 4, 5), (0, 1, 2, 4, 5, 6)]


def test_activity_and_paths_of_rows(shapes):
    codes = [
        [0.1, 0.2, 0, 0.3, NAN, NAN, NAN],
        [0.1, 0.2, 1, NAN, NAN, NAN, NAN],
        [0.1, 0.2, 2, NAN, 0.4, 0, NAN],
        [0.1, 0.2, 2, NAN, 0.4, 1, 0.5],
    ]
    assert shapes.path_of(codes).tolist() == [0, 1, 2, 3]
    np.testing.assert_array_equal(shapes.active(codes), ~np.isnan(codes))
    np.testing.assert_array_equal(shapes.validate(codes), codes)


def test_a_row_without_a_choice_is_not_assigned(shapes, two_choices):
    assert shapes.path_of([[0.1, 0.2, NAN, NAN, NAN, NAN, NAN]]).tolist() == [-1]
    assert shapes.path_of([[0.1, 0.2, 2, NAN, 0.4, NAN, NAN]]).tolist() == [-1]
    # b alone does not say where a row belongs
    assert two_choices.path_of([[NAN, NAN, 0.5, 2, 0.1, 0.2]]).tolist() == [-1]


def test_several_categoricals_multiply_their_paths(two_choices):
    assert [v.name for v in two_choices.variables] == ["a", "u", "z", "b", "v", "w"]
    assert [p.name for p in two_choices.paths] == [
        f"a={a}/b={b}" for a in ("a0", "a1") for b in ("b0", "b1", "b2")
    ]
    assert [p.dimension for p in two_choices.paths] == [2, 2, 4, 1, 1, 3]
    codes = [[a, 0.5 if a == 0 else NAN, 0.1, b, *([0.2, 0.3] if b == 2 else [NAN, NAN])]
             for a in (0, 1) for b in (0, 1, 2)]  # fmt: skip
    assert two_choices.path_of(codes).tolist() == list(range(6))


def test_description_length_of_the_papers_example():
    """7/8 of the data is 1-D, 1/8 is 8-D: 61 bits for each instance against 256 in a flat code."""
    h = hierarchy(categorical("c", low=continuous("z"), high=continuous(*"abcdefgh")))
    codes = np.full((8, 10), NAN)
    codes[:7, :2] = [0, 0.5]
    codes[7, 0], codes[7, 2:] = 1, 0.5
    assert h.description_length(codes) == 61.0
    assert Hierarchy.flat(8).description_length(np.zeros((8, 8))) == 256.0
    assert h.description_length(codes, float_bits=16) == 31.0


def test_description_length_counts_nested_choices(two_choices):
    codes = [[0, 0.5, 0.1, 2, 0.2, 0.3], [1, NAN, 0.1, 0, NAN, NAN]]
    assert two_choices.description_length(codes) == pytest.approx(1 + np.log2(3) + 32 * (4 + 1) / 2)
    with pytest.raises(ValueError, match="at least one row"):
        two_choices.description_length(np.empty((0, 6)))


def test_flat():
    h = Hierarchy.flat(2, categories=(3, 2))
    assert [v.name for v in h.variables] == ["z1", "z2", "c1", "c2"]
    assert [v.n_options for v in h.variables] == [0, 0, 3, 2]
    assert len(h.paths) == 6
    assert Hierarchy.flat(0).paths[0].dimension == 0
    with pytest.raises(ValueError, match="n_continuous must be 0 or more, got -1"):
        Hierarchy.flat(-1)


def test_equality_is_by_structure(shapes):
    renamed = json.loads(shapes.to_json().replace("phase", "light"))
    assert Hierarchy.from_dict(renamed) == shapes
    assert hash(Hierarchy.from_dict(renamed)) == hash(shapes)
    assert Hierarchy.from_dict(renamed).to_dict() != shapes.to_dict()
    assert Hierarchy.flat(2) != Hierarchy.flat(3)
    assert hierarchy(categorical("c", a=[], b=continuous("z"))) != hierarchy(
        categorical("c", a=continuous("z"), b=[])
    )


def test_hierarchies_cannot_be_changed(shapes):
    with pytest.raises(AttributeError):
        shapes.root = Hierarchy.flat(1).root
    with pytest.raises(AttributeError):
        shapes.variables[0].name = "w"


def test_names_left_out_are_filled_in_without_clashes():
    h = hierarchy({"kind": "continuous"}, *continuous("z2"), {"kind": "continuous"})
    assert [v.name for v in h.variables] == ["z1", "z2", "z3"]
    h = hierarchy({"kind": "categorical", "options": [{"variables": []}, {"variables": []}]})
    assert (h.variables[0].name, h.variables[0].options) == ("c1", ("0", "1"))


def test_text(shapes, two_choices):
    assert str(two_choices).splitlines() == [
        "◇ a",
        "├── a0",
        "│   └── ○ u",
        "└── a1 ∅",
        "○ z",
        "◇ b",
        "├── b0 ∅",
        "├── b1 ∅",
        "└── b2",
        "    ├── ○ v",
        "    └── ○ w",
    ]
    assert repr(shapes) == "<Hierarchy: 5 continuous, 2 categorical, 4 paths>"
    assert str(Hierarchy.flat(0)) == "∅"


def test_text_keeps_its_rails_below_a_nested_categorical():
    inner = [categorical("b", c=[], d=[]), *continuous("e")]
    assert str(hierarchy(categorical("a", x=inner, y=[]))).splitlines() == [
        "◇ a",
        "├── x",
        "│   ├── ◇ b",
        "│   │   ├── c ∅",
        "│   │   └── d ∅",
        "│   └── ○ e",
        "└── y ∅",
    ]


def test_networkx(shapes):
    graph = shapes.to_networkx()
    kinds = [data["kind"] for _, data in graph.nodes(data=True)]
    assert {kind: kinds.count(kind) for kind in kinds} == {"group": 6, "continuous": 5, "categorical": 2}
    assert graph.number_of_edges() == graph.number_of_nodes() - 1
    columns = {data["column"]: data["name"] for _, data in graph.nodes(data=True) if "column" in data}
    assert [columns[i] for i in range(7)] == [v.name for v in shapes.variables]
    assert graph.nodes["root"]["label"] == 2


def test_canonical_form_by_hand(shapes):
    # leaves of 3, 2, 3 and 4 dimensions; a group has the label of its least leaf
    assert shapes.canonical() == (2, ((2, ()), (3, ()), (3, ((3, ()), (4, ())))))


def test_merging_up_and_pushing_down_by_hand():
    h = hierarchy(*continuous("x"), categorical("c", a=continuous("u"), b=continuous("v", "w")))
    up, down = h.merged_up(), h.pushed_down()
    assert up == hierarchy(*continuous("x", "u/v"), categorical("c", a=[], b=continuous("w")))
    assert [v.name for v in up.variables] == ["x", "u/v", "c", "w"]
    assert down == hierarchy(categorical("c", a=continuous("x", "u"), b=continuous("x", "v", "w")))
    codes = [[0.1, 0, 0.2, NAN, NAN], [0.3, 1, NAN, 0.4, 0.5]]
    np.testing.assert_array_equal(h.transfer(codes, up), [[0.1, 0.2, 0, NAN], [0.3, 0.4, 1, 0.5]])
    np.testing.assert_array_equal(
        h.transfer(codes, down), [[0, 0.1, 0.2, NAN, NAN, NAN], [1, NAN, NAN, 0.3, 0.4, 0.5]]
    )
    with pytest.raises(ValueError, match="same paths"):
        h.transfer(codes, Hierarchy.flat(3))


def test_canonical_breaks_ties_by_shape():
    """Two children with the same labels below them but different trees: their order must not show."""
    chain = [categorical("p", a=[categorical("q", b=[])], c=[])]
    bush = [categorical("p", a=[], b=[], c=[])]
    one = hierarchy(categorical("top", left=chain, right=bush))
    other = hierarchy(categorical("top", left=bush, right=chain))
    assert one.canonical() == other.canonical()
    assert one != other


# ------------------------------------------------------------------ what must hold for any hierarchy


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


@given(coded())
def test_sampled_codes_validate(made):
    h, codes = made
    np.testing.assert_array_equal(h.validate(codes), codes)
    np.testing.assert_array_equal(h.active(codes), ~np.isnan(codes))


@given(coded())
def test_path_of_is_a_partition_and_agrees_with_the_definition(made):
    h, codes = made
    found = h.path_of(codes)
    for row, path in zip(codes, found, strict=True):
        fits = [p.index for p in h.paths if all(row[c] == k for c, k in p.choices)]
        assert fits == [path]
        assert tuple(np.flatnonzero(~np.isnan(row))) == h.paths[path].active


@given(coded(min_rows=1), st.data())
def test_a_missing_choice_leaves_a_row_unassigned(made, data):
    h, codes = made
    row = data.draw(st.integers(0, len(codes) - 1))
    on = [c for c in np.flatnonzero(h.is_categorical) if not np.isnan(codes[row, c])]
    before = h.path_of(codes)
    if not on:
        return
    codes[row, data.draw(st.sampled_from(on))] = NAN
    after = h.path_of(codes)
    assert after[row] == -1
    np.testing.assert_array_equal(np.delete(after, row), np.delete(before, row))


@given(trees(), st.randoms(use_true_random=False))
def test_canonical_does_not_depend_on_order(tree, rng):
    assert Hierarchy.from_dict(shuffled(tree, rng)).canonical() == Hierarchy.from_dict(tree).canonical()


@given(hierarchies())
def test_canonical_is_the_same_for_equivalent_hierarchies(h):
    up, down = h.merged_up(), h.pushed_down()
    assert up.canonical() == h.canonical()
    assert down.canonical() == h.canonical()
    assert up.merged_up() == up
    assert down.pushed_down() == down
    assert [p.dimension for p in up.paths] == [p.dimension for p in h.paths]
    assert [p.dimension for p in down.paths] == [p.dimension for p in h.paths]


@given(coded())
def test_codes_transfer_to_equivalent_hierarchies_and_back(made):
    h, codes = made
    for other in (h.merged_up(), h.pushed_down()):
        moved = other.validate(h.transfer(codes, other))
        np.testing.assert_array_equal(other.path_of(moved), h.path_of(codes))
        np.testing.assert_array_equal(other.transfer(moved, h), codes)


@given(hierarchies())
def test_paths_cover_the_tree(h):
    assert len(h.paths) == h.root.n_paths
    assert min(p.dimension for p in h.paths) == h.root.min_dimension == h.canonical()[0]
    assert {c for p in h.paths for c in p.active} == set(range(h.n_variables))
    assert len({p.choices for p in h.paths}) == len(h.paths)


def test_millions_of_rows_take_array_time():
    h = dataset_info("chopsticks-depth3-either").hierarchy
    codes = h.sample(1_000_000)
    start = time.perf_counter()
    h.validate(codes)
    paths = h.path_of(codes)
    assert time.perf_counter() - start < 10  # about one second; per-row Python would take minutes
    assert paths.min() == 0
    assert paths.max() == 13


# ------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        ([[0.1, 0.2, 0, 0.3, 0.4, NAN, NAN]], "row 0: variable 'angle' is inactive and must be NaN, got 0.4"),
        ([[0.1, NAN, 1, NAN, NAN, NAN, NAN]], "row 0: variable 'y' is active and must have a value, got NaN"),
        (
            [[0.1, 0.2, 3, NAN, NAN, NAN, NAN]],
            "row 0: categorical 'shape' must be an option index 0..2, got 3",
        ),
        ([[0.1, 0.2, 0.5, NAN, NAN, NAN, NAN]], "categorical 'shape' must be an option index 0..2, got 0.5"),
        ([[0.1, 0.2, -1, NAN, NAN, NAN, NAN]], "categorical 'shape' must be an option index 0..2, got -1"),
        ([[np.inf, 0.2, 1, NAN, NAN, NAN, NAN]], "row 0: variable 'x' must be finite, got inf"),
        ([[0.1, 0.2, 1, NAN, NAN, NAN, NAN], [0.1, 0.2, NAN, NAN, NAN, NAN, NAN]], "row 1: variable 'shape'"),
        ([[0.1, 0.2]], r"codes must have shape \(n_rows, 7\).*got \(1, 2\)"),
        ([0.1] * 7, r"codes must have shape \(n_rows, 7\).*got \(7,\)"),
        ([["a"] * 7], "codes must be a numeric array"),
        ([[0.1] * 7, [0.1]], "codes must be a numeric array"),
    ],
)
def test_validate_names_the_row_and_the_variable(shapes, codes, message):
    with pytest.raises(ValueError, match=message):
        shapes.validate(codes)


def test_validate_names_the_first_bad_row(shapes):
    codes = shapes.sample(100)
    codes[70, 0], codes[30, 2] = NAN, 7
    with pytest.raises(ValueError, match="row 30: categorical 'shape'"):
        shapes.validate(codes)


def test_path_of_refuses_options_that_do_not_exist(shapes):
    with pytest.raises(ValueError, match=r"row 1: categorical 'shape' must be an option index 0..2, got 3"):
        shapes.path_of([[0, 0, 1, NAN, NAN, NAN, NAN], [0, 0, 3, NAN, NAN, NAN, NAN]])


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


def test_shuffled_is_only_a_reordering():
    tree = dataset_info("spaceshapes").hierarchy.to_dict()
    assert sorted(json.dumps(shuffled(tree, random.Random(3)))) == sorted(json.dumps(tree))


def test_path_of_keeps_no_codes_alive():
    hierarchy = Hierarchy.flat(1, (2, 2))
    codes = hierarchy.sample(100)
    array = weakref.ref(codes)
    gc.collect()
    gc.disable()
    try:
        hierarchy.path_of(codes)
        del codes
        assert array() is None
    finally:
        gc.enable()


# ------------------------------------------------------------------ in notebooks


def test_html_by_hand():
    h = Hierarchy.from_dict(
        {
            "variables": [
                {"kind": "continuous", "name": "x"},
                {
                    "kind": "categorical",
                    "name": "shape",
                    "options": [
                        {"name": "moon", "variables": [{"kind": "continuous", "name": "phase"}]},
                        {"name": "none", "variables": []},
                    ],
                },
            ]
        }
    )
    style = ' style="list-style:none;margin:0;padding-left:1.2em"'
    assert h._repr_html_() == (
        f"<div><small>2 paths, 1 to 2 dimensions</small><ul{style}><li>○ x</li><li>◇ shape<ul>"
        f"<li><b>moon</b><ul{style}><li>○ phase</li></ul></li><li><b>none</b> ∅</li></ul></li></ul></div>"
    )
    assert Hierarchy.flat(1)._repr_html_().startswith("<div><small>1 path, 1 dimension</small>")


def test_html_is_escaped():
    name = "<script>alert('&')</script>"
    options = [{"name": name, "variables": [{"kind": "continuous", "name": name + "2"}]}]
    tree = {"variables": [{"kind": "categorical", "name": name + "1", "options": options}]}
    page = Hierarchy.from_dict(tree)._repr_html_()
    assert "<script>" not in page
    assert page.count("&lt;script&gt;alert(&#x27;&amp;&#x27;)") == 3


@given(hierarchies())
def test_html_has_every_name_and_closes_every_tag(h):
    page = h._repr_html_()
    assert all(escape(v.name) in page for v in h.variables)
    assert all(
        page.count(f"<{tag}>") + page.count(f"<{tag} ") == page.count(f"</{tag}>") for tag in ("ul", "li", "b")
    )
