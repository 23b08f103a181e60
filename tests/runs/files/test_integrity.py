"""Finished means verified: damaged files are found by every command, and `run` makes them again."""

import json
import os
import shutil

import numpy as np
import pytest

from disentree.errors import UserError
from disentree.runs import Run, RunConfig, finish_run, start_run
from disentree.runs.files.json_files import read_sealed
from disentree.runs.stages import STAGE_NAMES, STAGES, finished_stages
from disentree.runs.start import clear_run
from disentree.runs.steps.training import seconds_in_checkpoint
from disentree.utils import files
from disentree.utils.files import locked
from shell import invoke, is_one_sentence

from ..conftest import STICKS, starts

RUN = ("run", *STICKS, "--structure", "true", "--out")
MADE = [file for stage in STAGES for file in stage.files] + ["true.npz", "config.json", "stages.json"]
NEEDED = [file for stage in STAGES[:4] for file in stage.files] + ["true.npz"]  # to report and to explore


def empty(path):
    path.write_bytes(b"")


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 0x55
    path.write_bytes(content)


def remove(path):
    path.unlink()


DAMAGES = [empty, cut, flip, remove]


# ------------------------------------------------------------------ damage


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", MADE)
def test_what_is_damaged_is_made_again(name, damage, finished, copy_of_finished, one_picture):
    damage(copy_of_finished / name)
    result = invoke(*RUN, copy_of_finished)
    assert result.exit_code == 0, result.stderr
    assert finished_stages(Run.open(copy_of_finished)) == [*STAGE_NAMES]
    for same in ("data.json", "hierarchy.json", "labels.npz", "model.safetensors", "metrics.json", "learned.npz"):
        assert (copy_of_finished / same).read_bytes() == (finished[0] / same).read_bytes(), same
    assert read_sealed(copy_of_finished / "config.json") == Run.open(finished[0]).about


@pytest.mark.parametrize("damage", [flip, remove])
@pytest.mark.parametrize("name", NEEDED)
def test_every_command_finds_it_and_its_advice_works(name, damage, copy_of_finished, one_picture, tmp_path):
    damage(copy_of_finished / name)
    np.save(tmp_path / "x.npy", np.zeros((3, 64)))
    commands = [("report", copy_of_finished), ("explore", copy_of_finished, "--export", tmp_path / "p.html")]
    if name in ("data.json", "model.safetensors", "model.json"):
        commands.append(("apply", copy_of_finished, tmp_path / "x.npy", "--out", tmp_path / "z.npy"))
    for command in commands:
        result = invoke(*command)
        assert result.exit_code == 2, command
        assert is_one_sentence(result)
        assert f"{copy_of_finished / name} is " in result.stderr
    advice = result.stderr.split("`")[1]
    assert advice.startswith("disentree run ")
    assert invoke(*advice.split()[1:]).exit_code == 0
    assert invoke("report", copy_of_finished).exit_code == 0


def test_only_what_depends_on_it_is_done_again(copy_of_finished, one_picture):
    n_before = len(starts(copy_of_finished))
    flip(copy_of_finished / "labels.npz")
    finish_run(Run.open(copy_of_finished))
    assert starts(copy_of_finished)[n_before:] == ["structure"]


def test_a_stage_without_checksums_is_not_finished(copy_of_finished):
    run = Run.open(copy_of_finished)
    stages = run.stages
    del stages["model"]["files"]["model.json"]
    run.write_sealed("stages.json", stages)
    assert finished_stages(run) == ["data", "structure"]


@pytest.mark.parametrize("name", ["config.json", "stages.json"])
def test_a_changed_digit_is_noticed(name, copy_of_finished):
    """These two vouch for the other files, and for themselves."""
    before, path = Run.open(copy_of_finished), copy_of_finished / name
    stages = before.stages
    text = path.read_text()
    changed = text.replace('"seed": 0', '"seed": 3').replace('"seconds": ', '"seconds": 1')
    assert changed != text
    path.write_text(changed)
    after = Run.open(copy_of_finished)
    assert (after.config, after.stages) == (before.config, stages)


