"""A user's own data, and settings; covers `folder.py`."""

import json
import shlex
import shutil

import numpy as np
import pandas as pd
import pytest

from disentree.datasets import load_dataset, save_dataset
from disentree.errors import UserError
from disentree.runs import Run, RunConfig, finish_run, start, start_run
from fakes import FakeMIMOSA
from shell import invoke


def test_a_table_without_truth(tmp_path, fakes):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(400, 4)) * [1, 10, 100, 1], columns=["a", "b", "c", "d"])
    frame["word"] = "x"
    frame.to_csv(tmp_path / "t.csv", index=False)
    result = invoke("run", tmp_path / "t.csv", "--out", tmp_path / "r", "--n-samples", 300)
    assert result.exit_code == 0, result.stderr
    assert "left out column 'word': 'x' in every row" in result.stderr
    assert "R4c" not in result.stdout
    assert "reconstruction R²" in result.stdout
    run = Run.open(tmp_path / "r")
    assert run.codes("true") is None
    assert run.metrics["scores"] == {}
    assert run.metrics["n_train"] + run.metrics["n_test"] == 300
    assert not (run.folder / "figures" / "pairwise.png").exists()
    page = run.report_path.read_text()
    assert "left out column &#39;word&#39;: &#39;x&#39; in every row" in page
    shutil.move(tmp_path / "t.csv", tmp_path / "moved.csv")  # where it lies does not matter
    assert invoke("run", tmp_path / "moved.csv", "--out", run.folder, "--n-samples", 300).exit_code == 0
    assert invoke("report", run.folder).exit_code == 0


def test_an_array_of_series_is_shown_in_its_own_units(tmp_path, fakes, one_picture):
    rng = np.random.default_rng(0)
    X = 1000 + rng.normal(size=(300, 1)) * np.linspace(1, 2, 20) + rng.normal(size=(300, 20)) * 0.1
    np.save(tmp_path / "s.npy", X)
    result = invoke("run", tmp_path / "s.npy", "--out", tmp_path / "r")
    assert result.exit_code == 0, result.stderr
    samples = Run.open(tmp_path / "r").read_npz("samples.npz")
    assert abs(samples["X"].mean() - 1000) < 5
    assert abs(samples["X_again"].mean() - 1000) < 5


def test_the_tree_is_found_in_the_units_of_the_columns(tmp_path, monkeypatch, fakes):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(10, 3, 300), "b": rng.normal(20, 1, 300)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    seen = []
    real = FakeMIMOSA.fit
    monkeypatch.setattr(FakeMIMOSA, "fit", lambda self, X, codec: seen.append(X) or real(self, X))
    finish_run(start_run(RunConfig.of(str(tmp_path / "t.csv")), tmp_path / "r"), until="structure")
    assert list(seen[0].columns) == ["a", "b"]
    assert np.isin(seen[0].to_numpy(), frame.to_numpy()).all()


def test_images_and_truth_from_a_written_benchmark(tmp_path, fakes):
    ds = load_dataset("spaceshapes", 300)
    save_dataset(ds, tmp_path / "ships.npz")
    result = invoke("run", tmp_path / "ships.npz", "--out", tmp_path / "r", "--structure", "true")
    assert result.exit_code == 0, result.stderr
    run = Run.open(tmp_path / "r")
    assert run.metrics["scores"]["h_error"] == 0
    assert 0 < run.metrics["scores_without_truth"]["reconstruction_mse"] < 1  # pixels from 0 to 1
    assert 0 <= run.metrics["scores_without_truth"]["reconstruction_overlap"] <= 1


def test_few_rows_may_leave_nothing_to_score(tmp_path, fakes, one_picture):
    result = invoke("run", "chopsticks-depth3-either", "--n-samples", 110, "--out", tmp_path / "r")
    assert result.exit_code == 0, result.stderr
    assert "no scores against the truth: V: variable" in result.stdout
    assert "no scores against the truth" in (tmp_path / "r" / "report.html").read_text()


# ------------------------------------------------------------------ settings


@pytest.mark.parametrize(
    "args",
    [
        "chopsticks-depth2-inter --out 'my runs/a b'",
        "chopsticks-depth2-inter --out r --preset quick --n-samples 300 --seed 4 --noise 0.5 --structure true",
        "spaceshapes --out r --gray --epochs 7",
        "spaceshapes --out r --structure mimosa-paper --set mimosa.initial_dim=7 --set penalty=none",
        "t.csv --out r --types a=category --drop b --drop c --max-missing 0.1 --no-standardize",
    ],
)
def test_the_command_repeats_the_run(args, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(np.eye(3), columns=list("abc")).to_csv("t.csv", index=False)
    configs = []

    def stop(config, out, force):
        configs.append((config, config.command(out)))
        raise UserError("enough")

    monkeypatch.setattr(start, "start_run", stop)
    invoke("run", *shlex.split(args))
    invoke(*shlex.split(configs[0][1])[1:])
    assert configs[0] == configs[1]
    assert RunConfig(**json.loads(configs[0][0].model_dump_json())) == configs[0][0]


def test_presets():
    quick, usual = (RunConfig.of("spaceshapes", preset=preset) for preset in ("quick", "default"))
    assert (quick.n_samples, usual.n_samples) == (20_000, 100_000)
    with pytest.raises(UserError, match="--preset must be 'quick', 'default' or 'paper', got 'slow'"):
        RunConfig.of("spaceshapes", preset="slow")
    with pytest.raises(UserError, match="a run has no setting 'color'"):
        RunConfig.of("spaceshapes", color="red")


def test_a_file_with_the_truth_gives_baselines_its_tree(tmp_path):
    ds = load_dataset("chopsticks-depth2-either", n_samples=50)
    save_dataset(ds, tmp_path / "mine.npz")
    np.savez(tmp_path / "rows.npz", X=ds.X)
    assert RunConfig.of(str(tmp_path / "mine.npz"), model="vae").structure == "true"
    assert RunConfig.of(str(tmp_path / "mine.npz")).structure == "mimosa"
    assert RunConfig.of(str(tmp_path / "rows.npz"), model="vae").structure == "mimosa"
