"""The page in a real Chromium, served and from a file; covers `page/` and `content.py`."""

import json
import os
from urllib.parse import urlsplit

import numpy as np
import pytest

from disentree import COFHAE, Hierarchy
from disentree.datasets import load_dataset
from disentree.explorer import Page, explore, from_model, from_run

from .conftest import quick_model, serving, settled, until

# The code that is set, the observation that is shown, and what a canvas looks like
CODE = "explorer.panels[0].tree.code(explorer.panels[0].values)"
SHOWN = "Array.from(explorer.panels[0].stage.x)"
PICTURE = "document.querySelector('.stage canvas').toDataURL()"


@pytest.fixture(params=["served", "exported"])
def url(request, address, explored, exported):
    return address if request.param == "served" else exported(Page(explored))


@pytest.fixture
def file(explored, exported):
    return exported(Page(explored))


def code_on(page):
    return np.array([np.nan if v is None else v for v in page.evaluate(CODE)])


def shown_on(page, model):
    """What is drawn, and what the model says it should be."""
    settled(page)
    return np.array(page.evaluate(SHOWN)), model.inverse_transform(code_on(page)[None])[0].ravel()


# ------------------------------------------------------------------ both forms


def test_sliders_move_the_picture(browse, url, explored):
    page = browse(url)
    assert page.title() == "chopsticks-depth2-either"
    before, picture = code_on(page), page.evaluate(PICTURE)
    slider = page.locator(".controls input[type=range]:visible").first
    slider.focus()
    for _ in range(20):
        page.keyboard.press("ArrowRight")
    settled(page)
    moved = np.flatnonzero(code_on(page) != before)
    moved = moved[~np.isnan(before[moved])]
    assert len(moved) == 1
    assert code_on(page)[moved] > before[moved]
    assert page.evaluate(PICTURE) != picture
    drawn, expected = shown_on(page, explored.models[0])
    assert np.abs(drawn - expected).max() <= 1e-5


def test_radio_buttons_open_and_close_groups(browse, url, explored):
    page = browse(url)
    hierarchy = explored.models[0].hierarchy_
    root = next(v for v in hierarchy.variables if v.kind == "categorical")
    for k in range(root.n_options):
        page.locator("fieldset").first.locator("> .options input").nth(k).check()
        settled(page)
        active = hierarchy.active(code_on(page)[None])[0]
        assert np.array_equal(active, ~np.isnan(code_on(page)))
        names = {v.name for v in hierarchy.variables if active[v.index]}
        visible = page.locator(".slider:visible label, fieldset:visible > legend").all_text_contents()
        assert set(visible) == names
        assert sorted(page.locator(".strip:visible h3").all_text_contents()) == sorted(
            v.name for v in hierarchy.variables if active[v.index] and v.kind == "continuous"
        )
        lit = page.locator(".label.lit .name").all_text_contents()
        assert lit[-1] == "all rows"  # drawn last, above its ribbons
        assert root.options[k] in lit
        drawn, expected = shown_on(page, explored.models[0])
        assert np.abs(drawn - expected).max() <= 1e-5


def test_a_branch_of_the_tree_can_be_clicked(browse, file):
    page = browse(file)
    for k in (0, 3, 5):
        label = page.locator(".map .label").nth(k)
        label.click()
        settled(page)
        assert "lit" in label.get_attribute("class")


def test_a_random_instance_is_a_row_and_its_code(browse, url, explored):
    page = browse(url)
    seen = set()
    for _ in range(4):
        page.click("#random")
        settled(page)
        row = page.evaluate("explorer.panels[0].row")
        seen.add(row)
        expected = explored.codes()[0][row]
        assert code_on(page) == pytest.approx(expected, rel=1e-6, nan_ok=True)
        assert page.locator(".status b").inner_text() == f"held-out row {explored.rows[row]:,}"
        original = np.array(page.evaluate("Array.from(explorer.panels[0].original.x)"))
        assert np.array_equal(original, explored.X[row])
        drawn, again = shown_on(page, explored.models[0])
        assert np.abs(drawn - again).max() <= 1e-5
    assert len(seen) > 1
    page.keyboard.press("Shift+R")  # one of the same leaf
    settled(page)
    path = explored.models[0].hierarchy_.path_of(explored.codes()[0])
    assert path[page.evaluate("explorer.panels[0].row")] == path[row]
    page.locator(".strip canvas").first.click()  # away from it, and back
    settled(page)
    page.get_by_text("back to the row").click()
    settled(page)
    assert page.get_by_text("back to the row").is_hidden()
    page.get_by_text("hide it").click()
    settled(page)
    assert page.locator(".status").is_hidden()


