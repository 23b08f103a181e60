"""Runs: the folder, resuming, the command line and the report. Stand-ins for the models keep it quick; the last
tests use the real ones."""

import html.parser
import json
import os
import re
import shlex
import shutil

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from typer.testing import CliRunner

from disentree import Hierarchy, _stages, cli, report
from disentree.datasets import load_dataset, save_dataset
from disentree.errors import UserError
from disentree.report import with_sizes
from disentree.run import STAGES, Run, RunConfig
from fakes import FakeMIMOSA, FakeModel

STICKS = ("chopsticks-depth2-inter", "--n-samples", 600)


def invoke(*args):
    return CliRunner(env={"NO_COLOR": "1"}).invoke(cli.app, [str(arg) for arg in args])


def is_one_sentence(result):
    last = result.stderr.splitlines()[-1]
    return last.startswith("disentree: ") and "Traceback" not in result.stderr


@pytest.fixture
def fakes(monkeypatch):
    monkeypatch.setitem(_stages.MODELS, "cofhae", ("fakes", "FakeModel"))
    monkeypatch.setattr(_stages, "make_mimosa", lambda config, verbose: FakeMIMOSA())


@pytest.fixture
def one_picture(monkeypatch):
    """Drawing is most of what a run with stand-ins takes."""

    def figures(run, device):
        return dict.fromkeys(("tree", "traversals", "reconstructions"), lambda: plt.figure(figsize=(1, 1)))

    monkeypatch.setattr(report, "figures", figures)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished run with the true structure, to look at and to copy."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(_stages.MODELS, "cofhae", ("fakes", "FakeModel"))
        folder = tmp_path_factory.mktemp("runs") / "done"
        result = invoke("run", *STICKS, "--out", folder, "--structure", "true")
        assert result.exit_code == 0, result.stderr
        return folder, result.stdout


@pytest.fixture
def copy_of_finished(finished, tmp_path, fakes):
    return shutil.copytree(finished[0], tmp_path / "copy")


@pytest.fixture(autouse=True)
def _no_handlers_left():
    """The command line logs to a stream of the runner's, which is closed afterwards."""
    yield
    cli.log.handlers.clear()


def starts(folder):
    lines = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    return [line["stage"] for line in lines if line["event"] == "start"]


# ------------------------------------------------------------------ a whole run


def test_everything_is_in_the_folder(finished):
    folder, _ = finished
    for files in STAGES.values():
        for file in files:
            assert (folder / file).stat().st_size > 0
    pictures = {"tree", "traversals", "reconstructions", "pairwise", "training"}
    assert {p.stem for p in (folder / "figures").iterdir()} == pictures
    assert not list(folder.rglob(".*-*"))  # no temporary file is left
    about = json.loads((folder / "config.json").read_text())
    assert about["config"]["n_samples"] == 600
    assert set(about["versions"]) >= {"disentree", "numpy", "torch"}
    stages = json.loads((folder / "stages.json").read_text())
    assert list(stages) == list(STAGES)
    assert all(stage["seconds"] >= 0 for stage in stages.values())
    assert starts(folder) == list(STAGES)


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
    assert [leaf["dimension"] for leaf in metrics["leaves"]] == [1, 2]
    assert sum(leaf["n_rows"] for leaf in metrics["leaves"]) == metrics["n_train"] == 540