def test_settings_that_no_file_has_any_more_are_named(copy_of_finished):
    cut(copy_of_finished / "config.json")
    (copy_of_finished / "events.jsonl").unlink()
    for command in (RUN, ("report",)):
        result = invoke(*command, copy_of_finished)
        assert result.exit_code == 2
        assert "config.json is damaged" in result.stderr
        assert is_one_sentence(result)
    assert invoke(*RUN, copy_of_finished, "--force", "--no-report").exit_code == 0


@pytest.mark.parametrize(
    "line", [b'{"event": "epo\n', b"\xff\xfe\x00\n", b"[1]\n", b"[" * 100_000 + b"\n", b"5\n"]
)
def test_a_bad_line_among_the_events_is_ignored(line, copy_of_finished):
    with (copy_of_finished / "events.jsonl").open("ab") as file:
        file.write(line)
    cut(copy_of_finished / "stages.json")
    run = Run.open(copy_of_finished)
    assert len(finished_stages(run)) == len(STAGES)
    assert invoke(*RUN, copy_of_finished).exit_code == 0


HOSTILE = {
    "config.json": [{"config": []}, {"format": "x", "config": {}}, {"config": {"source": 5}}, []],
    "stages.json": [[], {"data": 5}, {"data": {"seconds": "x"}}, {"data": {"seconds": 1, "files": [1]}}],
    "data.json": [[], {}, {"kind": "other"}],
    "structure.json": [[], {}, {"from": "magic"}],
    "metrics.json": [[], {}, {"scores": 5}],
    "hierarchy.json": [[], {}, {"variables": 5}, {"variables": [{"kind": "x"}]}],
    "model.json": [[], {}, {"format": 1}],
}


@pytest.mark.parametrize("name", HOSTILE)
def test_files_of_the_wrong_kind_are_one_sentence(name, copy_of_finished, one_picture):
    """Even if stages.json vouches for them."""
    path = copy_of_finished / name
    for value in HOSTILE[name]:
        path.write_text(json.dumps(value))
        run = Run.open(copy_of_finished) if name != "config.json" else None
        if run is not None and name != "stages.json":
            stages = run.stages
            for stage in stages.values():
                if name in stage["files"]:
                    stage["files"][name] = files.sha256_of(path)
            run.write_json("stages.json", stages)
        result = invoke("report", copy_of_finished)
        assert "unexpected" not in result.stderr, value
        if name != "model.json":  # which a report of one picture does not read
            assert result.exit_code == (0 if name == "config.json" else 2), value


# ------------------------------------------------------------------ two processes


@pytest.mark.parametrize("more", [(), ("--force",), ("--seed", 1), ("--seed", 1, "--force")])
def test_a_second_process_touches_nothing(more, copy_of_finished):
    before = {p: p.read_bytes() for p in copy_of_finished.rglob("*") if p.is_file()}
    with locked(copy_of_finished / ".lock"):
        result = invoke(*RUN, copy_of_finished, *more)
        assert result.exit_code == 2
        assert f"{copy_of_finished} is in use by another process" in result.stderr
        with pytest.raises(UserError, match="in use by another process"):
            clear_run(copy_of_finished)
    assert {p: p.read_bytes() for p in copy_of_finished.rglob("*") if p.is_file()} == before


def test_the_lock_is_never_removed(copy_of_finished, one_picture):
    invoke(*RUN, copy_of_finished)
    number = (copy_of_finished / ".lock").stat().st_ino
    assert invoke(*RUN, copy_of_finished, "--force").exit_code == 0
    clear_run(copy_of_finished)
    assert (copy_of_finished / ".lock").stat().st_ino == number
    assert os.listdir(copy_of_finished) == [".lock"]


def test_who_was_overtaken_is_told(tmp_path, fakes):
    first = start_run(RunConfig.of(STICKS[0], n_samples=300, structure="true"), tmp_path / "r")
    other = start_run(RunConfig.of(STICKS[0], n_samples=400, structure="true"), tmp_path / "r")
    with pytest.raises(UserError, match="was started over by another process"):
        finish_run(first)
    finish_run(other, until="scores")
    assert Run.open(tmp_path / "r").about_data["n_rows"] == 400


# ------------------------------------------------------------------ links


