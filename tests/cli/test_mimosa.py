"""`disentree mimosa` is `disentree run` up to the structure."""

import json

import numpy as np
import pandas as pd
import pytest

import shell
from disentree import MIMOSA, Hierarchy
from disentree.datasets import load_dataset, save_dataset
from disentree.runs import Run
from disentree.runs.stages import finished_stages

FIGURES = ("mimosa", "embedding", "hierarchy", "spectrum", "local_dimensions")


def invoke(*args):
    return shell.invoke("-q", "mimosa", *args)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("mimosa") / "found"
    result = invoke("chopsticks-depth2-slope", "--n-samples", 2000, "--seed", 1, "--out", out)
    assert result.exit_code == 0, result.stderr
    assert "h error: 0" in result.stdout
    assert "purity: " in result.stdout
    return out


def test_everything_is_written(folder):
    hierarchy = Hierarchy.from_json((folder / "hierarchy.json").read_text())
    with np.load(folder / "labels.npz", allow_pickle=False) as file:
        assert file["labels"].shape == file["core_labels"].shape == file["train"].shape == (1800,)
        assert file["test_labels"].shape == (200,)
        assert set(file["labels"]) == set(range(len(hierarchy.paths)))
    run = Run.open(folder)
    assert finished_stages(run) == ["data", "structure"]
    assert run.config.seed == 1
    structure = run.read_json("structure.json")
    assert set(structure["timings"]) >= {"representation", "subspaces", "hierarchy"}
    assert [c["dimension"] for c in structure["components"]] == [1, 2]
    assert [division["variable"] for division in structure["divisions"]] == [1]
    for name in FIGURES:
        assert (folder / "figures" / f"{name}.png").stat().st_size > 2000


def test_a_run_goes_on_from_the_tree(folder, monkeypatch):
    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    before = (folder / "labels.npz").stat().st_mtime_ns
    monkeypatch.setattr("disentree.runs.steps.training.make_model", stop)
    result = shell.invoke("run", "chopsticks-depth2-slope", "--n-samples", 2000, "--seed", 1, "--out", folder)
    assert result.exit_code == 130
    assert "data, structure done, going on with model" in result.stderr
    assert (folder / "labels.npz").stat().st_mtime_ns == before


@pytest.mark.parametrize("n_samples", [None, 400])
def test_rows_are_those_of_a_run(tmp_path, monkeypatch, n_samples):
    """The same file, seed and --n-samples give the same rows and the same tree."""
    ds = load_dataset("chopsticks-depth2-inter", n_samples=600, seed=0)
    pd.DataFrame(ds.X).to_csv(tmp_path / "t.csv", index=False)
    args = [tmp_path / "t.csv", "--seed", 3, *(["--n-samples", n_samples] if n_samples else [])]
    fitted = []
    real = MIMOSA.fit

    def fit(self, X, y=None, *, codec=None):
        fitted.append(X)
        return real(self, X, codec=codec)

    monkeypatch.setattr(MIMOSA, "fit", fit)
    assert invoke(*args, "--out", tmp_path / "a", "--no-figures").exit_code == 0

    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("disentree.runs.steps.training.make_model", stop)
    assert shell.invoke("run", *args, "--out", tmp_path / "b").exit_code == 130
    np.testing.assert_array_equal(fitted[0], fitted[1])
    for name in ("labels.npz", "hierarchy.json", "data.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_nothing_is_overwritten_unless_forced(folder):
    before = (folder / "config.json").read_bytes()
    other = ["chopsticks-depth2-slope", "--n-samples", 1000, "--no-figures", "--out", folder]
    refused = invoke(*other)
    assert refused.exit_code == 2
    assert f"{folder} holds a run with n samples 2000, not 1000; seed 1, not 0" in refused.stderr
    assert (folder / "config.json").read_bytes() == before
    assert invoke(*other, "--force").exit_code == 0
    assert json.loads((folder / "data.json").read_text())["n_rows"] == 1000
    assert not (folder / "figures").exists()


def test_files_with_and_without_truth(tmp_path):
    ds = load_dataset("chopsticks-depth2-inter", n_samples=1200, seed=0)
    save_dataset(ds, tmp_path / "true.npz")
    np.save(tmp_path / "plain.npy", ds.X)
    with_truth = invoke(tmp_path / "true.npz", "--out", tmp_path / "a", "--no-figures")
    assert "h error: 0" in with_truth.stdout
    plain = invoke(tmp_path / "plain.npy", "--n-samples", 1000, "--out", tmp_path / "b", "--no-figures")
    assert plain.exit_code == 0, plain.stderr
    assert "h error" not in plain.stdout
    assert json.loads((tmp_path / "b" / "data.json").read_text())["n_rows"] == 1000


def test_the_papers_settings(tmp_path):
    settings = ("initial_dim=2", "mimosa.epochs=3", "cos_simil_thresh=0.9")
    words = [word for setting in settings for word in ("--set", setting)]
    args = ["--structure", "mimosa-paper", *words, "--no-figures"]
    result = invoke("chopsticks-depth2-inter", "--n-samples", 600, *args, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.stderr
    config = Run.open(tmp_path / "out").config
    assert config.structure == "mimosa-paper"
    assert config.structure_settings == {"initial_dim": 2, "epochs": 3, "cos_simil_thresh": 0.9}


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["nonsense"], "there is no data set 'nonsense'"),
        (["missing.csv"], "there is no file missing.csv"),
        (["chopsticks-depth2-inter", "--set", "speed=9"], "there is no setting 'speed'; there are "),
        (["chopsticks-depth2-inter", "--set", "speed"], "--set takes NAME=VALUE, got 'speed'"),
        (["chopsticks-depth2-inter", "--set", "initial_dim=3"], "there is no setting 'initial_dim'"),
    ],
)
def test_mistakes_are_one_sentence(args, sentence, tmp_path):
    result = invoke(*args, "--n-samples", 100, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_values_that_do_not_exist_are_one_sentence(tmp_path):
    args = ["chopsticks-depth2-inter", "--set", "representation=magic", "--n-samples", 100]
    result = invoke(*args, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert "representation must be 'auto'" in result.stderr


def test_few_rows_are_refused_as_by_a_run(tmp_path):
    (tmp_path / "two.csv").write_text("a,b\n1,2\n2,5\n")
    result = invoke(tmp_path / "two.csv", "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert result.stderr == f"disentree: {tmp_path / 'two.csv'} has 2 usable rows; at least 3 are needed\n"


def test_one_dimension_is_not_called_several():
    X = np.random.default_rng(0).random((200, 1)) @ [[1.0, 2.0, 3.0]]
    assert MIMOSA().fit(X).verdict_ == "No structure found: one cloud of about 1 dimension."


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "taken").write_text("")
    result = invoke("chopsticks-depth2-inter", "--out", tmp_path / "taken")
    assert result.stderr == f"disentree: {tmp_path / 'taken'} is a file, not a folder\n"
