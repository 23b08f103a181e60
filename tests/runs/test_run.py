"""A whole run, and what is in its folder."""

import json
import re
import shutil

import numpy as np
import pytest

from disentree.datasets import load_dataset
from disentree.runs.run import Run
from disentree.runs.stages import STAGE_NAMES, STAGES, finished_stages
from disentree.runs.steps import training
from disentree.utils.versions import build_versions
from shell import invoke, is_one_sentence

from .conftest import STICKS, starts


def test_everything_is_in_the_folder(finished):
    folder, _ = finished
    for stage in STAGES:
        for file in stage.files:
            assert (folder / file).stat().st_size > 0
    pictures = {"tree", "traversals", "reconstructions", "pairwise", "training"}
    assert {p.stem for p in (folder / "figures").iterdir()} == pictures
    assert not list(folder.rglob(".tmp-*"))  # no temporary file is left
    about = json.loads((folder / "config.json").read_text())
    assert about["config"]["n_samples"] == 600
    assert set(about["versions"]) >= {"disentree", "numpy", "torch"}
    stages = json.loads((folder / "stages.json").read_text())
    assert list(stages) == [*STAGE_NAMES, "sha256"]
    del stages["sha256"]
    assert all(stage["seconds"] >= 0 and stage["cpu_seconds"] >= 0 for stage in stages.values())
    assert starts(folder) == list(STAGE_NAMES)


def test_scores_of_flats_that_are_found(finished):
    metrics = Run.open(finished[0]).metrics
    assert 0.7 < metrics["scores"]["r4c"] < 1  # principal axes are not the factors
    assert metrics["scores"]["h_error"] == 0
    assert metrics["scores"]["purity"] == metrics["scores"]["coverage"] == 1
    own = metrics["scores_without_truth"]
    assert own["reconstruction_r2"] > 0.999
    assert own["assignment_agreement"] > 0.9
    assert 0 <= own["dependence"] < 0.5
    assert own["description_length"] > 32
    assert metrics["n_train"] == 540


def test_the_summary_shows_tree_score_times_and_report(finished):
    folder, stdout = finished
    assert "├── nothing more (" in stdout
    assert re.search(r"^R4c 0\.\d{3} ", stdout, re.MULTILINE)
    assert re.search(
        r"^time .* s \(data .* s, structure .* s, model .* s, scores .* s, reasons .* s, stability .* s, figures",
        stdout,
        re.MULTILINE,
    )
    assert stdout.endswith(f"report: {folder / 'report.html'}\n")


def test_rows_are_held_out_and_the_same_for_the_same_seed(finished):
    run = Run.open(finished[0])
    rows = run.read_npz("labels.npz")
    assert len(rows["test"]) == 60
    assert sorted([*rows["train"], *rows["test"]]) == list(range(600))
    np.testing.assert_array_equal(run.split(600)[1], rows["test"])
    truth, hierarchy = run.codes("true")
    ds = load_dataset(run.config.source, 600, 0)
    np.testing.assert_array_equal(truth, ds.codes[rows["test"]])
    assert hierarchy == ds.hierarchy


def test_score_reads_the_folder(finished, tmp_path):
    result = invoke("score", finished[0], "--out", tmp_path / "s.json", "--metrics", "r4c")
    assert result.exit_code == 0, result.stderr
    scores = json.loads((tmp_path / "s.json").read_text())["scores"]
    assert scores["r4c"] == pytest.approx(Run.open(finished[0]).metrics["scores"]["r4c"])


def test_mimosa_finds_the_structure_unless_told(tmp_path, fakes, one_picture):
    result = invoke("run", *STICKS, "--out", tmp_path / "r", "--no-report")
    assert result.exit_code == 0, result.stderr
    run = Run.open(tmp_path / "r")
    assert finished_stages(run) == ["data", "structure", "model", "scores", "reasons"]
    assert "report" not in result.stdout
    structure = run.read_json("structure.json")
    assert (structure["from"], structure["description_length"]) == ("mimosa", 42.0)
    assert run.metrics["scores"]["coverage"] == pytest.approx(0.9, abs=0.01)
    assert run.metrics["scores"]["h_error"] == 0
    assert "low (" in result.stdout
    again = invoke("run", *STICKS, "--out", tmp_path / "r")
    assert again.exit_code == 0
    assert starts(tmp_path / "r") == list(STAGE_NAMES)  # the rest is done when it is asked for