@pytest.mark.parametrize("name", [".lock", "events.jsonl", "metrics.json", "figures", "checkpoint"])
def test_links_are_not_followed(name, copy_of_finished, tmp_path, one_picture):
    mine = tmp_path / "mine"
    if name in ("figures", "checkpoint"):
        mine.mkdir()
        (mine / "tree.png").write_text("my own")
        (mine / "checkpoint.safetensors").write_text("my own")
        shutil.rmtree(copy_of_finished / name, ignore_errors=True)
    else:
        mine.write_text("my own\n")
        (copy_of_finished / name).unlink(missing_ok=True)
    (copy_of_finished / name).symlink_to(mine)
    before = {p: p.read_bytes() for p in (mine.rglob("*") if mine.is_dir() else [mine])}
    for command in (RUN, ("report",), (*RUN[:-1], "--seed", 1, "--force", "--out")):
        result = invoke(*command, copy_of_finished)
        assert "unexpected" not in result.stderr
        if command[0] == "report" or "--force" not in command:
            assert result.exit_code == 2
            assert "is a link" in result.stderr or "is damaged" in result.stderr
    after = {p: p.read_bytes() for p in (mine.rglob("*") if mine.is_dir() else [mine])}
    assert after == before


@pytest.mark.parametrize("name", ["events.jsonl", "config.json", "stages.json", "data.json", ".lock"])
def test_a_pipe_blocks_nobody(name, copy_of_finished):
    (copy_of_finished / name).unlink(missing_ok=True)
    os.mkfifo(copy_of_finished / name)
    for command in (RUN, ("report",)):
        result = invoke(*command, copy_of_finished)
        assert result.exit_code in (0, 2)
        assert "unexpected" not in result.stderr


# ------------------------------------------------------------------ power cuts


def test_files_are_on_the_disk_before_their_stage_counts(tmp_path, fakes, one_picture, monkeypatch):
    """Every file is synced before it has its name, and all files of a stage before stages.json says so."""
    log = []
    real_sync, real_replace = files.sync, os.replace

    def sync(path):
        log.append(("sync", os.fspath(path)))
        real_sync(path)

    def replace(source, target):
        assert ("sync", os.fspath(source)) in log
        log.append(("name", os.fspath(target)))
        real_replace(source, target)

    monkeypatch.setattr(files, "sync", sync)
    monkeypatch.setattr("disentree.runs.files.integrity.sync", sync)
    monkeypatch.setattr(os, "replace", replace)
    assert invoke(*RUN, tmp_path / "r").exit_code == 0
    marks = [i for i, entry in enumerate(log) if entry == ("name", str(tmp_path / "r" / "stages.json"))]
    assert len(marks) == len(STAGES)
    for stage, mark in zip(STAGES, marks, strict=True):
        for file in stage.files:
            assert ("sync", str(tmp_path / "r" / file)) in log[:mark]
        assert ("sync", str(tmp_path / "r")) in log[:mark]


@pytest.mark.parametrize(
    "left", [b"", b'{"ti', b'{"time": "2026-01-01T00:00:00.000+00:00", "event": "created", "ab']
)
def test_a_run_that_was_cut_off_at_its_first_line_starts_anew(left, tmp_path, fakes):
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "events.jsonl").write_bytes(left)
    assert invoke(*RUN, tmp_path / "r", "--no-report").exit_code == 0
    (tmp_path / "r" / "config.json").unlink()  # the first line must be whole again
    assert Run.open(tmp_path / "r").config.seed == 0


@pytest.mark.parametrize("mine", [b"my own events", b'{"time": 5}\n'])
def test_an_event_file_of_another_kind_is_not_touched(mine, tmp_path, fakes):
    (tmp_path / "events.jsonl").write_bytes(mine)
    assert "is not empty and not a run folder" in invoke(*RUN, tmp_path).stderr
    assert (tmp_path / "events.jsonl").read_bytes() == mine


def test_a_line_that_was_cut_off_takes_no_other_with_it(copy_of_finished):
    run = Run.open(copy_of_finished)
    n_events = len(run.read_events())
    with (copy_of_finished / "events.jsonl").open("ab") as file:
        file.write(b'{"time": "2026')
    run.log_event("next")
    assert [event["event"] for event in run.read_events()[n_events:]] == ["next"]