def test_the_summary_shows_tree_score_times_and_report(finished):
    folder, stdout = finished
    assert "├── stop (" in stdout
    assert re.search(r"^R4c 0\.\d{3} ", stdout, re.MULTILINE)
    assert re.search(
        r"^time .* s \(data .* s, structure .* s, model .* s, scores .* s, figures", stdout, re.MULTILINE
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
    assert run.finished() == ["data", "structure", "model", "scores"]
    assert "report" not in result.stdout
    structure = run.read_json("structure.json")
    assert (structure["from"], structure["description_length"]) == ("mimosa", 42.0)
    assert run.metrics["scores"]["coverage"] == pytest.approx(0.9)
    assert run.metrics["scores"]["h_error"] == 0
    assert "low (" in result.stdout
    again = invoke("run", *STICKS, "--out", tmp_path / "r")
    assert again.exit_code == 0
    assert starts(tmp_path / "r") == list(STAGES)  # the rest is done when it is asked for


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


# ------------------------------------------------------------------ stopping and going on


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("stage", list(STAGES))
def test_an_interrupted_run_goes_on_and_ends_the_same(
    stage, when, finished, tmp_path, fakes, one_picture, monkeypatch
):
    real = getattr(_stages, f"do_{stage}")

    def stopped(*args):
        if when == "after":  # its files are there, but it is not marked as finished
            real(*args)
        raise KeyboardInterrupt

    monkeypatch.setattr(_stages, f"do_{stage}", stopped)
    ask = ("run", *STICKS, "--out", tmp_path / "r", "--structure", "true")
    result = invoke(*ask)
    assert result.exit_code == 130
    assert result.stderr.endswith("disentree: stopped\n")
    assert f"stopped in stage '{stage}'; the same command goes on from here" in result.stderr
    assert Run.open(tmp_path / "r").unfinished()[0] == stage
    monkeypatch.setattr(_stages, f"do_{stage}", real)
    assert invoke(*ask).exit_code == 0
    order = list(STAGES)
    assert starts(tmp_path / "r") == [*order[: order.index(stage) + 1], *order[order.index(stage) :]]
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
    assert run.finished() == ["data", "structure"]
    run.finish()
    assert run.unfinished() == []


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
        (("--noise", 0.1), "options default options, not {'noise': 0.1}"),
        (("--epochs", 3), "epochs unset, not 3"),
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
    assert starts(copy_of_finished) == list(STAGES)
    assert Run.open(copy_of_finished).config.seed == 1
    assert (copy_of_finished / "notes.txt").read_text() == "mine"


def test_files_that_are_gone_are_made_again_with_all_that_follows(copy_of_finished, one_picture):
    (copy_of_finished / "model.json").unlink()
    run = Run.open(copy_of_finished)
    assert run.unfinished() == ["model", "scores", "figures", "report"]
    run.finish()
    assert starts(copy_of_finished)[len(STAGES) :] == ["model", "scores", "figures", "report"]


@pytest.mark.parametrize("file", ["labels.npz", "metrics.json", "data.json", "learned.npz", "stages.json"])
def test_a_damaged_file_is_named(file, copy_of_finished, one_picture):
    path = copy_of_finished / file
    path.write_bytes(path.read_bytes()[:40])
    result = invoke("report", copy_of_finished)
    assert result.exit_code == 2
    assert f"{file} is damaged" in result.stderr
    assert is_one_sentence(result)
    path.unlink()
    assert invoke("run", *STICKS, "--out", copy_of_finished, "--structure", "true").exit_code == 0


def test_a_folder_in_use_is_left_alone(copy_of_finished):
    run = Run.open(copy_of_finished)
    with run._locked():
        result = invoke("report", copy_of_finished)
    assert result.exit_code == 2
    assert "is in use by another process" in result.stderr


def test_a_model_that_says_it_was_interrupted_is_not_kept(tmp_path, fakes, monkeypatch):
    monkeypatch.setattr(FakeModel, "interrupted_", True, raising=False)
    assert invoke("run", *STICKS, "--out", tmp_path / "r", "--structure", "true").exit_code == 130
    assert Run.open(tmp_path / "r").finished() == ["data", "structure"]


# ------------------------------------------------------------------ mistakes


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        ("chopsticks-depth2-intre", "there is no data set 'chopsticks-depth2-intre'; did you mean"),
        ("nothing.csv", "there is no file nothing.csv"),
        ("data.xlsx", "there is no data set 'data.xlsx'"),
        ("chopsticks-depth2-inter --n-samples 50", "has 50 usable rows; at least 100 are needed"),
        ("chopsticks-depth2-inter --n-samples 0", "n_samples: Input should be greater than or equal to 1, got 0"),
        ("chopsticks-depth2-inter --seed -1", "seed: Input should be greater than or equal to 0, got -1"),
        ("chopsticks-depth2-inter --preset fast", "--preset must be quick, default or paper, got 'fast'"),
        (
            "chopsticks-depth2-inter --structure guess",
            "--structure must be mimosa, mimosa-paper or true, got 'guess'",
        ),
        ("chopsticks-depth2-inter --binarize", "has no option 'binarize'"),
        ("chopsticks-depth2-inter --categorical onehot", "has no option 'categorical'"),
        ("chopsticks-depth2-inter --labels l.npz", "needs both --hierarchy and --labels"),
        ("chopsticks-depth2-inter --labels l.npz --hierarchy h.json", "there is no file h.json"),
        ("chopsticks-depth2-inter --model magic", "there is no model 'magic'; known: cofhae"),
        ("t.csv --noise .1", "t.csv is a file, which has no option 'noise'"),
        ("t.csv --structure true", "has no ground truth to take the structure from"),
        ("t.csv --categorical all", "categorical must be 'drop' or 'onehot', got 'all'"),
        ("t.csv --drop z", "has no column 'z' to drop"),
        ("nan.csv", "misses more than 20% of the values in every numeric column"),
        ("nan.npy", "misses more than 20% of the values in every numeric column"),
    ],
)
def test_mistakes_are_one_sentence(args, sentence, tmp_path, fakes, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(np.random.default_rng(0).random((200, 3)), columns=list("abc")).to_csv("t.csv", index=False)
    pd.DataFrame(np.full((200, 3), np.nan), columns=list("abc")).to_csv("nan.csv", index=False)
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
        (("run", *STICKS, "--out", tmp_path / "other"), "config.json is not that of a run"),
        (("report", tmp_path / "full"), "is not a run folder: it has no config.json"),
        (("report", tmp_path / "none"), "there is no folder"),
        (("report", tmp_path / "cut"), "config.json is damaged"),
        (("report", tmp_path / "strange"), "config.json is not that of a run"),
        (("report", tmp_path / "new"), "was made by a newer disentree"),
    ]:
        result = invoke(*args)
        assert result.exit_code == 2, args
        assert sentence in result.stderr, args
        assert is_one_sentence(result)
    assert (tmp_path / "full" / "a.txt").read_text() == "mine"


