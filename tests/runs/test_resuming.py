"""Stopping and going on; covers `folder.py` and `stages.py`."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from disentree.errors import UserError
from disentree.runs import RunConfig, stages, start_run
from disentree.runs.run import Run
from disentree.runs.stages import STAGE_NAMES, finish_run, finished_stages, redo_from
from disentree.utils.files import locked
from fakes import FakeModel
from shell import invoke, is_one_sentence

from .conftest import STICKS, starts


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("stage", STAGE_NAMES)
def test_an_interrupted_run_goes_on_and_ends_the_same(
    stage, when, finished, tmp_path, fakes, one_picture, monkeypatch
):
    real = stages.STAGES
    index = STAGE_NAMES.index(stage)

    def stopped(*args):
        if when == "after":  # its files are there, but it is not marked as finished
            real[index].function(*args)
        raise KeyboardInterrupt

    table = (*real[:index], replace(real[index], function=stopped), *real[index + 1 :])
    monkeypatch.setattr(stages, "STAGES", table)
    ask = ("run", *STICKS, "--out", tmp_path / "r", "--structure", "true")
    result = invoke(*ask)
    assert result.exit_code == 130
    assert result.stderr.endswith("disentree: stopped; the same command goes on from there\n")
    assert f"stopped in stage '{stage}'" in result.stderr
    assert STAGE_NAMES[len(finished_stages(Run.open(tmp_path / "r")))] == stage
    monkeypatch.setattr(stages, "STAGES", real)
    assert invoke(*ask).exit_code == 0
    assert starts(tmp_path / "r") == [*STAGE_NAMES[: index + 1], *STAGE_NAMES[index:]]
    for file in ("metrics.json", "hierarchy.json", "labels.npz", "learned.npz", "data.json", "samples.npz"):
        assert (tmp_path / "r" / file).read_bytes() == (finished[0] / file).read_bytes()


def test_a_failure_loses_nothing_that_is_finished(tmp_path, fakes, one_picture, monkeypatch):
    def broken(*args):
        raise OSError(28, "No space left on device", "somewhere")

    with monkeypatch.context() as patch:
        patch.setattr(FakeModel, "save", broken)
        result = invoke("run", *STICKS, "--out", tmp_path / "r", "--structure", "true")
    assert result.exit_code == 2
    assert result.stderr.endswith("disentree: No space left on device: somewhere\n")
    events = (tmp_path / "r" / "events.jsonl").read_text()
    assert '"event": "failed", "stage": "model", "error": "OSError' in events
    run = Run.open(tmp_path / "r")
    assert finished_stages(run) == ["data", "structure"]
    finish_run(run)
    assert finished_stages(run) == [*STAGE_NAMES]


def test_a_second_run_does_nothing_again(copy_of_finished):
    before = {p: p.stat().st_mtime_ns for p in copy_of_finished.rglob("*") if p.name != ".lock"}
    result = invoke("run", *STICKS, "--out", copy_of_finished, "--structure", "true")
    assert result.exit_code == 0
    assert "R4c" in result.stdout
    assert {p: p.stat().st_mtime_ns for p in copy_of_finished.rglob("*") if p.name != ".lock"} == before


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("--seed", 1), "holds a run with seed 0, not 1: choose another folder, or --force to start over"),
        (("--preset", "quick"), "preset default, not quick"),
        (("--noise", 0.1), "options as usual, not noise=0.1"),
        (("--epochs", 3), "epochs as usual, not 3"),
    ],
)
def test_another_run_in_the_same_folder_is_refused(change, sentence, copy_of_finished):
    before = (copy_of_finished / "metrics.json").read_bytes()
    ask = ("run", *STICKS, "--out", copy_of_finished, "--structure", "true", *change)
    result = invoke(*ask)
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert is_one_sentence(result)
    assert (copy_of_finished / "metrics.json").read_bytes() == before


def test_a_mistake_at_the_start_does_not_claim_the_folder(tmp_path, fakes):
    frame = pd.DataFrame(np.random.default_rng(0).random((300, 3)), columns=list("abc"))
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert invoke("run", tmp_path / "t.csv", "--drop", "z", "--out", tmp_path / "r").exit_code == 2
    assert invoke("run", tmp_path / "t.csv", "--drop", "c", "--out", tmp_path / "r", "--no-report").exit_code == 0


def test_force_starts_over_and_leaves_strangers_alone(copy_of_finished, one_picture):
    (copy_of_finished / "notes.txt").write_text("mine")
    ask = ("run", *STICKS, "--out", copy_of_finished, "--structure", "true", "--seed", 1, "--force")
    result = invoke(*ask)
    assert result.exit_code == 0, result.stderr
    assert starts(copy_of_finished) == list(STAGE_NAMES)
    assert Run.open(copy_of_finished).config.seed == 1
    assert (copy_of_finished / "notes.txt").read_text() == "mine"


def test_files_that_are_gone_are_made_again(copy_of_finished, one_picture):
    (copy_of_finished / "model.json").unlink()
    run = Run.open(copy_of_finished)
    assert finished_stages(run) == ["data", "structure"]
    finish_run(run)
    assert finished_stages(run) == [*STAGE_NAMES]
    assert starts(copy_of_finished)[len(STAGE_NAMES) :] == ["model"]  # which is what it was


def test_the_time_of_a_training_is_that_of_all_its_sessions(copy_of_finished, monkeypatch, fakes):
    run = Run.open(copy_of_finished)
    redo_from(run, "model")
    for event in ({"event": "epoch", "epoch": 1, "seconds": 70.0}, {"event": "done", "stage": "model"}):
        run.log_event(**event)  # an earlier training, that came to its end
    for epoch in (1, 2):
        run.log_event("epoch", epoch=epoch, seconds=100.0)
    with (copy_of_finished / "events.jsonl").open("a") as file:
        file.write('{"event": "epo\n')
    finish_run(run, until="model")
    assert run.stages["model"]["seconds"] < 70  # without a checkpoint it began anew
    redo_from(run, "model")
    for epoch in (1, 2):
        run.log_event("epoch", epoch=epoch, seconds=100.0)
    (copy_of_finished / "checkpoint").mkdir()
    (copy_of_finished / "checkpoint" / "checkpoint.safetensors").write_bytes(b"")
    finish_run(run, until="model")
    assert 200 < run.stages["model"]["seconds"] < 270


def test_a_folder_in_use_is_left_alone(copy_of_finished):
    with locked(copy_of_finished / ".lock"):
        result = invoke("report", copy_of_finished)
    assert result.exit_code == 2
    assert "is in use by another process" in result.stderr


def test_a_model_that_says_it_was_interrupted_is_not_kept(tmp_path, fakes, monkeypatch):
    monkeypatch.setattr(FakeModel, "interrupted_", True, raising=False)
    assert invoke("run", *STICKS, "--out", tmp_path / "r", "--structure", "true").exit_code == 130
    assert finished_stages(Run.open(tmp_path / "r")) == ["data", "structure"]


@pytest.mark.filterwarnings("ignore:interrupted")
def test_a_search_that_was_cut_short_is_not_kept(tmp_path, monkeypatch):
    from disentree.mimosa.finders.atlas import finder as atlas
    from disentree.mimosa.finders.flats import subspaces

    ask = ("mimosa", *STICKS, "--out", tmp_path / "r", "--no-figures")
    with monkeypatch.context() as patch:
        patch.setattr(subspaces, "needless_if_filled", lambda *args: [])  # so that the atlas is asked too
        patch.setattr(atlas, "find", _interrupt)
        assert invoke(*ask).exit_code == 130
    assert finished_stages(Run.open(tmp_path / "r")) == ["data"]
    assert invoke(*ask).exit_code == 0


@pytest.mark.filterwarnings("ignore:interrupted")
def test_resamples_that_were_stopped_go_on(tmp_path, fake_model, one_picture, monkeypatch):
    from disentree.mimosa.stability import resampling

    ask = ("run", *STICKS, "--out", tmp_path / "r", "--n-jobs", "1", "--resamples", "3")
    real, calls = resampling.compare, []

    def second_stops(*args):
        calls.append(args)
        return real(*args) if len(calls) < 2 else _interrupt()

    with monkeypatch.context() as patch:
        patch.setattr(resampling, "compare", second_stops)
        result = invoke(*ask)
    assert result.exit_code == 130
    assert "stopped in stage 'stability'" in result.stderr
    assert "going on with 3 resamples" in result.stdout
    assert (tmp_path / "r" / "report.html").exists()  # it does not wait for them
    assert not (tmp_path / "r" / "stability.json").exists()
    with monkeypatch.context() as patch:
        patch.setattr(resampling, "compare", lambda *args: calls.append(args) or real(*args))
        assert invoke(*ask).exit_code == 0
    assert len(calls) == 2 + 2  # the first is not done again
    assert Run.open(tmp_path / "r").read_json("stability.json")["n_resamples"] == 3


def _interrupt(*args, **kwargs):
    raise KeyboardInterrupt


def test_other_settings_are_refused_once_the_data_was_read(tmp_path, fakes):
    run = start_run(RunConfig.of("chopsticks-depth2-inter", n_samples=300), tmp_path / "r")
    again = RunConfig.of("chopsticks-depth2-inter", n_samples=300, seed=1)
    assert start_run(again, tmp_path / "r").config.seed == 1  # nothing was done
    run = Run.open(tmp_path / "r")
    finish_run(run, until="data")
    with pytest.raises(UserError, match="holds a run with seed 1, not 0"):
        start_run(RunConfig.of("chopsticks-depth2-inter", n_samples=300), tmp_path / "r")