def test_the_address_carries_the_state(browse, url):
    page = browse(url)
    page.click("#random")
    page.click("#pin")
    page.locator(".map .label").nth(4).click()
    page.click("#pin")
    page.locator(".strip:visible canvas").first.click()
    settled(page)
    until(page, "location.hash.includes('_1b.')")
    page.wait_for_timeout(300)
    state = f"[{CODE}, explorer.panels[0].row, explorer.panels[0].pins.map((p) => p.code)]"
    before = page.evaluate(state)
    picture = page.evaluate(PICTURE)
    page.reload()
    settled(page)
    after = page.evaluate(state)
    assert after[1] == before[1]
    for a, b in zip([after[0], *after[2]], [before[0], *before[2]], strict=True):
        assert [v is None for v in a] == [v is None for v in b]
        assert [v or 0 for v in a] == pytest.approx([v or 0 for v in b], rel=1e-6)
    assert page.evaluate(PICTURE) == picture
    assert page.locator(".pin:visible").count() == 2


def test_nonsense_in_the_address_is_left_out(browse, file):
    page = browse(file + "#stick1=99&nobody=1&_row=abc&_1a.stick1=x&slope1=NaN&%E0%A4%A")
    assert page.locator("#message").is_hidden()


def test_a_row_of_my_own(browse, url, explored):
    page = browse(url)
    page.keyboard.press("d")
    page.fill("textarea", "1, 2, three")
    page.click("text=Show it")
    assert "64 numbers, and here are 3" in page.locator(".problem").inner_text()
    page.fill("textarea", ", ".join(["1"] * 63 + ["x"]))
    page.click("text=Show it")
    assert 'value 64 must be a number, and is "x"' in page.locator(".problem").inner_text()
    for row, separator in ((2, ", "), (30, "\t"), (35, "\n")):
        if page.locator("dialog").is_hidden():
            page.click("#mine")
        page.fill("textarea", separator.join(map(repr, explored.X[row].tolist())))
        page.click("text=Show it")
        page.wait_for_selector("dialog", state="hidden")
        settled(page)
        assert code_on(page) == pytest.approx(explored.codes()[0][row], abs=1e-4, nan_ok=True)
        assert page.locator(".status b").inner_text() == "my row"


def test_keys_pins_themes_and_help(browse, file):
    page = browse(file, color_scheme="dark")
    background = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(background)
    page.keyboard.press("t")
    assert page.evaluate(background) != dark
    page.keyboard.press("p")
    page.locator(".strip canvas").nth(1).click()
    page.keyboard.press("p")
    settled(page)
    assert page.locator(".pin").count() == 2
    middle = page.locator(".between input")
    middle.focus()
    page.keyboard.press("End")
    settled(page)
    pinned = page.evaluate("explorer.panels[0].pins[1].code")
    assert [v for v in page.evaluate(CODE) if v is not None] == pytest.approx([v for v in pinned if v is not None])
    page.get_by_label("remove pin A").click()
    assert page.locator(".pin").count() == 1
    page.keyboard.press("?")
    assert "1st and the 99th percentile" in page.locator("dialog[open]").inner_text()
    page.keyboard.press("Escape")
    assert page.locator("dialog[open]").count() == 0


def test_every_control_has_a_name(browse, file):
    page = browse(file)
    nameless = page.evaluate(
        """[...document.querySelectorAll("input, button, textarea, canvas[role=img], svg[role=img]")].filter((e) =>
             !(e.getAttribute("aria-label") || e.labels?.[0]?.textContent || e.textContent.trim())
             && e.checkVisibility()).map((e) => e.outerHTML)"""
    )
    assert nameless == []
    assert page.evaluate("[...document.querySelectorAll('fieldset > legend')].every((l) => l.textContent)")
    assert page.locator("[aria-live]").count() == 1


