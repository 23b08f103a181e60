"""The tree in words: `findings.py`, `summary.py`, `text.py`, `leaf_sections.py`, `scores.py`."""

import html
import json
import re
import shlex

import numpy as np
import pandas as pd
import pytest

from disentree import Hierarchy
from disentree.cli.run import print_summary
from disentree.explorer.content import variables as describe_variables
from disentree.runs import Run, RunConfig, finish_run, start_run
from disentree.runs.report.findings import Findings, read_findings
from disentree.runs.report.leaf_sections import leaf_sections, shared_variables
from disentree.runs.report.report import render
from disentree.runs.report.scores import duration
from shell import invoke

TREE = Hierarchy.from_dict(
    {"variables": [{"kind": "continuous", "name": "z1"},
                   {"kind": "categorical", "name": "c1", "options": [
                       {"name": "stop", "variables": []},
                       {"name": "branch1", "variables": [{"kind": "continuous", "name": "z2"}]}]}]}
)  # fmt: skip
EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A run of a small table with columns of several kinds, empty cells and a name that is markup."""
    folder = tmp_path_factory.mktemp("a table's run")
    rng = np.random.default_rng(0)
    n = 300
    group = np.arange(n) % 2
    frame = pd.DataFrame(
        {
            "area": rng.normal(80 + 60 * group, 5, n).round(2),
            EVIL: rng.normal(size=n).round(3),
            "built": rng.integers(1900, 2000, n),
            "kind": np.where(group, "house", rng.choice(["flat", "<b>loft</b>"], n)),
            "garage": np.where(group, rng.normal(20, 3, n).round(1), np.nan),
        }
    )
    frame.to_csv(folder / "my homes.csv", index=False)
    (folder / "h.json").write_text(TREE.to_json())
    np.save(folder / "l.npy", group)
    config = RunConfig.of(
        str(folder / "my homes.csv"),
        hierarchy_file=str(folder / "h.json"),
        labels_file=str(folder / "l.npy"),
        structure="given",
        epochs=1,
        model_settings={"hidden": [8], "targets": "none", "penalty": "none"},
    )
    run = start_run(config, folder / "the run")
    finish_run(run, device="cpu", n_jobs=1)
    return run


@pytest.fixture
def told(table):
    """The run with reasons, support and names; without them afterwards."""
    files = {
        "explanation.json": {
            "columns": ["area", EVIL],
            "splits": [
                {"path": ["branch1"], "categorical": "c1", "option": "branch1", "name": f"large {EVIL}",
                 "share": 0.5, "rows": 135, "columns": ["area"],
                 "text": "Area above 110 in 99 % of these, 0 % elsewhere.", "relations": [],
                 "rule": {"text": "area > 110", "rows": 30, "shares": "98 % of this group, and no other row"}}
            ],
            "leaves": [{"path": 1, "text": "Free here: area."}],
            "variables": [
                {"name": "z1", "group": [], "text": "Moves area.",
                 "moves": [{"column": "area", "from": 70.0, "to": 140.0},
                           {"column": "kind", "from": "flat", "to": "house"},
                           *({"column": EVIL, "from": 0.1, "to": 0.2} for _ in range(6))],
                 "on": [{"path": 1, "text": "Moves area up here.",
                         "moves": [{"column": "area", "from": 120.0, "to": 133.0}]}]}
            ],
        },
        "names.json": {"variables": {"z1": "size"}, "options": {}},
        "stability.json": {
            "n_resamples": 20, "tree": 0.9, "verdict": "A tree is well supported",
            "components": [{"path": 0, "support": 0.45}, {"path": 1, "support": 0.95}],
        },
    }  # fmt: skip
    before = {name: (table.folder / name).read_text() for name in ("explanation.json", "names.json")}
    (table.folder / "names.json").unlink()
    for name, content in files.items():
        (table.folder / name).write_text(json.dumps(content))
    yield table
    (table.folder / "stability.json").unlink()
    for name, text in before.items():
        (table.folder / name).write_text(text)


def test_the_command_line_prints_the_names_of_the_report(told, capsys):
    print_summary(told)
    printed = capsys.readouterr().out
    assert f"large {EVIL} (" in printed
    assert "○ size" in printed
    assert "branch1" not in printed


def test_the_command_line_says_what_was_found_and_how_sure_that_is(told, capsys):
    print_summary(told)
    printed = capsys.readouterr().out.splitlines()
    text = " ".join(printed)
    assert "The tree was given. 2 groups of rows: " in text
    assert "Every group but “nothing more” came back in at least 95% of 20 resamples of the rows." in text
    assert "nothing more (50.0 %) ∅  (!)" in text


def text_of(page):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page.replace("<wbr>", "")))


def first_screen(page):
    return page.partition("The words used here")[0].partition("<body>")[2]


def test_first_screen_says_it_in_words(told):
    page = render(told)
    text = text_of(first_screen(page))
    for words in (
        "Area above 110 in 99 % of these", "large", "50.0 % of rows", "support 95%", "weak support 45%",
        "Rule: area &gt; 110: 98 % of this group, and no other row.", "nothing more",
    ):  # fmt: skip
        assert words in text, words
    assert not re.search(r"\b(z\d|c\d|stop|branch\d)\b", text)
    assert ": size" in text_of(page)
    assert EVIL not in page
    assert "&lt;script&gt;" in page
    assert "<b>loft" not in page


def test_names_json_is_followed_and_checked(told):
    names = told.folder / "names.json"
    names.write_text(json.dumps({"variables": {"z1": "breadth"}, "options": {"c1": {"branch1": "<i>Villas</i>"}}}))
    page = render(told)
    assert "breadth" in page
    assert "&lt;i&gt;Villas" in page
    assert "<i>Villas" not in page
    assert invoke("report", told.folder).exit_code == 0
    assert "&lt;i&gt;Villas" in told.report_path.read_text()

    names.write_text(json.dumps({"variables": {"z9": "?"}, "options": {"c1": {"branch7": "x"}}}))
    assert "names z9, c1=branch7, which the tree has not" in invoke("report", told.folder).stderr

    for wrong in ("[1]", '{"variables": 3}', "{"):
        names.write_text(wrong)
        result = invoke("report", told.folder)
        assert result.exit_code != 0
        assert "names.json" in result.stderr
        assert "correct it, or remove it" in result.stderr or "must be of the form" in result.stderr


def test_leaves_show_their_columns_and_typical_rows(told):
    text = text_of(render(told).partition("The groups one by one")[2])
    assert "area" in text
    assert "house (100%)" in text
    assert "empty: 100% here, 50% of all" in text
    assert "Free here: area." in text
    assert text.count("70 → 140") == 1  # where the variable has no other ends
    assert text.count("120 → 133") == 1
    assert "Moves area up here." in text
    assert "flat → house" in text
    assert "3 more columns" in text
    assert "pixels" not in text
    assert "in standard deviations" in text


def test_recommended_commands_work(told):
    page = html.unescape(text_of(render(told)))
    assert "disentree score" not in page  # there is no truth
    told.report_path.unlink()
    (command,) = re.findall(r"disentree report (.*?the run')", page)
    (folder,) = shlex.split(command)
    assert invoke("report", folder).exit_code == 0
    assert told.report_path.is_file()


def test_shares_agree_everywhere(table):
    page = render(table)
    found = set(re.findall(r"(\d+\.\d) % of rows", text_of(page)))
    labels = table.paths
    assert found == {f"{100 * (labels == k).mean():.1f}" for k in (0, 1)}


def test_a_report_without_profiles_of_the_leaves(table, monkeypatch):
    monkeypatch.setattr(Run, "stages", {})  # an earlier version, which wrote none, knows of none
    for name in ("leaves.json", "map.npz"):
        (table.folder / name).rename(table.folder / f"{name}.away")
    try:
        page = render(table)
        assert "The tree" in page
        assert "The groups one by one" not in page
    finally:
        for name in ("leaves.json", "map.npz"):
            (table.folder / f"{name}.away").rename(table.folder / name)


def test_what_exists_is_named_by_its_column():
    tree = Hierarchy.from_dict(
        {"variables": [{"kind": "categorical", "name": "garage", "options": [
            {"name": "no", "variables": []}, {"name": "yes", "variables": []}]}]}
    )  # fmt: skip
    found = Findings(tree)
    assert [found.path_name(p) for p in (0, 1)] == ["no garage", "with garage"]
    assert Findings(Hierarchy.flat(2)).path_name(0) == "all rows"


def test_shown_names_do_not_change_the_tree():
    found = Findings(TREE, {"z1": "size"}, {("c1", "stop"): "small"})
    assert found.shown_hierarchy() == TREE
    assert "size" in str(found.shown_hierarchy())
    assert "small" in str(found.shown_hierarchy())


def test_files_about_another_tree_are_not_read(told):
    assert read_findings(Run.open(told.folder), Hierarchy.flat(2)).reasons == {}


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.04, "0.0 s"), (59.94, "59.9 s"), (59.96, "1 min 0 s"), (719.7, "12 min 0 s"), (3599.7, "1 h 0 min")],
)
def test_durations_are_rounded_as_a_whole(seconds, words):
    assert duration(seconds) == words


class TestVariablesThatMoveNothing:
    @pytest.fixture
    def findings(self):
        """z1 moves a column on the second path only, where fewer rows are; z2 everywhere where it is."""
        moved = [{"column": "area", "from": 1.0, "to": 2.0}]
        on = [
            {"path": 0, "text": "area (z1): moves no column by more than 5 %", "moves": []},
            {"path": 1, "text": "area (z1): area from 1 to 2", "moves": moved},
        ]
        moves = {
            "z1": {"name": "z1", "text": on[0]["text"], "moves": [], "on": on},
            "z2": {"name": "z2", "text": "z2: area from 1 to 2", "moves": moved, "on": []},
        }
        return Findings(TREE, {"z1": "area", "z2": "rooms"}, moves=moves)

    def test_are_named_as_noise_in_the_sections_of_the_leaves(self, findings):
        leaves = [
            {"path": p, "choice": None, "n_rows": 5, "columns": [], "typical": [], "rows": []} for p in range(2)
        ]
        first, second = leaf_sections({"columns": [], "leaves": leaves}, findings, 10)
        assert first["variables"] == []
        assert first["still"] == ["area"]
        assert [v["name"] for v in second["variables"]] == ["area", "rooms"]
        assert second["still"] == []

    def test_are_left_out_of_what_all_rows_have(self, findings):
        branch = {"path": None, "choice": (1, 1), "n_rows": 5, "columns": [], "typical": [], "rows": []}
        assert shared_variables({"columns": [], "leaves": [branch]}, findings) == []

    def test_are_marked_on_the_page(self, findings):
        still = {about["id"]: about.get("still") for about in describe_variables(TREE, findings)}
        assert still["z1"] == [0]
        assert still["z2"] == []

    def test_images_have_no_columns_that_could_stay(self):
        about = {"name": "z1", "text": "z1: changes 3% of the pixels", "moves": []}
        assert not Findings(TREE, moves={"z1": about}).is_still("z1")
