"""Mistakes, each in one sentence; covers `config.py` and `folder.py`."""

import shlex

import numpy as np
import pandas as pd
import pytest

from disentree.cli import app as cli
from disentree.datasets import load_dataset
from disentree.errors import UserError
from disentree.runs import Run, RunConfig, finish_run, start_run
from shell import invoke, is_one_sentence

from .conftest import STICKS


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        ("chopsticks-depth2-intre", "there is no data set 'chopsticks-depth2-intre'; did you mean"),
        ("nothing.csv", "there is no file nothing.csv"),
        ("data.xlsx", "there is no file data.xlsx"),
        ("chopsticks-depth2-inter --n-samples 2", "has 2 usable rows; at least 3 are needed"),
        ("chopsticks-depth2-inter --n-samples 0", "--n-samples must be greater than or equal to 1, got 0"),
        ("chopsticks-depth2-inter --seed -1", "--seed must be greater than or equal to 0, got -1"),
        ("chopsticks-depth2-inter --preset fast", "--preset must be quick, default or paper, got 'fast'"),
        (
            "chopsticks-depth2-inter --structure guess",
            "--structure must be mimosa, mimosa-paper or true, got 'guess'",
        ),
        ("chopsticks-depth2-inter --binarize", "has no option 'binarize'"),
        ("chopsticks-depth2-inter --drop a", "has no option 'drop'"),
        ("chopsticks-depth2-inter --labels l.npz", "needs both --hierarchy and --labels"),
        ("chopsticks-depth2-inter --labels l.npz --hierarchy h.json", "there is no file h.json"),
        ("chopsticks-depth2-inter --model magic", "there is no model 'magic'; known: cofhae"),
        ("t.csv --noise .1", "t.csv is a table, which has no option 'noise'"),
        ("t.csv --structure true", "has no ground truth to take the structure from"),
        ("t.csv --types a=thing", "--types takes COLUMN=KIND, where KIND is number, integer, date, "),
        ("t.csv --drop z", "there is no column 'z'; there are a, b, c"),
        ("t.csv --device abacus", "device 'abacus' is not available"),
        ("t.csv --n-jobs 0", "--n-jobs must be 1 or more, or -1 for all cores, got 0"),
        ("t.csv --resamples -1", "--resamples must be greater than or equal to 0, got -1"),
        ("days.csv --log day", "no logarithm of 'day': it is no column of numbers but date"),
        ("rentls", "there is no data set 'rentls'; known names"),
        ("nan.csv", "has no column to work with: left out columns 'a', 'b', 'c': every cell is empty"),
        ("nan.npy --drop a", "nan.npy is an array, which has no option 'drop'"),
        ("chopsticks-depth2-inter --structure true --set mimosa.n_neighbors=9", "--set mimosa.NAME is for MIMOSA"),
        ("nan.npy", "misses more than 20% of the values in every numeric column"),
    ],
)
def test_mistakes_are_one_sentence(args, sentence, tmp_path, fakes, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(np.random.default_rng(0).random((200, 3)), columns=list("abc")).to_csv("t.csv", index=False)
    pd.DataFrame(np.full((200, 3), np.nan), columns=list("abc")).to_csv("nan.csv", index=False)
    days = pd.date_range("2022-01-01", periods=200).astype(str)
    pd.DataFrame({"day": days, "x": np.arange(200.0)}).to_csv("days.csv", index=False)
    np.save("nan.npy", np.full((200, 3), np.nan))
    result = invoke("run", *shlex.split(args), "--out", "r")
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert is_one_sentence(result)
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("write", "sentence"),
    [
        (lambda p: np.savez(p, labels=np.arange(600)), "must hold paths 0..1 of"),
        (lambda p: np.savez(p, labels=np.zeros(5, dtype=int)), "has 5 labels for 600 rows"),
        (lambda p: np.savez(p, labels=np.zeros(600)), "must hold one whole number for each row, got float64"),
        (lambda p: np.savez(p, other=np.zeros(600)), "must have an array 'labels'"),
        (lambda p: p.write_bytes(b"PK"), "cannot be read"),
    ],
)
def test_structures_that_do_not_fit(write, sentence, tmp_path, fakes):
    (tmp_path / "h.json").write_text(load_dataset("chopsticks-depth2-inter", 10).hierarchy.to_json())
    write(tmp_path / "l.npz")
    result = invoke(
        "run", *STICKS, "--out", tmp_path / "r", "--hierarchy", tmp_path / "h.json", "--labels", tmp_path / "l.npz"
    )
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert is_one_sentence(result)


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        ("--set foo=3", "--set: there is no setting 'foo'; there are "),
        ("--set events=3", "--set: there is no setting 'events'; there are "),
        ("--model hier --set foo=3", "--set: there is no setting 'foo'; there are "),
        ("--model ae --set lambda1=3", "--set: there is no setting 'lambda1'; there are "),
        (
            "--set mimosa.n_neighbours=9",
            "--set mimosa: there is no setting 'n_neighbours'; did you mean mimosa.n_n",
        ),
        ("--set n_neighbours=9", "--set: there is no setting 'n_neighbours'; did you mean mimosa.n_neighbors?"),
        ("--set epoch=9", "--set: there is no setting 'epoch'; did you mean epochs?"),
        ("--set mimosa.foo=3", "--set mimosa: there is no setting 'foo'; there are "),
        ("--set mimosa.initial_dim=3", "--set mimosa: there is no setting 'initial_dim'; there are "),
        ("--structure mimosa-paper --set mimosa.foo=3", "--set mimosa: there is no setting 'foo'; there are "),
    ],
)
def test_settings_that_do_not_exist_are_told_before_anything_is_done(args, sentence, tmp_path):
    result = invoke("run", *STICKS, "--out", tmp_path / "r", *shlex.split(args))
    assert result.exit_code == 2
    assert result.stderr.startswith(f"disentree: {sentence}")
    assert not (tmp_path / "r").exists()


