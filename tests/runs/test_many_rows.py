"""Runs of files with more rows than they work with in memory: `data.py`, `apply.py`."""

import sqlite3
from contextlib import closing, nullcontext
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from disentree.datasets import load_file
from disentree.datasets.files.user_files import options_of
from disentree.mimosa import fit
from disentree.mimosa.constants import FIT
from disentree.rows.engines import Local
from disentree.runs import Run, RunConfig, finish_run, start_run
from disentree.runs.apply import apply_run, drift_run
from disentree.runs.data import load_data
from disentree.runs.files.schemas import Step
from disentree.runs.steering import steer_run


@pytest.mark.parametrize("name", ["rows.csv", "parts", "rows.npy"])
def test_a_run_works_with_a_sample_and_writes_the_paths_of_all_rows(name, tmp_path, monkeypatch):
    monkeypatch.setattr(fit, "FIT", replace(FIT, landmarks=40))
    monkeypatch.setattr("disentree.runs.data.MOST", 400)
    rng = np.random.default_rng(0)
    first = np.arange(2000) % 3 == 0
    X = rng.normal(size=(2000, 4)).round(6)
    X[first, :2] += 12
    table = pd.DataFrame(X, columns=list("abcd")).assign(only=np.where(first, X[:, 0] * X[:, 1], np.nan))
    path = tmp_path / name
    if name == "rows.npy":
        np.save(path, X)
    elif name == "parts":
        path.mkdir()
        for k in range(2):
            table[1000 * k : 1000 * (k + 1)].to_parquet(path / f"{k}.parquet", row_group_size=300)
    else:
        table.to_csv(path, index=False)
    run = start_run(RunConfig.of(str(path), preset="quick", epochs=1), tmp_path / "run")
    finish_run(run, until="model" if name == "rows.csv" else "structure")
    paths = np.load(tmp_path / "run" / "paths.npy")
    assert paths.shape == (2000,)
    assert paths.max() == 1
    assert max(np.mean(paths == first), np.mean(paths != first)) > 0.995
    again = Run.open(run.folder)
    assert len(again.data) == 400
    np.testing.assert_array_equal(again.paths, paths[again.data.rows])
    if name == "rows.npy":
        assert not steer_run(again, Step(merge=[0, 1])).paths.any()
        assert not np.load(tmp_path / "run" / "paths.npy").any()
    assert "codes, scores and figures are of 400 rows, a sample of 2,000" in again.about_data["policy"][-1]


def test_as_many_rows_as_are_asked_for_are_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("disentree.runs.data.MOST", 400)
    path = tmp_path / "rows.npy"
    np.save(path, np.random.default_rng(0).normal(size=(2000, 4)))
    data = load_data(RunConfig.of(str(path), n_samples=900))
    assert len(data) == 900
    assert data.everything is None
    assert not any("sample" in sentence for sentence in data.policy)


def test_images_beside_a_table_are_images_and_their_content_counts(tmp_path):
    for k in range(3):
        Image.fromarray(np.full((8, 8), 20 * k, np.uint8)).save(tmp_path / f"{k}.png")
    pd.DataFrame({"label": [0, 1, 0]}).to_csv(tmp_path / "labels.csv", index=False)
    config = RunConfig.of(str(tmp_path))
    assert options_of(tmp_path)[0] == "a folder of images"
    assert load_data(config).kind == load_file(tmp_path).kind == "images"
    Image.fromarray(np.full((8, 8), 99, np.uint8)).save(tmp_path / "1.png")
    assert RunConfig.of(str(tmp_path)).digest != config.digest


def test_a_sample_of_rows_in_memory_and_tables_that_a_tree_is_given_for(tmp_path, monkeypatch):
    monkeypatch.setattr(fit, "FIT", replace(FIT, landmarks=20))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3)).round(6)
    X[::2, :2] += 12
    table, first = pd.DataFrame(X, columns=list("abc")), np.arange(600) % 2 == 0
    with closing(sqlite3.connect(tmp_path / "rows.db")) as database:
        table.to_sql("rows", database, index=False)
    run = start_run(RunConfig.of(str(tmp_path / "rows.db"), preset="quick", epochs=1), tmp_path / "run")
    finish_run(run, until="structure")
    run = Run.open(run.folder)
    assert run.mimosa.sample_ is not None
    finish_run(run, until="scores", device="cpu")
    (tmp_path / "parts").mkdir()
    for k in range(2):
        table[300 * k : 300 * (k + 1)].to_csv(tmp_path / "parts" / f"{k}.csv", index=False)
    table[:0].to_csv(tmp_path / "parts" / "2.csv", index=False)
    apply_run(run, tmp_path / "rows.db", tmp_path / "one.csv")
    one = pd.read_csv(tmp_path / "one.csv")
    assert max(np.mean(one["path"] == first), np.mean(one["path"] != first)) > 0.99
    for source in (tmp_path / "parts", f"{tmp_path}/parts/*.csv"):
        apply_run(run, source, tmp_path / "all.csv", keep=["a"])
        found = pd.read_csv(tmp_path / "all.csv")
        np.testing.assert_allclose(found["a"], table["a"])
        pd.testing.assert_frame_equal(found.drop(columns="a"), one)
        assert not drift_run(run, source).changed
    (tmp_path / "h.json").write_text(run.hierarchy.to_json())
    np.savez(tmp_path / "l.npz", labels=run.paths)
    given = {"hierarchy_file": str(tmp_path / "h.json"), "labels_file": str(tmp_path / "l.npz")}
    other = start_run(RunConfig.of(str(tmp_path / "parts"), **given), tmp_path / "given")
    finish_run(other, until="structure")
    np.testing.assert_array_equal(other.paths, run.paths)


class Elsewhere:
    """An engine that is not this process."""

    run = Local.run


def test_rows_are_not_read_by_processes_that_have_ended(tmp_path, monkeypatch):
    np.save(tmp_path / "rows.npy", np.random.default_rng(0).normal(size=(50, 3)))
    run = start_run(RunConfig.of(str(tmp_path / "rows.npy")), tmp_path / "run")
    monkeypatch.setattr("disentree.runs.stages.engine_of", lambda *_: nullcontext(Elsewhere()))
    finish_run(run, until="data", engine="dask")
    assert run.engine is None
    assert "data" not in run.__dict__
