"""A run whose model moves variables up; covers `reasons.py` too."""

import numpy as np
import pytest

from disentree import metrics, open_run
from disentree.cofhae.fitting import stages
from disentree.explorer.loading import from_run
from disentree.runs import RunConfig, finish_run, start_run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A quick run of a table, of whose branches two variables are said to do the same."""

    def same(h, *_):
        columns = sorted(
            {next(c for c in path.continuous if h.variables[c].parent is not None) for path in h.paths}
        )
        return [columns], [], dict.fromkeys(columns, 1)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stages, "same_effects", same)
        config = RunConfig.of(
            "branches-8", n_samples=600, preset="quick", epochs=1, resamples=0, model_settings={"maps": "network"}
        )
        run = start_run(config, tmp_path_factory.mktemp("placed") / "run")
        finish_run(run)
    return run


def test_the_tree_is_that_of_the_model(run):
    before, after = run.found_hierarchy, run.hierarchy
    assert run.move is not None
    assert before.n_variables == after.n_variables + 1
    assert metrics.h_error(before, after) == 0
    assert run.model().hierarchy_.to_dict() == after.to_dict()
    codes, tree = run.learned
    assert tree == after
    assert metrics.placement_error(run.data.hierarchy, after) == run.metrics["scores"]["placement_error"]
    after.validate(codes)


def test_report_and_page_follow(run):
    shared = [v.name for v in run.hierarchy.variables if v.parent is None and v.kind == "continuous"]
    told = {variable["name"] for variable in run.read_json("explanation.json")["variables"]}
    assert {*shared} <= told == {v.name for v in run.hierarchy.variables if v.kind == "continuous"}
    page = from_run(run).to_json()["models"][0]["variables"]
    assert [v["depth"] for v in page] == [v.depth for v in run.hierarchy.variables]
    assert run.report_path.is_file()


def test_rows_of_others_follow(run):
    opened = open_run(run.folder)
    Z = opened.transform(run.data.X)
    np.testing.assert_array_equal(opened.hierarchy.path_of(Z), opened.predict(run.data.X))
    assert opened.inverse_transform(Z).shape == run.data.X.shape