def test_what_a_killed_writer_left_is_removed(copy_of_finished):
    for place in ("", "figures/"):
        (copy_of_finished / f"{place}.tmp-metrics-abcd.json").write_text("{")
    (copy_of_finished / ".mine").write_text("")
    assert invoke(*RUN, copy_of_finished).exit_code == 0
    assert sorted(p.name for p in copy_of_finished.rglob(".*")) == [".lock", ".mine"]


# ------------------------------------------------------------------ checkpoints


@pytest.mark.parametrize("damage", [empty, cut, flip])
def test_a_damaged_checkpoint_restarts_the_training(damage, real, tmp_path, monkeypatch):
    ask, folder = real
    ask = [tmp_path / "r" if a == folder else a for a in ask]
    from disentree.runs.steps import training

    make = training.make_model

    def stops_after_2(*args, **kwargs):
        def stop(record, model):
            if record["epoch"] == 2:
                raise KeyboardInterrupt

        return make(*args, **kwargs).set_params(callbacks=[stop])

    with monkeypatch.context() as patch:
        patch.setattr(training, "make_model", stops_after_2)
        assert invoke(*ask).exit_code == 130
    damage(tmp_path / "r" / "checkpoint" / "checkpoint.safetensors")
    result = invoke(*ask, "--no-report")
    assert result.exit_code == 0, result.stderr
    assert "checkpoint.safetensors is cut short or damaged" in result.stderr
    assert "training starts from the beginning" in result.stderr
    assert (tmp_path / "r" / "learned.npz").read_bytes() == (folder / "learned.npz").read_bytes()


# ------------------------------------------------------------------ found by fuzzing


def vouched(folder, name):
    """stages.json says that the file is as it was written."""
    run = Run.open(folder)
    stages = run.stages
    for stage in stages.values():
        if name in stage["files"]:
            stage["files"][name] = files.sha256_of(folder / name)
    run.write_sealed("stages.json", stages)


@pytest.mark.parametrize(
    ("name", "array", "value", "problem"),
    [
        ("labels.npz", "labels", np.array("x"), "labels must be whole numbers, got <U1 of shape ()"),
        ("labels.npz", "labels", np.full(540, 10**9), "labels must be from -1 to 1, got 1000000000"),
        ("labels.npz", "test", np.full(60, -1), "test must be from 0 to 599"),
        ("labels.npz", "core_labels", np.zeros(3, dtype=int), "arrays differ in length"),
        ("samples.npz", "rows", np.zeros(24), "rows must be whole numbers, got float64"),
        ("samples.npz", "X", np.array(5.0), "X must be rows of shape (64,), got float64 of shape ()"),
        ("samples.npz", "X", np.full((24, 64), np.nan), "X must be finite"),
    ],
)
def test_arrays_that_stages_json_vouches_for(name, array, value, problem, copy_of_finished):
    run = Run.open(copy_of_finished)
    run.write_npz(name, **{**run.read_npz(name), array: value})
    vouched(copy_of_finished, name)
    with pytest.raises(UserError) as caught:
        run.read_npz(name)
    assert f"{name} is damaged ({problem}" in str(caught.value)
    result = invoke("report", copy_of_finished)
    assert result.exit_code == 2 or array in ("test", "core_labels")  # which a report does not show
    assert "unexpected" not in result.stderr


@pytest.mark.parametrize(
    "event",
    [
        {"event": "done"},
        {"event": "start", "stage": {}},
        {"event": "done", "stage": [], "files": {}},
        {"event": "epoch"},
    ],
)
def test_events_of_the_wrong_kind_are_ignored(event, copy_of_finished):
    run = Run.open(copy_of_finished)
    run.log_event(**event)
    (copy_of_finished / "stages.json").unlink()
    assert len(finished_stages(run)) == len(STAGES)
    assert seconds_in_checkpoint(run) == 0


def test_a_report_that_is_made_again_is_the_same(copy_of_finished):
    before = (copy_of_finished / "report.html").read_text()
    (copy_of_finished / "report.html").unlink()
    finish_run(Run.open(copy_of_finished))
    after = (copy_of_finished / "report.html").read_text()
    original = Run.open(copy_of_finished).about["command"].split(" --out ")[1].split()[0]
    assert after.replace(str(copy_of_finished), original) == before
