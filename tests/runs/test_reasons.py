"""The stage that tells reasons and names: `reasons.py` of runs."""

import json

import pytest

from disentree.errors import UserError
from disentree.runs import RunConfig, finish_run, start_run
from disentree.runs.reasons import named_hierarchy, read_names


def test_reasons_and_names_of_a_run(tmp_path):
    run = start_run(RunConfig.of("iris"), tmp_path / "run")
    finish_run(run, until="reasons", device="cpu")
    found = run.read_json("explanation.json")
    assert all(split["rule"]["accuracy"] > 0.9 for split in found["splits"])
    assert {column for split in found["splits"] for column in split["columns"]} & {"petal length (cm)"}
    assert found["variables"]
    names = read_names(run)
    assert names["options"]["c1"].keys() == {"branch1", "branch2"}
    assert all(name.startswith("petal") for name in names["options"]["c1"].values())
    # What a user wrote stays when the stage is done again, and is no damage.
    names["options"]["c1"]["branch1"] = "setosa"
    (run.folder / "names.json").write_text(json.dumps(names))
    finish_run(run, until="reasons", device="cpu", redo="reasons")
    assert "setosa" in named_hierarchy(run).variables[0].options
    assert run.hierarchy.variables[0].options == ("branch1", "branch2")
    (run.folder / "names.json").write_text('{"variables": []}')
    with pytest.raises(UserError, match="must be of the form"):
        read_names(run)