def test_a_report_needs_a_finished_run(tmp_path, fakes):
    Run.start(RunConfig.of("chopsticks-depth2-inter", n_samples=200), tmp_path / "r")
    result = invoke("report", tmp_path / "r")
    assert result.exit_code == 2
    assert "is not finished: data, structure, model, scores left; `disentree run chop" in result.stderr


def test_a_file_that_changes_on_the_way(tmp_path, fakes, one_picture):
    frame = pd.DataFrame(np.random.default_rng(0).random((300, 3)), columns=list("abc"))
    frame.to_csv(tmp_path / "t.csv", index=False)
    run = Run.start(RunConfig.of(str(tmp_path / "t.csv")), tmp_path / "r")
    frame.iloc[:200].to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(UserError, match="has changed since the run began"):
        run.finish()
    assert invoke("run", tmp_path / "t.csv", "--out", tmp_path / "r").exit_code == 0
    frame.iloc[:250].to_csv(tmp_path / "t.csv", index=False)
    assert "other data in the file" in invoke("run", tmp_path / "t.csv", "--out", tmp_path / "r").stderr
    (tmp_path / "t.csv").unlink()
    (tmp_path / "r" / "labels.npz").unlink()
    cli.log.handlers.clear()
    with pytest.raises(UserError, match="is not there any more"):
        Run.open(tmp_path / "r").finish()


# ------------------------------------------------------------------ a user's own data


