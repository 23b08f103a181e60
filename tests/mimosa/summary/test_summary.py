"""The first screen in words: `summary.py`, `contents.py`, `wording.py`, `text.py`, `page.py`."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from disentree import MIMOSA, Hierarchy
from disentree.mimosa.explain.constants import EXPLAIN
from disentree.mimosa.explain.sentences import no_reason_sentence
from disentree.mimosa.summary.summary import summarize


def number(name):
    return {"kind": "continuous", "name": name}


def choice(name, **options):
    return {
        "kind": "categorical",
        "name": name,
        "options": [{"name": key, "variables": below} for key, below in options.items()],
    }


def tree(*variables):
    return Hierarchy.from_dict({"variables": list(variables)})


NESTED = tree(
    number("price"), choice("by a", low=[], high=[number("b"), choice("by b", left=[], right=[number("c")])])
)
LABELS = np.repeat([0, 1, 2], [50, 30, 20])
WORTH = [
    {"variable": 1, "bits": 0.5, "support": [0.9, 0.8]},
    {"variable": 3, "bits": 2.0, "support": [0.7, 0.6]},
]
SAVED = {"saved": 2.0, "doubt": 0.1}


def test_the_division_that_saves_most_is_told_first():
    first = summarize(NESTED, LABELS, evidence=WORTH, **SAVED).sentences[0]
    assert first == (
        "A tree of 3 leaves; its largest divisions: left (30.0 %) or right (20.0 %), within “high”; "
        "low (50.0 %) or high (50.0 %), of all rows."
    )
    turned = [{**WORTH[0], "bits": 2.5}, WORTH[1]]  # and more rows are on its smaller branch
    assert (
        "largest divisions: low (50.0 %) or high (50.0 %), of all rows; left"
        in summarize(NESTED, LABELS, evidence=turned, **SAVED).sentences[0]
    )


def test_a_division_that_parts_of_the_rows_do_not_bring_back_is_only_counted():
    lost = [WORTH[0], {**WORTH[1], "support": [0.7, 0.3]}]
    found = summarize(NESTED, LABELS, evidence=lost, **SAVED)
    assert found.sentences[0].endswith("divisions: low (50.0 %) or high (50.0 %), of all rows; and 1 more.")
    assert "bring every group but “right” back." in found.sentences[2]
    assert "right (20.0 %)  (!)" in str(found)


def test_what_varies_everywhere_and_where_only():
    assert summarize(NESTED, LABELS).sentences[1] == "price varies in every group; in “high” also b and c."
    groups = tree(number("size (2)"), choice("by a", low=[number("b")], high=[number("a, b")]))
    assert summarize(groups).sentences[1] == "Within every group rows differ in 2 variables: size, b and a."
    apart = tree(choice("by a", low=[], high=[number("a, b"), number("z1")]))
    assert summarize(apart).sentences[1] == (
        "Rows differ not at all within “low”; in 2 variables within “high” (a and b)."
    )


@pytest.mark.parametrize(
    ("saved", "doubt", "said"),
    [(2.0, 0.1, "This is beyond chance, and"), (0.2, 0.1, "This may be chance, and")],
)
def test_how_sure_it_is(saved, doubt, said):
    found = summarize(NESTED, LABELS, evidence=WORTH, saved=saved, doubt=doubt)
    assert found.sentences[2] == (
        f"{said} parts of the rows, searched by themselves, bring every group back (to 60.0 % or more)."
    )


def test_resamples_are_told_in_place_of_the_parts():
    resampled = {
        "n_resamples": 10,
        "branches": [{"support": share} for share in (1.0, 0.9, 0.4, 0.8)],
    }
    said = summarize(NESTED, LABELS, evidence=WORTH, stability=resampled, **SAVED).sentences[2]
    assert "every group but “left” came back in at least 80% of 10 resamples of the rows." in said
    none = {"n_resamples": 10, "branches": [{"support": 0.2}] * 4}
    said = summarize(NESTED, LABELS, stability=none, **SAVED).sentences[2]
    assert said == "This is beyond chance, and 10 resamples of the rows do not bring any group back."


def test_independent_choices():
    both = tree(choice("garage", no=[], yes=[number("area")]), choice("sea", no=[], yes=[]))
    found = summarize(
        both, [0, 1, 2, 3], evidence=[{"variable": 2, "bits": 1.0, "support": [None, None]}], **SAVED
    )
    assert found.sentences[0] == (
        "2 yes/no properties of a row, independent of each other: no (50.0 %) or yes (50.0 %); "
        "no (50.0 %) or yes (50.0 %)."
    )
    assert str(found).index("◇ sea") < str(found).index("◇ garage")  # it saves more
    support = {"n_resamples": 4, "factors": [{"support": 0.9}, {"support": 0.25}]}
    told = summarize(both, [0, 1, 2, 3], stability=support)
    assert [one.support for one in told.root.divisions] == [0.9, 0.25]
    assert "every choice but “sea” came back in at least 90% of 4 resamples" in told.sentences[2].lower()


def test_one_cloud():
    found = summarize(tree(number("a, b"), number("z2")), [0, 0], saved=0.0, doubt=0.0)
    assert found.sentences == ["No structure found: one cloud of about 2 dimensions.", "a and b vary."]
    assert found.footnote == "No division into groups describes new rows in fewer bits than one cloud does."
    assert summarize(Hierarchy.flat(1), source="given").sentences[0] == "The tree was given. It is one group."


@pytest.mark.parametrize(
    ("bits", "times"),
    [
        (2.0, "4.0 times"),
        (10.0, "about 1,024 times"),
        (15.0, "about 33 thousand times"),
        (300.0, "more than a million"),
    ],
)
def test_bits_are_in_the_footnote(bits, times):
    found = summarize(NESTED, LABELS, saved=bits, doubt=0.1)
    assert f"takes {bits:.2f} ± 0.10 bits fewer than in one cloud: it is {times}" in found.footnote
    assert "bits" not in " ".join(found.sentences)


def test_many_variables_and_small_branches_are_one_line_each():
    names = [number(f"column{i} (2)") for i in range(6)]
    options = {f"group{k}": [] for k in range(5)} | {"large": names}
    found = summarize(tree(choice("by a", **options)), np.repeat(np.arange(6), [1, 1, 1, 1, 40, 956]))
    lines = str(found).splitlines()
    assert "    └── ○ 6 variables: column0, column1, column2, column3 and 2 more" in [
        x.replace("│", " ") for x in lines
    ]
    assert "└── 4 small branches (0.4 %): group0, group1, group2 and group3" in lines
    whole = found.text(full=True)
    assert "○ column5 (2)" in whole
    assert "group3 (0.1 %) ∅" in whole


def test_a_large_tree_fits_on_a_screen():
    def deep(level):
        if not level:
            return []
        return [choice(f"by {level}", left=deep(level - 1), right=[number(f"v{level}"), *deep(level - 1)])]

    found = summarize(tree(*deep(6)))
    shown = str(found).partition("\n\n")[2].splitlines()
    assert len(shown) <= EXPLAIN.screen
    assert any("2 branches …" in line for line in shown)
    assert found.text(full=True).count("◇") == 63


def test_the_renderings_say_the_same():
    reasons = {
        (1, 0): {"text": "a ≤ 1 in all of these.", "rule": {"text": "a < 1 <b>", "shares": "all of this group"}}
    }
    found = summarize(NESTED, LABELS, evidence=WORTH, reasons=reasons, plain=NESTED, notes=("A note.",), **SAVED)
    page = re.sub(r"<style>.*?</style>", "", found.html(), flags=re.DOTALL)
    for sentence in [*found.sentences, found.footnote]:
        assert sentence in page
        assert sentence in found.markdown()
        assert sentence in " ".join(found.text().split())
    assert "Rule: a &lt; 1 &lt;b&gt;: all of this group." in page
    assert "a ≤ 1 in all of these." in page
    assert "in the files of the run: by a = low" in page
    assert "A note." in page
    assert "A note." in found.text(full=True)
    about = json.loads(json.dumps(found.to_dict()))
    assert about["sentences"] == found.sentences
    assert about["root"]["divisions"][0]["branches"][1]["divisions"][0]["bits"] == 2.0


def test_choices_that_no_column_tells_have_a_note():
    none = {(1, k): {"text": no_reason_sentence(), "rule": None} for k in range(2)}
    assert "No column by itself tells them." in summarize(NESTED, LABELS, reasons=none).html()
    varies = summarize(NESTED, LABELS, reasons=none, choices={1: "Where high, these vary more: b."})
    assert "Where high, these vary more: b." in varies.html()


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1, 2], 150)
    centers = np.array([[0, 0, 0], [9, 9, 0], [0, 9, 9]])
    frame = pd.DataFrame(centers[group] + rng.normal(size=(450, 3)), columns=["mass", "width", "age"])
    return MIMOSA(random_state=0, n_jobs=1).fit(frame)


def test_a_fitted_model_shows_it_in_a_notebook(fitted):
    assert "3 groups of rows" in fitted._repr_html_()
    assert fitted._repr_mimebundle_()["text/html"].count('class="verdict"') == 1
    assert "sk-top-container" in MIMOSA()._repr_html_()


def test_explain_begins_with_it_and_points_to_why_for_one_row(fitted):
    assert str(fitted.explain()).startswith(fitted.verdict_)
    for one in (fitted._rows.head(1), fitted._rows.iloc[0]):
        with pytest.raises(ValueError, match="`why` says why it is on its leaf"):
            fitted.explain(one)


def test_divisions_are_worth_what_gaussians_of_their_branches_save(fitted):
    (about,) = fitted.divisions_
    assert about["bits"] == pytest.approx(fitted.levels_[-1]["bits"])
    assert min(about["support"]) == pytest.approx(fitted.levels_[-1]["support"])
    assert fitted.cut(1).summary_.root.divisions == ()


def test_it_can_be_changed_only_by_making_another(fitted):
    found = fitted.summary_
    with pytest.raises(AttributeError):
        found.resamples = 3
    assert replace(found, notes=("x",)).notes == ("x",)


def test_a_choice_of_two_is_told_by_the_rarer_and_the_important_first():
    joint = choice("type", **{"type is alone": [], "type is joint": [number("income")]})
    both = tree(
        choice("dep", **{"no dep": [], "with dep": [joint]}),
        choice("sea", **{"near the sea": [], "far from the sea": []}),
    )
    columns = [v.index for v in both.variables if v.kind == "categorical"]
    bits = dict(zip([both.variables[c].name for c in columns], [0.1, 9.0, 1.0], strict=True))
    evidence = [{"variable": c, "bits": bits[both.variables[c].name], "support": [None, None]} for c in columns]
    names = [[both.variables[c].options[k] for c, k in path.choices] for path in both.paths]
    rows = [
        i for i, own in enumerate(names) for _ in range(1 + 8 * ("with dep" in own and "type is alone" in own))
    ]
    first = summarize(both, rows, evidence=evidence, **SAVED).sentences[0]
    assert first.startswith("3 yes/no properties of a row, 2 of them independent of each other: type is joint (")
    assert "no dep (" in first
    assert "with dep" not in first
    nested = tree(choice("dep", **{"no dep": [], "with dep": [joint]}))
    told = summarize(nested, [0, 1, 1, 1, 2, 2], evidence=evidence[:1], **SAVED).sentences[0]
    assert "no dep (16.7 %), of all rows" in told
