"""The stage that tells reasons and names: `reasons.py` of runs."""

import json
from dataclasses import replace

import numpy as np
import pytest

from disentree.errors import UserError
from disentree.runs import Run, RunConfig, finish_run, start_run
from disentree.runs.report import report, summary
from disentree.runs.report.findings import read_findings, read_names


def test_reasons_and_names_of_a_run(tmp_path):
    run = start_run(RunConfig.of("iris"), tmp_path / "run")
    finish_run(run, until="reasons", device="cpu")
    found = run.read_json("explanation.json")
    assert all(split["rule"]["precision"] > 0.9 for split in found["splits"])
    assert {column for split in found["splits"] for column in split["columns"]} & {"petal length (cm)"}
    assert found["variables"]
    names = read_names(run)
    # They are those that MIMOSA gave when it was fitted, and that the reasons have.
    kind = run.mimosa.hierarchy_.variables[0]
    assert all(name.startswith("petal") for name in kind.options)
    assert names["options"][kind.name] == dict(zip(kind.options, kind.options, strict=True))
    assert [split["name"] for split in found["splits"]] == list(kind.options)
    # What a user wrote stays when the stage is done again, and is no damage.
    names["options"][kind.name][kind.options[0]] = "setosa"
    (run.folder / "names.json").write_text(json.dumps(names))
    finish_run(run, until="reasons", device="cpu", redo="reasons")
    assert read_findings(run, run.hierarchy).option_name(kind.name, kind.options[0]) == "setosa"
    assert run.hierarchy.variables[0].options == kind.options
    (run.folder / "names.json").write_text('{"variables": []}')
    with pytest.raises(UserError, match="must be of the form"):
        read_names(run)


def test_what_the_tree_lost_is_told_in_a_run(tmp_path):
    config = RunConfig.of("triangle-edges", n_samples=3000, options={"noise": 0.01})
    run = start_run(config, tmp_path / "run")
    finish_run(run, until="reasons", device="cpu")
    structure = run.structure
    lost = structure["lost"]
    assert len(lost) == 2
    (inside,) = {one["component"] for one in lost}
    assert run.hierarchy.paths[inside].dimension == 2
    parents = run.read_json("structure.json")["components"][inside]["parents"]
    assert [one["parent"] for one in lost] == parents[1:]
    assert len(structure["matches"]) == 1
    told = read_findings(run, run.hierarchy).lost
    assert told == run.read_json("explanation.json")["lost"]
    assert "also encloses" in told[0]
    assert told[1].endswith("are the same variable on different branches.")
    # COFHAE was told: rows of the other branch have the code that the triangle's map gives them
    own, column = structure["matches"][0]
    model = run.model("cpu")
    rows = run.data.X[run.read_npz("labels.npz", "train")["train"]]
    codes = model.transform(rows)
    line = np.isfinite(codes[:, column])
    as_triangle = codes[line].copy()
    as_triangle[:] = np.nan
    for column_of, option in run.hierarchy.paths[inside].choices:
        as_triangle[:, column_of] = option
    as_triangle[:, list(run.hierarchy.paths[inside].continuous)] = 0.0
    as_triangle[:, own] = codes[line, column]
    # its second variable moves a row along that line: what is left does not change with it
    moved = model.inverse_transform(as_triangle) - model.inverse_transform(codes[line])
    assert np.abs(moved - moved.mean(axis=0)).max() < 0.02


def test_the_report_has_a_sentence_for_what_was_lost(copy_of_finished, monkeypatch):
    told = "Leaf <1> also encloses leaf 2."
    monkeypatch.setattr(summary, "read_findings", lambda run, tree: replace(read_findings(run, tree), lost=[told]))
    assert '<p class="footnote">Leaf &lt;1&gt; also encloses leaf 2.</p>' in report.render(
        Run.open(copy_of_finished)
    )


def test_reasons_that_were_written_are_not_left_out_in_silence(copy_of_finished):
    (copy_of_finished / "explanation.json").unlink()
    run = Run.open(copy_of_finished)
    with pytest.raises(UserError, match=r"explanation\.json is missing"):
        read_findings(run, run.hierarchy)