@pytest.mark.parametrize("width", [360, 768])
def test_fits_a_phone(browse, file, width):
    page = browse(file, viewport={"width": width, "height": 740})
    page.click("#random")
    page.click("#pin")
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    if width < 720:  # the picture stays in sight above the sliders, and leaves room for them
        page.mouse.wheel(0, 300)
        page.wait_for_timeout(100)
        stage = page.locator(".stage").bounding_box()
        assert stage["y"] >= 0
        assert stage["height"] < 300


# ------------------------------------------------------------------ only one of them


def test_inactive_variables_are_not_sent(browse, address, explored):
    page = browse(address)
    sent = []
    page.on("request", lambda r: sent.append(json.loads(r.post_data)["codes"]) if "decode" in r.url else None)
    hierarchy = explored.models[0].hierarchy_
    for k in (1, 4):
        page.locator(".map .label").nth(k).click()
        settled(page)
        active = hierarchy.active(code_on(page)[None])[0]
        names = {v.name for v in hierarchy.variables if active[v.index]}
        assert len(sent)
        assert all(set(code) == names for codes in sent for code in codes)
        sent.clear()


def test_the_server_is_asked_quickly_enough(browse, address):
    page = browse(address)
    times = page.evaluate(
        """(async () => {
             const { model, tree, values } = explorer.panels[0], out = [];
             for (let i = 0; i < 40; i++) {
               const began = performance.now();
               await model.decode([tree.code(values)]);
               out.push(performance.now() - began);
             }
             return out;
           })()"""
    )
    others = max(1, os.getloadavg()[0] / (os.cpu_count() or 1))  # the machine may be busy with other work
    assert min(times) < 30 * others


def test_a_server_that_went_away_is_told(chromium, explored):
    with serving(explored) as address:
        page = chromium.new_page()
        page.goto(address)
        settled(page)
    page.click("#random")
    page.wait_for_selector("#message:not([hidden])")
    assert "does not answer" in page.locator("#message").inner_text()
    page.close()


def test_the_file_needs_nothing_else(browse, explored, exported):
    url = exported(Page(explored))
    asked = []
    page = browse(url, offline=True)
    page.on("request", lambda r: asked.append(r.url))
    page.click("#random")
    page.keyboard.press("p")
    settled(page)
    page.wait_for_timeout(300)
    assert [u for u in asked if urlsplit(u).scheme not in ("data", "blob")] == []
    drawn, expected = shown_on(page, explored.models[0])
    assert np.abs(drawn - expected).max() <= 1e-5
    navigation = page.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd")
    assert navigation < 5000  # a busy machine; benchmarks/explorer.py measures


def test_two_runs_side_by_side(browse, runs, exported):
    both = from_run(runs[0], runs[1], device="cpu")
    url = exported(Page(both))
    with serving(both) as address:
        for at in (address, url):
            page = browse(at)
            assert page.locator("h2.run").all_inner_texts()[0].startswith("first")
            page.click("#random")
            settled(page)
            row = page.evaluate("explorer.panels[0].row")
            for p, codes in enumerate(both.codes()):
                own = page.evaluate(f"explorer.panels[{p}].tree.code(explorer.panels[{p}].values)")
                assert np.array(own, dtype=float) == pytest.approx(codes[row], rel=1e-6, nan_ok=True)
                drawn = np.array(page.evaluate(f"Array.from(explorer.panels[{p}].stage.x)"))
                again = both.models[p].inverse_transform(codes[row][None])[0]
                assert np.abs(drawn - again).max() <= 1e-5
            page.wait_for_timeout(300)
            page.reload()
            settled(page)
            assert page.evaluate("explorer.panels[1].row") == row


def test_a_notebook_shows_it_inline(chromium, explored):
    model, problems = explored.models[0], []
    page = chromium.new_page()
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.set_content(f"<!doctype html><body>{explore(model, explored.X, title='mine')._repr_html_()}</body>")
    frame = page.frames[-1]
    frame.wait_for_selector("html[data-ready]")
    frame.click("#random")
    until(frame, "explorer.panels[0].row !== null && !explorer.panels[0].busy")
    assert frame.locator("h1").inner_text() == "mine"
    assert problems == []
    page.close()


