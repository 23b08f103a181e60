"""Runs of files with more rows than they work with in memory: `data.py`, `apply.py`."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from disentree.mimosa import fit
from disentree.mimosa.constants import FIT
from disentree.runs import Run, RunConfig, finish_run, start_run
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
