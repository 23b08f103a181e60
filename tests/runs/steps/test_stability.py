"""Support of leaves in a run: `stability.py`."""

import json

import numpy as np
import pytest

from disentree import MIMOSA
from disentree.errors import UserError
from disentree.runs import RunConfig, finish_run, start_run
from disentree.runs.files.schemas import STABILITY
from disentree.runs.run import Run
from disentree.runs.steps.structure import RESAMPLES


@pytest.fixture
def table(tmp_path):
    """Rows on a line and on a plane that it lies in."""
    rng = np.random.default_rng(0)
    u, v = rng.uniform(-1, 1, (2, 400))
    v[:200] = 0.0
    file = tmp_path / "rows.csv"
    np.savetxt(file, np.stack([u + v, u - v, 2 * u + v], axis=1), delimiter=",", header="a,b,c", comments="")
    return file


def test_a_run_measures_support_and_writes_it(table, tmp_path):
    run = start_run(RunConfig.of(str(table), preset="quick", epochs=1, resamples=2), tmp_path / "run")
    finish_run(run, until="stability")
    written = json.loads((run.folder / STABILITY).read_text())
    assert written["n_resamples"] == 2
    assert written["verdict"] == "Every group came back in at least 100% of 2 resamples of the rows."
    assert [c["support"] for c in written["components"]] == [1.0, 1.0]
    assert STABILITY in run.stages["stability"]["files"]


def test_the_support_is_that_of_the_library(table, tmp_path):
    """Files of a run have the names in hierarchy.json, MIMOSA those that it gave to the columns."""
    run = start_run(RunConfig.of(str(table), preset="quick", epochs=1, resamples=2), tmp_path / "run")
    finish_run(run, until="stability", n_jobs=1)
    written = json.loads((run.folder / STABILITY).read_text())
    rows = run.data.frame.iloc[run.read_npz("labels.npz", "train")["train"]]
    mimosa = MIMOSA(random_state=0, n_jobs=1).fit(rows)
    assert str(mimosa.hierarchy_) == str(run.mimosa.hierarchy_)
    np.testing.assert_array_equal(run.mimosa.predict(rows), mimosa.labels_)
    expected = mimosa.stability(n_resamples=2).to_dict()
    assert [b["option"] for b in written["branches"]] == list(run.hierarchy.variables[1].options)
    assert [b["option"] for b in expected["branches"]] == list(mimosa.hierarchy_.variables[1].options)
    for one in (*written["branches"], *expected["branches"]):
        del one["categorical"], one["option"]
    assert written == expected


def test_a_stopped_run_goes_on_with_the_resamples_that_are_left(table, tmp_path, monkeypatch):
    from disentree.mimosa.stability import resampling

    run = start_run(RunConfig.of(str(table), preset="quick", epochs=1, resamples=3), tmp_path / "run")
    finish_run(run, until="scores")
    real, done = resampling.compare, []

    def stops(*trees):
        if len(done) == 2:
            raise OSError("no space left")
        done.append(1)
        return real(*trees)

    monkeypatch.setattr(resampling, "compare", stops)
    with pytest.raises(OSError, match="no space"):
        finish_run(run, until="stability", n_jobs=1)
    assert len((run.folder / RESAMPLES).read_text().splitlines()) == 2
    done.clear()
    finish_run(run, until="stability", n_jobs=1)
    assert len(done) == 1
    assert json.loads((run.folder / STABILITY).read_text())["n_resamples"] == 3


def test_another_number_of_resamples_adds_some_or_leaves_some_out(table, tmp_path, monkeypatch):
    from disentree.mimosa.stability import resampling

    def finished(resamples):
        config = RunConfig.of(str(table), preset="quick", epochs=1, resamples=resamples)
        run = start_run(config, tmp_path / "run")
        finish_run(run, until="stability", n_jobs=1)
        assert Run.open(run.folder).config.resamples == resamples
        assert (f"--resamples {resamples}" in run.about["command"]) == (resamples is not None)
        written = run.folder / STABILITY
        return json.loads(written.read_text())["n_resamples"] if written.exists() else 0

    real, done = resampling.compare, []
    monkeypatch.setattr(resampling, "compare", lambda *trees: done.append(1) or real(*trees))
    assert finished(1) == 1
    first = (tmp_path / "run" / STABILITY).read_bytes()
    assert len(done) == 1
    assert finished(2) == 2
    assert len(done) == 2  # one more
    assert finished(0) == 0
    assert finished(1) == 1
    assert len(done) == 2  # none was fitted again
    assert (tmp_path / "run" / STABILITY).read_bytes() == first
    (tmp_path / "run" / "config.json").unlink()  # what was changed last is in the journal too
    assert Run.open(tmp_path / "run").config.resamples == 1
    (tmp_path / "run" / "stages.json").unlink()
    assert "stability" in Run.open(tmp_path / "run").stages
    config = RunConfig.of(str(table), preset="quick", epochs=1)  # no number is given: the run keeps its own
    assert start_run(config, tmp_path / "run").config.resamples == 1
    assert "stability" in Run.open(tmp_path / "run").stages
    finish_run(Run.open(tmp_path / "run"), until="stability", n_jobs=1, redo="stability")
    assert len(done) == 3  # fitted again, since that was asked for
    assert (tmp_path / "run" / STABILITY).read_bytes() == first
    with pytest.raises(UserError, match="seed 0, not 1: choose another folder"):
        start_run(RunConfig.of(str(table), preset="quick", epochs=1, resamples=1, seed=1), tmp_path / "run")


def test_a_negative_number_of_resamples_is_refused():
    with pytest.raises(UserError, match="resamples"):
        RunConfig.of("chopsticks-depth2-slope", resamples=-1)