def test_a_run_that_cannot_read_its_data_leaves_no_folder(tmp_path):
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n1,2\n")
    result = invoke("run", tmp_path / "bad.csv", "--out", tmp_path / "new")
    assert result.exit_code == 2
    assert "has no column to work with" in result.stderr
    assert not (tmp_path / "new").exists()
    (tmp_path / "mine").mkdir()  # a folder that was there stays
    assert invoke("run", tmp_path / "bad.csv", "--out", tmp_path / "mine").exit_code == 2
    assert (tmp_path / "mine").is_dir()


def test_a_table_without_numbers_and_groups_says_so(tmp_path):
    names = np.random.default_rng(0).choice(["", "a word"], 300)
    pd.DataFrame({"note": names, "key": [f"k{i}" for i in range(300)]}).to_csv(tmp_path / "t.csv", index=False)
    result = invoke("run", tmp_path / "t.csv", "--out", tmp_path / "r", "--resamples", 0, "--no-report")
    assert result.exit_code == 2
    assert "there is nothing to learn about" in result.stderr
    assert "it has no column of numbers, and its categories form no groups" in result.stderr


def test_numbers_that_are_declared_categories_stay_categories(tmp_path):
    values = np.random.default_rng(0).integers(0, 9, 300)
    pd.DataFrame({"a": values}).to_csv(tmp_path / "t.csv", index=False)
    words = ("--types", "a=category", "--resamples", 0, "--no-report", "--preset", "quick")
    result = invoke("run", tmp_path / "t.csv", "--out", tmp_path / "r", *words)
    assert result.exit_code == 0, result.stderr
    assert Run.open(tmp_path / "r").data.X.shape == (300, 9)


def test_resamples_are_done_without_a_report_too(tmp_path, fakes):
    words = (*STICKS, "--out", tmp_path / "r", "--no-report", "--n-jobs", 1)
    assert invoke("run", *words, "--resamples", 2).exit_code == 0
    assert Run.open(tmp_path / "r").read_json("stability.json")["n_resamples"] == 2


def test_settings_that_exist_are_taken(tmp_path):
    settings = {"structure": "mimosa-paper", "structure_settings": {"initial_dim": 3}}
    config = RunConfig.of("chopsticks-depth2-inter", model_settings={"lambda1": 2.0}, **settings)
    assert start_run(config, tmp_path / "r").config == config


def test_folders_that_are_no_runs(tmp_path, fakes):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a.txt").write_text("mine")
    (tmp_path / "file").write_text("")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "config.json").write_text('{"a": 1}')
    (tmp_path / "cut").mkdir()
    (tmp_path / "cut" / "config.json").write_text('{"config": {"sou')
    (tmp_path / "strange").mkdir()
    (tmp_path / "strange" / "config.json").write_text('{"config": {"source": "x"}}')
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "config.json").write_text('{"format": 99, "config": {}}')
    for args, sentence in [
        (("run", *STICKS, "--out", tmp_path / "full"), "is not empty and not a run folder"),
        (("run", *STICKS, "--out", tmp_path / "full", "--force"), "is not empty and not a run folder"),
        (("run", *STICKS, "--out", tmp_path / "file"), "is a file, not a folder"),
        (("run", *STICKS, "--out", "/dev/null/r"), "Not a directory"),
        (("run", *STICKS, "--out", tmp_path / "other"), "config.json is not a run configuration"),
        (("report", tmp_path / "full"), "is not a run folder: it has no config.json"),
        (("report", tmp_path / "none"), "there is no folder"),
        (("report", tmp_path / "cut"), "config.json is damaged"),
        (("report", tmp_path / "strange"), "config.json is not a run configuration"),
        (("report", tmp_path / "new"), "was made by a newer disentree"),
    ]:
        result = invoke(*args)
        assert result.exit_code == 2, args
        assert sentence in result.stderr, args
        assert is_one_sentence(result)
    assert (tmp_path / "full" / "a.txt").read_text() == "mine"


def test_a_report_needs_a_finished_run(tmp_path, fakes):
    start_run(RunConfig.of("chopsticks-depth2-inter", n_samples=200), tmp_path / "r")
    result = invoke("report", tmp_path / "r")
    assert result.exit_code == 2
    assert "is not finished: data, structure, model, scores left; `disentree run chop" in result.stderr


def test_a_file_that_changes_on_the_way(tmp_path, fakes, one_picture):
    frame = pd.DataFrame(np.random.default_rng(0).random((300, 3)), columns=list("abc"))
    frame.to_csv(tmp_path / "t.csv", index=False)
    run = start_run(RunConfig.of(str(tmp_path / "t.csv")), tmp_path / "r")
    frame.iloc[:200].to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(UserError, match="has changed since the run began"):
        finish_run(run)
    assert invoke("run", tmp_path / "t.csv", "--out", tmp_path / "r").exit_code == 0
    frame.iloc[:250].to_csv(tmp_path / "t.csv", index=False)
    assert "other data in the file" in invoke("run", tmp_path / "t.csv", "--out", tmp_path / "r").stderr
    (tmp_path / "t.csv").unlink()
    (tmp_path / "r" / "labels.npz").unlink()
    cli.log.handlers.clear()
    with pytest.raises(UserError, match="is not there any more"):
        finish_run(Run.open(tmp_path / "r"))


def test_unwritable_folder(unprivileged):
    folder = unprivileged / "locked"
    folder.mkdir(mode=0o500)
    result = invoke("run", *STICKS, "--out", folder / "r")
    assert result.exit_code == 2
    assert is_one_sentence(result)