def test_a_table_without_truth(tmp_path, fakes):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(400, 4)) * [1, 10, 100, 1], columns=["a", "b", "c", "d"])
    frame["word"] = "x"
    frame.to_csv(tmp_path / "t.csv", index=False)
    result = invoke("run", tmp_path / "t.csv", "--out", tmp_path / "r", "--n-samples", 300)
    assert result.exit_code == 0, result.stderr
    assert "left out column 'word': not numbers" in result.stderr
    assert "R4c" not in result.stdout
    assert "reconstruction R²" in result.stdout
    run = Run.open(tmp_path / "r")
    assert run.codes("true") is None
    assert run.metrics["scores"] == {}
    assert run.metrics["n_train"] + run.metrics["n_test"] == 300
    assert not (run.folder / "figures" / "pairwise.png").exists()
    page = run.report_path.read_text()
    assert "left out column &#x27;word&#x27;: not numbers" in page
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


def test_images_and_truth_from_a_written_benchmark(tmp_path, fakes):
    ds = load_dataset("spaceshapes", 300)
    save_dataset(ds, tmp_path / "ships.npz")
    result = invoke("run", tmp_path / "ships.npz", "--out", tmp_path / "r", "--structure", "true")
    assert result.exit_code == 0, result.stderr
    run = Run.open(tmp_path / "r")
    assert run.metrics["scores"]["h_error"] == 0
    assert 0 < run.metrics["scores_without_truth"]["reconstruction_mse"] < 1  # pixels from 0 to 1


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
        "spaceshapes --out r --grey --epochs 7",
        "spaceshapes --out r --structure mimosa-paper --mimosa initial_dim=7 --set lambda2=0.5 --set penalty=none",
        "t.csv --out r --categorical onehot --drop a,b --max-missing 0.1 --no-standardise",
    ],
)
def test_the_command_repeats_the_run(args, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(np.eye(3), columns=list("abc")).to_csv("t.csv", index=False)
    configs = []

    def start(config, out, force):
        configs.append((config, config.command(out)))
        raise UserError("enough")

    monkeypatch.setattr(Run, "start", start)
    invoke("run", *shlex.split(args))
    invoke(*shlex.split(configs[0][1])[1:])
    assert configs[0] == configs[1]
    assert RunConfig(**json.loads(configs[0][0].model_dump_json())) == configs[0][0]


def test_presets():
    quick, usual = (RunConfig.of("spaceshapes", preset=preset) for preset in ("quick", "default"))
    assert (quick.n_samples, usual.n_samples) == (20_000, 100_000)
    with pytest.raises(UserError, match="preset: Input should be 'quick', 'default' or 'paper', got 'slow'"):
        RunConfig.of("spaceshapes", preset="slow")
    with pytest.raises(UserError, match="colour: Extra inputs are not permitted"):
        RunConfig.of("spaceshapes", colour="red")


# ------------------------------------------------------------------ the report


class Page(html.parser.HTMLParser):
    """What a page consists of; every tag must be closed in order."""

    VOID = ("meta", "img", "br", "link")

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_the_report_has_everything_and_needs_nothing(finished):
    folder, _ = finished
    page = Page((folder / "report.html").read_text())
    assert page.tags.count("img") == 5
    sources = [value for _, name, value in page.attributes if name in ("src", "href")]
    assert all(source.startswith("data:image/png;base64,") for source in sources)
    text = (folder / "report.html").read_text()
    assert "http://" not in text
    assert "https://" not in text
    assert "url(" not in text
    assert "@import" not in text
    assert not {"script", "link", "iframe", "object"} & set(page.tags)
    assert "prefers-color-scheme: dark" in text
    run = Run.open(folder)
    for words in (
        "The tree", "What each variable does", "reconstructions", "True against learned", "Scores", "Timings",
        "Training", "To repeat it", run.about["command"], f"numpy {np.__version__}", "H-error", "part of R4c",
        f"{run.metrics['scores']['r4c']:.3f}", "600 samples of the benchmark chopsticks-depth2-inter, seed 0",
        "inter2", "540 to learn from, 60 held out",
    ):  # fmt: skip
        assert words in page.text, words


def test_report_is_made_again_without_the_data(copy_of_finished, monkeypatch):
    before = (copy_of_finished / "report.html").read_text()
    (copy_of_finished / "report.html").unlink()
    shutil.rmtree(copy_of_finished / "figures")
    monkeypatch.setattr(Run, "data", property(lambda self: pytest.fail("the data was read")))
    result = invoke("report", copy_of_finished)
    assert result.exit_code == 0, result.stderr
    assert result.stdout == f"report: {copy_of_finished / 'report.html'}\n"
    after = (copy_of_finished / "report.html").read_text()
    assert Page(after).tags == Page(before).tags


def test_names_cannot_become_markup(tmp_path, fakes, monkeypatch):
    evil = "<script>alert('x')</script>"
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(300, 3)), columns=[evil, '"><img src=x>', "$a$"])
    frame["</ul><b>"] = "text"
    file = tmp_path / "<b>bold & <i>.csv"
    frame.to_csv(file, index=False)
    tree = Hierarchy.from_dict(
        {"variables": [{"kind": "continuous", "name": evil},
                       {"kind": "categorical", "name": "<u>", "options": [
                           {"name": "<s>", "variables": []}, {"name": "&amp;", "variables": []}]}]}
    )  # fmt: skip
    (tmp_path / "h.json").write_text(tree.to_json())
    np.save(tmp_path / "l.npy", np.arange(300) % 2)
    given = ("--hierarchy", tmp_path / "h.json", "--labels", tmp_path / "l.npy")
    result = invoke("run", file, "--out", tmp_path / "<em>run", *given)
    assert result.exit_code == 0, result.stderr
    page = Page((tmp_path / "<em>run" / "report.html").read_text())
    assert not {"script", "u", "s", "i", "em"} & set(page.tags)
    assert page.tags.count("img") == 4
    assert evil in page.text
    assert "&amp;" in page.text
    assert "left out column '</ul><b>'" in page.text


