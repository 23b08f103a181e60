"""Tables on the page: columns in their units, reasons, the map of rows; covers `tables.py`, `rows.py` and
`features.py`."""

import json

import numpy as np
import pandas as pd
import pytest

from disentree import COFHAE
from disentree.explorer import Page, explore, from_run
from disentree.explorer.loading import from_model
from disentree.explorer.rows import shares
from disentree.explorer.steering import Steerer
from disentree.hierarchy import Hierarchy

from .conftest import make_run, quick_model, serving, settled, until

EVIL = "</script><b>x</b>"
CODE = "explorer.panels[0].tree.code(explorer.panels[0].values)"
CELLS = ".bar-list tbody td:nth-child(3)"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Homes, half of which have a garage: columns of all kinds, cells that are empty because there is none."""
    folder = tmp_path_factory.mktemp("homes")
    rng = np.random.default_rng(0)
    n = 400
    garage = np.arange(n) % 2 == 1
    size = rng.normal(size=n)
    frame = pd.DataFrame(
        {
            "area": np.exp(4.5 + 0.3 * size).round(2),
            EVIL: (2 * size + rng.normal(size=n)).round(3),
            "built": rng.integers(1900, 2000, n),
            "kind": rng.choice(["flat", "house", "<i>loft</i>"], n),
            "garage_area": np.where(garage, rng.normal(20, 3, n).round(1), np.nan),
            "garage_kind": np.where(garage, rng.choice(["brick", "wood"], n), None),
            "garage_plate": [f"plate {i}" if there else None for i, there in enumerate(garage)],
        }
    )
    frame.to_csv(folder / "homes.csv", index=False)
    made = make_run(folder / "run", str(folder / "homes.csv"), None, structure="mimosa")
    option = next(v for v in made.hierarchy.variables if v.kind == "categorical")
    reasons = [
        {"path": [o], "categorical": option.name, "option": o, "name": f"{o} garage {EVIL}",
         "text": f"garage_area is {'empty' if 'not given' in o else 'there'} in all of these."}
        for o in option.options
    ]  # fmt: skip
    made.write_json("explanation.json", {"columns": [], "splits": reasons, "leaves": [], "variables": []})
    support = [{"path": p.index, "support": 0.4 + 0.5 * p.index} for p in made.hierarchy.paths]
    made.write_json("stability.json", {"n_resamples": 20, "components": support})
    return made


@pytest.fixture(scope="module")
def homes(run):
    return from_run(run, device="cpu")


@pytest.fixture
def page(browse, exported, homes):
    return browse(exported(Page(homes)), offline=True)


def texts(page, selector):
    return page.locator(selector).all_text_contents()


def test_cells_are_those_of_the_model(page, run):
    model = COFHAE.load(run.folder)
    names = texts(page, ".bar-list th[scope=row]")
    seen = set()
    for k in range(page.locator("fieldset:visible").first.locator("> .options input").count()):
        page.locator("fieldset").first.locator("> .options input").nth(k).check()
        settled(page)
        code = np.array([[np.nan if v is None else v for v in page.evaluate(CODE)]])
        frame = model.inverse_transform(code)
        for name, text in zip(names, texts(page, CELLS), strict=True):
            value = frame[name][0]
            seen.add(text if pd.isna(value) else type(value).__name__)
            if pd.isna(value):
                assert text == "not applicable"
            elif isinstance(value, str):
                assert text == value
            else:
                assert float(text.replace("−", "-").replace(",", "")) == pytest.approx(value, rel=1e-3, abs=1e-3)
    assert "not applicable" in seen
    assert len(seen) > 2


def test_reasons_and_support_are_beside_the_radio_buttons(page):
    told = page.locator(".options.told .option")
    assert told.count() == 2
    text = " ".join(told.all_inner_texts())
    for words in (
        "garage_area is there in all of these.",
        "garage_area is empty",
        "weak support 40%",
        "support 90%",
    ):
        assert words in text
    assert EVIL in text
    assert page.locator(".options b, .label b, .colors b").count() == 0
    assert page.locator(".support.weak").count() == 1


def test_the_map_and_the_tree_are_linked(page, run):
    for k in (0, 1):
        page.locator(".map .label").nth(k).click()
        settled(page)
        assert page.locator(".colors .lit").inner_text() == page.locator(".label.lit title").first.evaluate(
            "(t) => t.textContent.split(':')[0]"
        )
        other = page.evaluate(
            "explorer.panels[0].scatter.map.paths.findIndex((p) => p !== explorer.panels[0].scatter.leaf)"
        )
        x, y = page.evaluate(f"explorer.panels[0].scatter.at[{other}]")
        page.locator("canvas.scatter").click(position={"x": x, "y": y})
        settled(page)
        found = page.evaluate("[explorer.panels[0].scatter.leaf, explorer.panels[0].scatter.map.paths]")
        clicked = page.locator(".info").inner_text()
        row = int(clicked.split(" · ")[0].removeprefix("row "))
        assert found[0] == found[1][page.evaluate("explorer.panels[0].scatter.map.rows").index(row)]
    paths = page.evaluate("explorer.panels[0].scatter.map.paths")
    labels = run.read_npz("labels.npz", "train", "test", "labels", "test_labels")
    every = np.empty(400, int)
    every[labels["train"]], every[labels["test"]] = labels["labels"], labels["test_labels"]
    assert paths == every.tolist()


def test_the_map_by_columns(page):
    picture = "document.querySelector('canvas.scatter').toDataURL()"
    seen = {page.evaluate(picture)}
    choose = page.get_by_label("map: color by")
    options = choose.locator("option").all_text_contents()
    assert EVIL in options
    for name, legend in (("kind", "<i>loft</i>"), ("garage_area", "not applicable"), ("built", "19")):
        choose.select_option(label=name)
        assert legend in page.locator(".colors").inner_text()
        seen.add(page.evaluate(picture))
    page.get_by_label("map: x").select_option(label="area")
    seen.add(page.evaluate(picture))
    assert len(seen) == 5
    assert "kind" not in page.get_by_label("map: x").locator("option").all_text_contents()


def test_largest_movers_first_and_the_rest_on_request(page):
    page.locator(".strip").first.scroll_into_view_if_needed()
    until(page, "document.querySelectorAll('.strip .movers li').length > 0")
    settled(page)
    sizes = page.evaluate("[...explorer.panels[0].strips.rows.values()][0].movers.moves.map((m) => m.size)")
    assert sizes == sorted(sizes, reverse=True)
    first = page.locator(".strip").first
    few = first.locator("li").count()
    more = first.locator("button")
    if few < len(sizes):
        more.click()
    assert first.locator("li").count() == len(sizes)


def test_a_row_of_my_own_with_categories_and_empty_cells(page, run):
    model = COFHAE.load(run.folder)
    alone = model.in_features()  # a page has no MIMOSA: the encoder says the path
    cells = {"kind": "house", "area": 95.5, EVIL: 0.3, "built": 1950, "garage_area": None, "garage_kind": None}
    cells |= {"garage_plate": None}
    header = ";".join(cells)
    row = ";".join("" if v is None else str(v) for v in cells.values())
    page.click("#mine")
    page.fill("textarea", f"{header}\n{row}")
    page.click("text=Show it")
    page.wait_for_selector("dialog", state="hidden")
    settled(page)
    code = np.array(page.evaluate("explorer.panels[0].original.code"), dtype=float)
    assert code == pytest.approx(
        alone.transform(model.preprocessor_.to_features(pd.DataFrame([cells])))[0], abs=1e-4, nan_ok=True
    )
    assert "by the encoder alone" in page.content()
    was = dict(zip(texts(page, ".bar-list th[scope=row]"), texts(page, ".bar-list td.was"), strict=True))
    assert (was["kind"], was["area"], was["built"], was["garage_area"]) == (
        "house",
        "95.5",
        "1950",
        "not applicable",
    )
    new = cells | {"garage_area": 21.5, "garage_kind": "wood", "garage_plate": "never seen"}
    page.click("#mine")
    page.fill("textarea", header + "\n" + ";".join(map(str, new.values())))
    page.click("text=Show it")
    page.wait_for_selector("dialog", state="hidden")
    settled(page)
    code = np.array(page.evaluate("explorer.panels[0].original.code"), dtype=float)
    features = model.preprocessor_.to_features(pd.DataFrame([new]))
    assert code == pytest.approx(alone.transform(features)[0], abs=1e-4, nan_ok=True)
    page.click("#mine")
    page.fill("textarea", f"{header}\n{row.replace('house', 'castle')}")
    page.click("text=Show it")
    page.wait_for_selector(".problem:not(:empty)")
    assert 'must be one of <i>loft</i>, flat, house, and is "castle"' in page.locator(".problem").inner_text()


def test_shares_agree_with_the_labels(page, run):
    labels = run.paths
    expected = {f"{100 * (labels == k).mean():.1f}%" for k in (0, 1)}
    assert set(texts(page, ".option small:nth-of-type(1)")) == expected
    assert set(texts(page, ".label .share")) - {"100%"} == expected


def test_names_are_followed_when_the_page_is_made_again(run, browse, exported):
    option = next(v for v in run.hierarchy.variables if v.kind == "categorical")
    names = {
        "variables": {option.name: "Parking"},
        "options": {option.name: {option.options[0]: "on the <u>street</u>"}},
    }
    (run.folder / "names.json").write_text(json.dumps(names))
    try:
        page = browse(exported(Page(from_run(run, device="cpu"))))
    finally:
        (run.folder / "names.json").unlink()
    assert "on the <u>street</u>" in texts(page, ".option span")
    assert texts(page, "fieldset > legend")[0] == "Parking"
    assert f"{option.name}=" in page.evaluate("location.hash") or option.name in page.evaluate(
        "explorer.panels[0].tree.variables.map((v) => v.id)"
    )


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_the_screen(browse, exported, homes, width, scheme):
    page = browse(exported(Page(homes)), viewport={"width": width, "height": 844}, color_scheme=scheme)
    page.click("#random")
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    clipped = page.evaluate(
        """[...document.querySelectorAll(
             ".slider label, .option span, .bar-list td, .bar-list th, .movers span, .reason")]
           .filter((e) => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0)
           .map((e) => e.outerHTML)"""
    )
    assert clipped == []


def test_shares_of_paths():
    h = Hierarchy.flat(1, (2,))
    assert shares(h, np.array([0, 0, 1, -1])) == {
        "n_rows": 4,
        "paths": [{"choices": [0], "n_rows": 2}, {"choices": [1], "n_rows": 1}],
    }


# ------------------------------------------------------------------ models of data frames


def test_a_model_of_a_frame_with_text_and_empty_cells():
    rng, n = np.random.default_rng(0), 120
    there = np.arange(n) % 3 == 0
    frame = pd.DataFrame(
        {
            "kind": rng.choice(["flat", "house"], n),
            "area": rng.normal(90, 9, n),
            "garage": np.where(there, rng.normal(20, 3, n), np.nan),
        }
    )
    model = quick_model().fit(frame, hierarchy=Hierarchy.flat(2, (2,)), paths=there.astype(int))
    found = from_model(model, frame)
    columns = {column["name"]: column for column in found.columns}
    assert list(columns) == ["area", "garage", "kind"]  # numbers first, as in the features
    assert columns["kind"]["levels"] == ["flat", "house"]
    assert columns["garage"]["flag"] == len(found.feature_names) - 1
    np.testing.assert_array_equal(found.codes()[0], model.transform(frame.iloc[list(found.rows)]))
    np.testing.assert_array_equal(
        found.maps[0].cells,
        np.column_stack([frame["area"], frame["garage"], (frame["kind"] == "house").astype(float)]),
    )
    assert "house" in explore(model, frame).html
    assert "house" in explore(model).html
    assert model.preprocessor_.table is not None  # it still takes frames


def test_dates_in_another_form_are_refused(browse, exported):
    """In 09/08/2020 the day may come first or second."""
    rng = np.random.default_rng(0)
    sold = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, 60), unit="D")
    frame = pd.DataFrame({"sold": sold, "area": rng.normal(90, 9, 60), "kind": rng.choice(["flat", "house"], 60)})
    model = quick_model().fit(frame, hierarchy=Hierarchy.flat(1), paths=np.zeros(60, int))
    page = browse(exported(explore(model, frame)), offline=True)
    for date in ("09/08/2020", "8 September 2020", "2020-13-08", ""):
        page.click("#mine")
        page.fill("textarea", f"kind;area;sold\nhouse;95;{date}")
        page.click("text=Show it")
        page.wait_for_selector(".problem:not(:empty)")
        said = page.locator(".problem").inner_text()
        assert f'sold must be a date such as 2024-09-24, and is "{date}"' in said
        page.keyboard.press("Escape")
    page.click("#mine")
    page.fill("textarea", "kind;area;sold\nhouse;95;2020-09-08")
    page.click("text=Show it")
    page.wait_for_selector("dialog", state="hidden")
    settled(page)
    code = np.array(page.evaluate("explorer.panels[0].original.code"), dtype=float)
    cells = pd.DataFrame({"sold": [pd.Timestamp("2020-09-08")], "area": [95.0], "kind": ["house"]})
    assert code == pytest.approx(model.transform(cells)[0], abs=1e-4, nan_ok=True)


def test_the_model_of_a_run_takes_the_table_as_it_is(run, homes):
    frame = pd.read_csv(run.folder.parent / "homes.csv")
    mine = from_model(COFHAE.load(run.folder, device="cpu"), frame)
    assert mine.feature_names == homes.feature_names
    assert [c["name"] for c in mine.columns] == [c["name"] for c in homes.columns]
    at = {row: i for i, row in enumerate(mine.rows)}
    both = [i for i, row in enumerate(homes.rows) if row in at]
    assert both
    np.testing.assert_allclose(homes.X[both], mine.X[[at[homes.rows[i]] for i in both]], atol=1e-6)
    assert Page(mine).html.startswith("<!doctype html>")


COUNT = "document.querySelector('.count').textContent"


def test_levels_by_a_slider_in_a_file(homes, browse, exported):
    page = browse(exported(Page(homes)))
    n = len(homes.steering["levels"][-1])
    assert page.evaluate(COUNT) == f"{n} of {n}"
    names = page.locator(".groups .name").all_inner_texts()
    assert len(names) == n > 1
    page.locator(".level input").fill("0")
    assert page.evaluate(COUNT) == f"1 of {n}"
    assert page.locator(".groups .name").all_inner_texts() == ["all rows"]
    assert page.evaluate("explorer.panels[0].scatter.color.select.value") == "level"
    assert page.locator(".levels code").inner_text() == homes.steering["command"]
    assert page.locator(".levels .steer").count() == 0


def test_the_map_is_colored_by_what_matters_most(homes):
    [order] = homes.divisions
    columns = [v.index for v in homes.models[0].hierarchy_.variables if v.kind == "categorical"]
    assert sorted(order) == columns


class Steps(Steerer):
    """Takes the place of what changes a run: remembers what it was asked for."""

    def __init__(self, run):
        super().__init__(run, "cpu")
        self.asked = []

    def begin(self, request, done):
        self.asked.append(request)
        self.problem = "nothing was found inside" if "split" in (request["step"] or {}) else None


def test_steering_in_a_page_that_is_served(run, homes, browse):
    steps = Steps(run)
    with serving(homes, steerer=steps) as address:
        page = browse(address)
        merge, split = (page.locator(".steer button", has_text=name) for name in ("Merge", "Split"))
        assert merge.is_disabled()
        assert page.locator(".steer button", has_text="Undo").is_disabled()
        boxes = page.locator(".groups input")
        boxes.nth(0).check()
        split.click()
        until(page, "document.getElementById('message').textContent.startsWith('nothing was found inside')")
        assert not split.is_disabled()
        boxes.nth(1).check()
        with page.expect_navigation():  # the page is loaded again
            merge.click()
        settled(page)
        page.locator(".rename input").fill("a garage")
        with page.expect_navigation():
            page.locator(".rename button").click()
        settled(page)
    assert steps.asked[0] == {"after": 0, "step": {"split": homes.steering["levels"][-1][0]["paths"][0]}}
    assert sorted(steps.asked[1]["step"]["merge"]) == [0, 1]
    assert steps.asked[2]["step"] == {"rename": {homes.steering["names"][0][0]: "a garage"}}