def test_a_structure_of_ones_own(tmp_path, fakes, one_picture):
    ds = load_dataset("chopsticks-depth2-inter", 600, 0)
    (tmp_path / "h.json").write_text(ds.hierarchy.to_json())
    labels = np.where(np.arange(600) % 7 == 0, -1, ds.paths)
    np.savez(tmp_path / "l.npz", labels=labels)
    given = ("--hierarchy", tmp_path / "h.json", "--labels", tmp_path / "l.npz")
    result = invoke("run", *STICKS, "--out", tmp_path / "r", *given)
    assert result.exit_code == 0, result.stderr
    run = Run.open(tmp_path / "r")
    assert (run.hierarchy, run.config.structure) == (ds.hierarchy, "given")
    assert run.metrics["scores"]["coverage"] == pytest.approx(6 / 7, abs=0.01)
    assert "not assigned" in run.report_path.read_text()
    np.savez(tmp_path / "l.npz", labels=ds.paths)
    assert "another structure" in invoke("run", *STICKS, "--out", tmp_path / "r", *given).stderr


def test_a_folder_of_an_earlier_format_is_refused_in_a_sentence(copy_of_finished, one_picture):
    run = Run.open(copy_of_finished)
    run.write_sealed("config.json", {**run.about, "format": 1, "versions": {"disentree": "0.1"}})
    (run.folder / "events.jsonl").unlink()  # which has the settings too
    for args in (("report", copy_of_finished), ("run", *STICKS, "--structure", "true", "--out", copy_of_finished)):
        result = invoke(*args)
        assert result.exit_code == 2
        assert "was made by disentree 0.1, whose run folders are not read any more" in result.stderr
    again = invoke("run", *STICKS, "--structure", "true", "--out", copy_of_finished, "--force")
    assert again.exit_code == 0, again.stderr


def test_a_run_records_its_build(finished):
    versions = Run.open(finished[0]).about["versions"]
    assert versions == build_versions()
    assert versions["commit"]


# ------------------------------------------------------------------ with the real models


def test_the_real_thing(real):
    _, folder = real
    run = Run.open(folder)
    assert run.metrics["scores"]["h_error"] == 0
    assert run.metrics["scores"]["purity"] > 0.99
    assert len(run.model().history_) == 4
    assert not (folder / "checkpoint").exists()
    codes, hierarchy = run.codes("learned")
    rows = run.read_npz("labels.npz")
    np.testing.assert_allclose(run.model().transform(run.data.X[rows["test"]]), codes)
    assert hierarchy == run.hierarchy
    epochs = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    assert [e["epoch"] for e in epochs if e["event"] == "epoch"] == [1, 2, 3, 4]


def test_training_that_is_stopped_goes_on_from_its_last_epoch(real, tmp_path, monkeypatch):
    ask, folder = real
    make = training.make_model

    def stops_in_epoch_3(*args, **kwargs):
        def stop(record, model):
            if record["epoch"] == 2:
                raise KeyboardInterrupt

        return make(*args, **kwargs).set_params(callbacks=[stop])

    ask = [tmp_path / "r" if a == folder else a for a in ask]
    monkeypatch.setattr(training, "make_model", stops_in_epoch_3)
    assert invoke(*ask).exit_code == 130
    assert (tmp_path / "r" / "checkpoint" / "checkpoint.safetensors").is_file()
    monkeypatch.setattr(training, "make_model", make)
    assert invoke(*ask, "--no-report").exit_code == 0
    assert not (tmp_path / "r" / "checkpoint").exists()
    assert (tmp_path / "r" / "learned.npz").read_bytes() == (folder / "learned.npz").read_bytes()


def test_a_model_cut_short_is_named(real, tmp_path):
    folder = shutil.copytree(real[1], tmp_path / "r")
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    result = invoke("report", folder)
    assert result.exit_code == 2
    assert "model.safetensors is damaged: its checksum differs" in result.stderr
    assert is_one_sentence(result)
