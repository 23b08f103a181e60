"""Studies from the command line; covers `options.py`, `structures.py` and `folder.py`."""

import csv
import re

import pytest

from disentree.studies import STUDIES, get_study, structures
from disentree.studies.running import options as scales
from disentree.studies.running.page import write_report
from disentree.studies.running.results import Results
from shell import invoke


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
        (("classes", "--data", "full"), "full holds no folders with train-images-idx3-ubyte and train-labels"),
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
