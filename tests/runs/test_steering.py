"""The tree of a run steered: from the command line, in Python and by the page; covers `cli/steer.py`,
`explorer/steering.py`."""

import json
import time

import numpy as np
import pandas as pd
import pytest

from disentree import MIMOSA, open_run
from disentree.errors import UserError
from disentree.explorer.guard import BadRequest
from disentree.explorer.loading import from_run
from disentree.explorer.steering import Steerer
from disentree.runs import Run, RunConfig, finish_run, start_run
from disentree.runs.files.schemas import Step
from disentree.runs.report.findings import read_findings
from disentree.runs.report.summary import found_by
from disentree.runs.stages import STAGE_NAMES, finished_stages, redo_from
from disentree.runs.steering import steer_run
from shell import invoke, is_one_sentence


def cells(n=120, seed=0):
    """Three kinds of rows, of which one has a column of its own."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, n)
    X = rng.normal(size=(n, 3)) * [1.0, 2.0, 0.5] + np.array([[0, 0, 0], [9, 2, 0], [2, 30, 3]])[kind]
    own = np.where(kind == 2, rng.normal(40, 8, n).round(1), np.nan)
    return pd.DataFrame(X.round(2), columns=["width", "height", "depth"]).assign(own=own)


@pytest.fixture(scope="module")
def steered(tmp_path_factory):
    """A finished run, whose tests leave it as they found it."""
    folder = tmp_path_factory.mktemp("steered")
    cells().to_csv(folder / "t.csv", index=False)
    run = start_run(RunConfig.of(str(folder / "t.csv"), epochs=1), folder / "run")
    finish_run(run, until="reasons", device="cpu")
    return run


def files_of(run):
    arrays = run.read_npz("labels.npz", "labels", "test_labels")
    return run.found_hierarchy.to_dict(), arrays["labels"].tolist(), arrays["test_labels"].tolist()


def test_a_merge_is_the_answer_of_all_files_and_undo_takes_it_back(steered, tmp_path):
    frame = pd.read_csv(steered.config.source)
    before, n = files_of(steered), len(steered.hierarchy.paths)
    expected = MIMOSA(random_state=0).fit(frame).merge([0, 1])
    run = steer_run(steered, Step(merge=[0, 1]))
    assert finished_stages(run) == ["data", "structure"]
    with pytest.raises(UserError, match="is not finished: model left"):
        open_run(run.folder)
    finish_run(run, until="reasons", device="cpu")
    assert len(run.hierarchy.paths) == len(expected.hierarchy_.paths) < n
    assert run.found_hierarchy.to_dict() == expected.hierarchy_.to_dict()
    for labels in (run.paths, run.mimosa.predict(frame), open_run(run.folder).predict(frame)):
        np.testing.assert_array_equal(labels, expected.labels_)
    opened = open_run(run.folder)
    assert list(opened.inverse_transform(opened.transform(frame))) == list(frame)
    told = found_by(run.structure, read_findings(run, run.hierarchy), run.paths).text()
    assert told == expected.summary()
    assert f"The search found {n} leaves, of which some were merged" in told
    assert len(from_run(run, device="cpu").steering["levels"]) == len(expected.levels_)
    again = Run.open(run.folder)  # a stage that is done again takes the same steps
    redo_from(again, "structure")
    merged = files_of(run)
    finish_run(again, until="structure")
    assert files_of(again) == merged
    with pytest.raises(UserError, match="was steered: such a tree is not taken over"):
        finish_run(start_run(run.config, tmp_path / "other"), until="structure", structure_from=run)
    back = steer_run(Run.open(run.folder), None)
    assert files_of(back) == before
    assert back.steps == []
    finish_run(back, until="reasons", device="cpu")


def test_names_stay_and_are_undone(steered, one_picture):
    before = files_of(steered)
    name = read_findings(steered, steered.hierarchy).path_name(0)
    result = invoke("steer", steered.folder, "--rename", name, "the first kind", "--device", "cpu")
    assert result.exit_code == 0, result.stderr
    run = Run.open(steered.folder)
    assert "the first kind" in result.stdout
    assert "the first kind" in run.report_path.read_text()
    assert run.mimosa.leaf_names_[0] == "the first kind"
    run = steer_run(run, Step(merge=[1, 2]))
    assert "the first kind" in run.mimosa.leaf_names_
    run = steer_run(steer_run(run, None), None)
    assert files_of(run) == before
    assert not run.report_path.exists()  # it was about another tree
    finish_run(run, until="reasons", device="cpu")


def test_what_cannot_be_done_leaves_the_run_as_it_is(steered):
    done = finished_stages(steered)
    assert done == list(STAGE_NAMES[: STAGE_NAMES.index("reasons") + 1])
    listed = invoke("steer", steered.folder)
    assert [line[:3] for line in listed.stdout.splitlines()] == ["0  ", "1  ", "2  "]
    for wrong in (
        ("--undo",),
        ("--cut", 9),
        ("--merge", 0),
        ("--merge", 0, "--merge", 7),
        ("--split", "nobody"),
        ("--split", 0),  # nothing is inside
        ("--rename", "nobody", "x"),
        ("--cut", 2, "--undo"),
    ):
        assert is_one_sentence(invoke("steer", steered.folder, *wrong)), wrong
    assert finished_stages(steered) == done
    assert not Run.open(steered.folder).steps


def test_a_tree_that_was_given_is_not_steered(finished, fake_model):
    with pytest.raises(UserError, match="was not found by MIMOSA"):
        steer_run(Run.open(finished[0]), Step(cut=1))


def test_a_step_that_fails_leaves_run_and_page_together(steered, one_picture):
    def fails(run):
        raise RuntimeError("unexpected")

    before = files_of(steered)
    steerer = Steerer(steered, "cpu")
    for _ in range(2):  # the page can ask again
        steerer.begin({"after": 0, "step": {"merge": [0, 1]}}, fails)
        steerer._thread.join()
        assert steerer.problem == "unexpected"
    assert files_of(steerer.run) == before
    assert steerer.run.steps == []
    assert steerer.run.report_path.exists()


def test_the_page_asks_for_known_things_only(steered, one_picture):
    steerer = Steerer(steered, "cpu")
    for wrong, why in (
        ({}, "must have a step"),
        ({"after": 1, "step": None}, "was changed since"),
        ({"after": 0, "step": {"cut": 1, "split": 0}}, "one of cut, merge, split and rename"),
        ({"after": 0, "step": {"cut": "1"}}, "integer"),
        ({"after": 0, "step": {"remove": 1}}, "not permitted"),
        ({"after": 0, "step": {"merge": [0, 9]}}, "there is no leaf 9"),
        ({"after": 0, "step": {"rename": {"../x": "y"}}}, "no variable or option"),
        ({"after": 0, "step": {"rename": {"x": "y" * 300}}}, "at most 200"),
    ):
        with pytest.raises(BadRequest, match=why):
            steerer.begin(wrong, print)
    shown = []
    for step, n in (({"cut": 2}, 2), (None, 3)):
        steerer.begin({"after": len(steerer.run.steps), "step": json.loads(json.dumps(step))}, shown.append)
        while steerer.is_busy:
            time.sleep(0.02)
        assert steerer.problem is None
        assert len(shown[-1].hierarchy.paths) == n
    steerer._thread.join()
    assert steered.report_path.exists()
