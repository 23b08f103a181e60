"""Hierarchies as text, graph and HTML."""

from html import escape

from hypothesis import given

from disentree import Hierarchy
from strategies import hierarchies

from .conftest import categorical, continuous, hierarchy


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


def test_many_variables_are_on_one_line():
    many = Hierarchy.flat(100, categories=[2])
    assert str(many).splitlines() == ["○ z1, z2, …, z100: 100 variables", "◇ c1", "├── 0 ∅", "└── 1 ∅"]
    inner = hierarchy(categorical("a", x=continuous(*(f"v{i}" for i in range(30))), y=continuous("w")))
    assert str(inner).splitlines() == [
        "◇ a",
        "├── x",
        "│   └── ○ v0, v1, …, v29: 30 variables",
        "└── y",
        "    └── ○ w",
    ]


def test_networkx(shapes):
    graph = shapes.to_networkx()
    kinds = [data["kind"] for _, data in graph.nodes(data=True)]
    assert {kind: kinds.count(kind) for kind in kinds} == {"group": 6, "continuous": 5, "categorical": 2}
    assert graph.number_of_edges() == graph.number_of_nodes() - 1
    columns = {data["column"]: data["name"] for _, data in graph.nodes(data=True) if "column" in data}
    assert [columns[i] for i in range(7)] == [v.name for v in shapes.variables]
    assert graph.nodes["root"]["label"] == 2


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
