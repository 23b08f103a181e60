"""`disentree mimosa`."""

import json

import numpy as np
import pytest

import shell
from disentree import MIMOSA, Hierarchy
from disentree.cli.mimosa import FIGURES
from disentree.datasets import load_dataset, save_dataset


def invoke(*args):
    return shell.invoke("-q", "mimosa", *args)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("mimosa") / "found"
    result = invoke("chopsticks-depth2-slope", "--n-samples", 2000, "--seed", 1, "--out", out)
    assert result.exit_code == 0, result.stderr
    assert "h error: 0" in result.stdout
    return out


def test_everything_is_written(folder):
    hierarchy = Hierarchy.from_json((folder / "hierarchy.json").read_text())
    with np.load(folder / "labels.npz", allow_pickle=False) as file:
        assert file["embedding"].shape == (2000, 2)
        assert file["core_labels"].shape == (2000,)
        assert set(file["labels"]) == set(range(len(hierarchy.paths)))
    about = json.loads((folder / "summary.json").read_text())
    assert about["scores"]["h_error"] == 0
    assert about["scores"]["purity"] >= 0.99
    assert about["seed"] == 1
    assert about["settings"]["n_neighbors"] == 40
    assert set(about["timings"]) >= {"representation", "components"}
    assert "numba" in about["versions"]
    assert [c["dimension"] for c in about["components"]] == [1, 2]
    assert "2-D" in (folder / "summary.txt").read_text()
    for name in FIGURES:
        assert (folder / "figures" / f"{name}.png").stat().st_size > 2000


def test_nothing_is_overwritten_unless_forced(folder):
    before = (folder / "summary.json").read_bytes()
    again = ["chopsticks-depth2-slope", "--n-samples", 1000, "--no-figures", "--out", folder]
    refused = invoke(*again)
    assert refused.exit_code == 2
    assert refused.stderr == f"disentree: {folder} holds hierarchy.json already; --force overwrites it\n"
    assert (folder / "summary.json").read_bytes() == before
    assert invoke(*again, "--force").exit_code == 0
    assert json.loads((folder / "summary.json").read_text())["n_rows"] == 1000


def test_files_with_and_without_truth(tmp_path):
    ds = load_dataset("chopsticks-depth2-inter", n_samples=1200, seed=0)
    save_dataset(ds, tmp_path / "true.npz")
    np.save(tmp_path / "plain.npy", ds.X)
    with_truth = invoke(tmp_path / "true.npz", "--out", tmp_path / "a", "--no-figures")
    assert "h error: 0" in with_truth.stdout
    plain = invoke(tmp_path / "plain.npy", "--n-samples", 1000, "--out", tmp_path / "b", "--no-figures")
    assert plain.exit_code == 0, plain.stderr
    assert "h error" not in plain.stdout
    with np.load(tmp_path / "b" / "labels.npz") as file:
        assert len(file["labels"]) == len(file["rows"]) == 1000


def test_the_papers_settings(tmp_path):
    args = ["--paper", "--initial-dim", 2, "--set", "epochs=3", "--set", "cos_simil_thresh=0.9", "--no-figures"]
    result = invoke("chopsticks-depth2-inter", "--n-samples", 600, *args, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.stderr
    settings = json.loads((tmp_path / "out" / "summary.json").read_text())["settings"]
    assert (settings["initial_dim"], settings["epochs"], settings["cos_simil_thresh"]) == (2, 3, 0.9)


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["nonsense"], "there is no data set 'nonsense'"),
        (["missing.csv"], "there is no file missing.csv"),
        (["chopsticks-depth2-inter", "--set", "speed=9"], "there is no setting 'speed'; there are "),
        (["chopsticks-depth2-inter", "--set", "speed"], "--set needs NAME=VALUE, got 'speed'"),
        (["chopsticks-depth2-inter", "--initial-dim", "3"], "give --paper too"),
        (["chopsticks-depth2-inter", "--set", "representation=magic"], "representation must be 'auto'"),
    ],
)
def test_mistakes_are_one_sentence(args, sentence, tmp_path):
    result = invoke(*args, "--n-samples", 100, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_few_rows_are_refused_as_by_a_run(tmp_path):
    (tmp_path / "five.csv").write_text("a,b\n1,2\n2,5\n3,1\n4,4\n5,9\n")
    result = invoke(tmp_path / "five.csv", "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert result.stderr == (f"disentree: {tmp_path / 'five.csv'} has 5 usable rows; at least 100 are needed\n")
    assert not (tmp_path / "out").exists()


def test_one_component_is_not_called_several():
    X = np.random.default_rng(0).random((200, 1)) @ [[1.0, 2.0, 3.0]]
    words = MIMOSA().fit(X).summary()
    assert words.startswith("200 rows, 1 component, ")


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "taken").write_text("")
    result = invoke("chopsticks-depth2-inter", "--out", tmp_path / "taken")
    assert result.stderr == f"disentree: {tmp_path / 'taken'} is a file; --out must be a folder\n"