def test_sizes_in_the_tree():
    h = load_dataset("spaceshapes", 10).hierarchy
    labels = np.repeat([0, 1, 2, 3, -1], [40, 30, 10, 10, 10])
    sized = with_sizes(h, labels)
    assert sized == h
    text = str(sized)
    for words in ("moon (40.0%)", "star (30.0%)", "ship (20.0%)", "none (10.0%)", "jet (10.0%)"):
        assert words in text


# ------------------------------------------------------------------ with the real models


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """A short run of MIMOSA and COFHAE."""
    folder = tmp_path_factory.mktemp("real") / "r"
    ask = (
        "run",
        "chopsticks-depth2-inter",
        "--n-samples",
        1500,
        "--epochs",
        4,
        "--out",
        folder,
        "--device",
        "cpu",
    )
    result = invoke(*ask)
    assert result.exit_code == 0, result.stderr
    return ask, folder


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
    make = _stages.make_model

    def stops_in_epoch_3(*args, **kwargs):
        def stop(record, model):
            if record["epoch"] == 2:
                raise KeyboardInterrupt

        return make(*args, **kwargs).set_params(callbacks=[stop])

    ask = [tmp_path / "r" if a == folder else a for a in ask]
    monkeypatch.setattr(_stages, "make_model", stops_in_epoch_3)
    assert invoke(*ask).exit_code == 130
    assert (tmp_path / "r" / "checkpoint" / "checkpoint.safetensors").is_file()
    monkeypatch.setattr(_stages, "make_model", make)
    assert invoke(*ask, "--no-report").exit_code == 0
    assert not (tmp_path / "r" / "checkpoint").exists()
    assert (tmp_path / "r" / "learned.npz").read_bytes() == (folder / "learned.npz").read_bytes()


def test_a_model_cut_short_is_named(real, tmp_path):
    folder = shutil.copytree(real[1], tmp_path / "r")
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    result = invoke("report", folder)
    assert result.exit_code == 2
    assert "model.safetensors is cut short or damaged" in result.stderr
    assert is_one_sentence(result)


def test_unwritable_folder(tmp_path):
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    if os.access(folder, os.W_OK):
        pytest.skip("this user may write everywhere")
    result = invoke("run", *STICKS, "--out", folder / "r")
    assert result.exit_code == 2
    assert is_one_sentence(result)
