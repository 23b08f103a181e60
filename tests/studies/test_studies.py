"""The lists of runs of the paper's studies, and what is made of single results; covers `task.py`, `results.py`,
`published.py`, `cost.py` and the modules of single studies."""

import json
import math
from collections import Counter

import pytest

from disentree.datasets import dataset_info
from disentree.errors import UserError
from disentree.studies import STUDIES, get_study
from disentree.studies.cofhae.paper_grid import GRID
from disentree.studies.mimosa.mimosa_defaults import with_changes
from disentree.studies.mimosa.noise import with_least_dimension
from disentree.studies.published import BENCHMARKS, MIMOSA_SETTINGS, TABLE1
from disentree.studies.running.cost import estimate
from disentree.studies.running.folder import command_of
from disentree.studies.running.page import describe_seeds
from disentree.studies.running.progress import time_for
from disentree.studies.running.results import change, deviation, mean, rise, spread
from disentree.studies.running.study import planned
from disentree.studies.running.task import Task
from made_up import chosen, made_up


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
    assert [task.columns["images"] for task in tasks] == ["smooth"] * 5 + ["paper"] * 3 + ["paper, binary"]
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
    assert math.prod(map(len, GRID.values())) == 27
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
