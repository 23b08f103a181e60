"""Reports of studies from made-up results; covers `page.py`, `folder.py` and the modules of single studies."""

import csv
import html.parser
import json
import shutil

import pytest

from disentree.studies import STUDIES, get_study
from disentree.studies.mimosa.tables import report as tables_report
from disentree.studies.running.folder import read_study, write_study
from disentree.studies.running.page import join_reports, write_report
from disentree.studies.running.results import Results, write_tables
from made_up import chosen, made_up


class Checker(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.images = [], 0

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        assert not any(key in values for key in ("onclick", "href")), tag
        if tag == "img":
            assert values["src"].startswith("data:image/png;base64,")
            self.images += 1
        if tag not in ("img", "meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_reports(name, tmp_path, battery):
    study = get_study(name)
    datasets = chosen(name, battery, "quick").datasets[:2]
    results = made_up(study, chosen(name, battery, "quick", 2, datasets), tmp_path)
    write_tables(results, tmp_path)
    write_report(study, results)
    page = Checker()
    page.feed((tmp_path / "report.html").read_text())
    assert page.open == []
    about = json.loads((tmp_path / "study.json").read_text())
    drawn = [picture for section in about["sections"] for picture in section["pictures"]]
    assert page.images == len(drawn)
    # pictures of the first are those of its runs; the others are tables
    tables = (
        "benchmarks",
        "conditioning",
        "images",
        "paper-grid",
        "paper-settings",
        "structure",
        "products",
        "placement",
        "mimosa-defaults",
        "battery",
        "classes",
        "tables",
        "dimensions",
    )
    assert drawn or name in ("qualitative", *tables)
    assert all(len(row) == len(s["header"]) for s in about["sections"] for row in s["rows"])
    assert about["command"].startswith(f"disentree study {name} --scale quick --seeds 2")
    text = (tmp_path / "report.md").read_text()
    assert about["command"] in text
    assert about["scale_means"] in text
    with (tmp_path / "table.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(results.tasks)
    assert (tmp_path / "table.parquet").is_file()
    assert str(battery) not in text + json.dumps(about)


def test_a_report_says_what_the_runs_were_made_with_and_which_diverged(tmp_path):
    study = get_study("table1")
    results = made_up(study, study.options("quick", 1, ["chopsticks-depth2-slope"]), tmp_path)
    results.found[1]["values"]["diverged"] = True
    write_report(study, results)
    page = (tmp_path / "report.md").read_text()
    assert "versions: disentree 0.1, torch 2.0 and 2.1" in page
    assert "the training of run 1 (chopsticks-depth2-slope_paper_seed2000) diverged" in page
    assert str(tmp_path) not in page + (tmp_path / "study.json").read_text()
    before = read_study(tmp_path)
    assert write_study(study, results)["sections"] == before["sections"] != []


def test_tables_have_the_scores_of_single_variables(tmp_path):
    study = get_study("disentanglement")
    results = made_up(study, study.options("quick", 1, ["chopsticks-depth2-slope"]), tmp_path)
    results.found[1]["values"]["r4_factors"] = {"slope1": 0.8}  # results of older versions have none
    results.found[2]["values"]["epochs"] = 5
    write_tables(results, tmp_path)
    with (tmp_path / "table.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0])[-3:] == ["epochs", "r4c: slope1", "r4: slope1"]
    assert {row["r4c: slope1"] for row in rows} == {"0.9"}
    assert [row["r4: slope1"] for row in rows[:3]] == ["", "0.8", ""]


def test_the_papers_figures_of_spaceshapes_are_drawn(tmp_path):
    """A.8: histograms of three models; A.9: traversals; A.10: equivalent hierarchies; A.11: manifolds."""
    study = get_study("qualitative")
    assert "spaceshapes" in study.options("medium").datasets
    datasets = ["spaceshapes", "chopsticks-depth2-either"]
    results = made_up(study, study.options("medium", 1, datasets), tmp_path)
    for task in results.tasks:
        for name in ("mimosa", "pairwise", "traversals", "reconstructions"):
            drawn = tmp_path / "runs" / task.name / "figures" / f"{name}.png"
            if name == "mimosa" or task.until == "report":
                drawn.parent.mkdir(parents=True, exist_ok=True)
                drawn.write_bytes(b"a picture")
    pictures = {picture.name for section in study.report(results) for picture in section.pictures}
    assert {f"spaceshapes-{model}-pairwise" for model in ("ae", "tcvae", "cofhae")} <= pictures
    assert {"spaceshapes-cofhae-traversals", "spaceshapes-cofhae-mimosa", "spaceshapes-equivalents"} <= pictures
    assert "chopsticks-depth2-either-mimosa-paper-mimosa" in pictures
    of_paper = next(task for task in results.tasks if task.columns["model"] == "mimosa-paper")
    assert (of_paper.config.structure, of_paper.extras) == ("mimosa-paper", ("picture",))


def test_pictures_of_runs_are_taken_as_they_are(tmp_path):
    study = get_study("qualitative")
    results = made_up(study, study.options("quick", 1, ["chopsticks-depth2-slope"]), tmp_path)
    drawn = tmp_path / "runs" / "chopsticks-depth2-slope_cofhae_seed2000" / "figures" / "mimosa.png"
    drawn.parent.mkdir(parents=True)
    drawn.write_bytes(b"a picture")
    write_report(study, results)
    assert (tmp_path / "figures" / "chopsticks-depth2-slope-cofhae-mimosa.png").read_bytes() == b"a picture"


def test_reports_with_runs_missing(tmp_path, battery):
    written = ("table1", "metrics", "qualitative")
    for name in STUDIES:
        study = get_study(name)
        whole = made_up(study, chosen(name, battery, "quick", 1), tmp_path / name)
        some = {i: r for i, r in whole.found.items() if i % 3 == 1}
        results = Results(whole.options, whole.folder, whole.tasks, some, {0: "it <b>broke</b>"})
        if name not in written:  # drawing takes long
            assert study.report(results)
            continue
        write_report(study, results)
        page = (tmp_path / name / "report.html").read_text()
        assert "it &lt;b&gt;broke&lt;/b&gt;" in page
        assert "runs have not been done yet" in page
    shutil.copy(tmp_path / "table1" / "study.json", tmp_path)
    joined = join_reports(tmp_path)
    assert joined.read_text().count("<article>") == len(written)  # the folder of all studies is not one of them
    page = Checker()
    page.feed(joined.read_text())
    assert page.open == []
    assert all(get_study(name).title in joined.read_text() for name in written)
    assert "table1/figures/table1.png" in (tmp_path / "report.md").read_text()


def test_the_report_of_the_battery_names_what_is_lost_first(tmp_path, battery):
    study, options = get_study("battery"), chosen("battery", battery, "default", 1)
    results = made_up(study, options, tmp_path)
    assert results.levels("dataset") == ["x/three", "x/two"]
    for i, task in enumerate(results.tasks):
        own = {"x/three": 0.25, "x/two": 1.0}[task.columns["dataset"]]
        results.found[i]["values"]["ari"] = own if task.columns["method"] == "mimosa" else 0.75
    summary, each = study.report(results)
    assert "x/three (0.25, 0.75" in summary.text[-1]
    assert "x/two" not in summary.text[-1]
    assert "more than 12,000 rows: y/many." in summary.text[1]
    assert summary.rows[0][:3] == ["MIMOSA", "0.625", "0.625"]
    assert len(each.rows) == 2


def test_the_report_of_tables_names_the_worst_first(tmp_path):
    study = get_study("tables")
    results = made_up(study, study.options("quick", 1), tmp_path)
    failed = Results(results.options, results.folder, results.tasks, results.found, {0: "it broke"})
    failed.found.pop(0)
    worst = {row[0]: row[1:] for row in tables_report(failed)[0].rows}
    names = [task.columns["dataset"] for task in results.tasks]
    assert worst["errors"] == ["1 of 5", names[0]]
    assert worst["lines of the tree"][0] == "median 75, 3 above 40"
    assert worst["lines of the tree"][1].startswith(f"{names[4]} 120; {names[3]} 90")
    assert worst["vague branches"][0] == "2 of 20 (10.0%)"