def test_without_rows_random_codes(browse, explored, exported):
    model = explored.models[0]
    page = browse(exported(explore(model)))
    before = code_on(page)
    page.click("#random")
    settled(page)
    assert not np.array_equal(code_on(page), before, equal_nan=True)
    model.hierarchy_.validate(code_on(page)[None])


def test_names_are_only_text(browse, exported):
    bad = "</script><img src=x onerror=alert(1)>\"'&{{"
    same = [{"kind": "continuous", "name": "same"}]
    options = [{"name": bad, "variables": same}, {"name": "", "variables": []}]
    tree = [{"kind": "continuous", "name": name} for name in (bad, "_row")]
    tree.append({"kind": "categorical", "name": "same", "options": options})
    hierarchy = Hierarchy.from_dict({"variables": tree})
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    model = quick_model().fit(X, hierarchy=hierarchy, paths=rng.integers(2, size=200))
    page = browse(exported(explore(model, X, title=bad, feature_names=[bad, "<b>", "#"])), offline=True)
    assert page.title() == bad
    assert page.locator("img").count() == 0
    assert bad in page.locator(".slider label").all_text_contents()
    page.click("#random")
    page.click("#pin")
    page.wait_for_timeout(300)
    before = page.evaluate(CODE)
    page.reload()
    settled(page)
    assert [v or 0 for v in page.evaluate(CODE)] == pytest.approx([v or 0 for v in before], rel=1e-6)


def test_two_hundred_variables(browse, exported):
    details = [[{"kind": "continuous", "name": f"d{k}_{i}"} for i in range(40)] for k in range(2)]
    tree = [{"kind": "continuous", "name": f"z{i}"} for i in range(120)]
    tree.append(
        {"kind": "categorical", "options": [{"name": str(k), "variables": d} for k, d in enumerate(details)]}
    )
    hierarchy = Hierarchy.from_dict({"variables": tree})
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 40))
    model = quick_model().fit(X, hierarchy=hierarchy, paths=rng.integers(2, size=300))
    page = browse(exported(Page(from_model(model, X, feature_names=[f"column {i}" for i in range(40)]))))
    assert page.locator(".slider:visible").count() == 160
    page.evaluate("document.querySelector('.strip').scrollIntoView()")
    until(page, "document.querySelectorAll('.strip .movers li').length > 0")
    assert page.locator(".strip .movers li").count() < 200  # only those in sight are computed
    page.fill(".find", "z11")
    assert page.locator(".slider:visible label").all_text_contents() == [
        "z11",
        *(f"z{i}" for i in range(110, 120)),
    ]
    page.evaluate("document.querySelector('.strip:last-child').scrollIntoView()")
    until(page, "document.querySelectorAll('.strip:last-child .movers li').length > 0")
    settled(page)
    milliseconds = page.evaluate("explorer.panels[0].milliseconds")
    assert milliseconds < 100


def test_independent_choices_stand_side_by_side(browse, exported):
    ds = load_dataset("product-3", n_samples=600, seed=0)
    model = COFHAE(device="cpu").fit(ds.X, hierarchy=ds.hierarchy, paths=ds.paths)
    file = exported(Page(from_model(model, ds.X)))
    for width in (1280, 390):
        page = browse(file, viewport={"width": width, "height": 900})
        choices = page.locator(".beside > fieldset")
        assert choices.locator("legend").all_text_contents() == ["switch1", "switch2", "switch3"]
        first, second = choices.nth(0).bounding_box(), choices.nth(1).bounding_box()
        assert first["y"] == second["y"]
        assert first["x"] + first["width"] <= second["x"]
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        # One choice does not move the others, and opens its own sliders only.
        choices.nth(1).locator("input[type=radio]").nth(1).check()
        settled(page)
        before = code_on(page)
        choices.nth(0).locator("input[type=radio]").nth(int(1 - before[1])).check()
        settled(page)
        after = code_on(page)
        np.testing.assert_array_equal(after[3:], before[3:])
        assert after[1] == 1 - before[1]
        assert choices.nth(1).locator(".slider:visible").count() == 2
        assert page.locator(".path").first.inner_text().count(" = ") == 3  # "on" alone would not say of what
        assert page.locator(".map .ribbon.lit").count() == 3
    drawn, expected = shown_on(page, model)
    assert np.abs(drawn - expected).max() <= 1e-5
