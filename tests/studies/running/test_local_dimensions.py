"""The dimension of rows of known manifolds, and the report of the study of dimensions."""

import csv
import sys

import numpy as np
import pytest

from disentree.errors import UserError
from disentree.studies import get_study
from disentree.studies.running.labeling import label_rows
from disentree.studies.running.local_dimensions import local_estimates, make_set, union
from disentree.studies.running.study import planned
from shell import invoke


def scored(name, method, n=300):
    """What a run of the study finds."""
    study = get_study("dimensions")
    tasks = planned(study, study.options("quick", 1, [name], n_samples=n))
    return label_rows(next(task for task in tasks if task.method == method))[0]


def test_a_union_has_the_dimensions_that_it_says():
    X, true = union((2, 5), 9, 201, 3)
    assert X.shape == (200, 9)
    for d in (2, 5):
        part = X[true == d]
        assert np.linalg.matrix_rank(part) == d + 1  # a paraboloid and its axis
        spread = np.linalg.svd(part - part.mean(axis=0), compute_uv=False)
        assert spread[d] < 0.5 * spread[d - 1]  # along the axis it is thin
    assert (np.bincount(true)[[2, 5]] == 100).all()


def test_the_sphere_beside_the_roll_is_one():
    X, true = make_set("swiss-roll-sphere", 101, 0)
    assert np.allclose((X[true == 3] ** 2).sum(axis=1), 1)
    assert (true == 2).sum() == 50


def test_errors_by_hand():
    """The estimator says 1.5 on the line and, clipped to the columns, 3 in the box; rows between see both."""
    values = scored("line-disk-ball", "TwoNN", 1000)
    assert values["true_dimensions"] == [1, 3]
    assert 0.2 < values["error"] < 0.35
    assert values["ari"] > 0.8
    plane = scored("M7_Roll", "TwoNN")
    assert (plane["error"], plane["whole"], plane["ari"]) == (0.5, 0.5, 1)
    assert "whole" not in scored("M7_Roll", "ESS")


def test_an_estimate_that_there_is_not_is_nothing(monkeypatch):
    class Failing:
        def __init__(self, **_):
            self.dimension_ = np.nan

        def fit_once(self, X):
            return self

    monkeypatch.setattr(sys.modules["skdim"].id, "ESS", Failing)
    assert local_estimates("ESS", np.zeros((120, 2)), np.arange(3)).tolist() == [0, 0, 0]


def test_mimosa_beside_the_estimators(tmp_path):
    result = invoke(
        "study", "dimensions", "--datasets", "line-disk-ball,M7_Roll", "--n-samples", 400, "--seeds", 1,
        "--n-jobs", 0, "--out", tmp_path,
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    text = (tmp_path / "report.md").read_text()
    with (tmp_path / "table.csv").open() as file:
        rows = {(row["dataset"], row["method"]): float(row["error"]) for row in csv.DictReader(file)}
    assert rows["line-disk-ball", "mimosa"] < 0.1
    assert rows["M7_Roll", "mimosa"] == 0
    lost = {name for name in ("line-disk-ball", "M7_Roll") if rows[name, "mimosa"] - rows[name, "lPCA"] > 0.02}
    named = text.split("Lost by MIMOSA")[1].split("\n")[0]
    assert {name for name in ("line-disk-ball", "M7_Roll") if name in named} == lost
    assert "| M7_Roll | 400 | 3 | 2 |" in text


def test_without_scikit_dimension_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "skdim", None)
    result = invoke("study", "dimensions", "--dry-run")
    assert result.exit_code == 2
    assert "the study dimensions needs pip install scikit-dimension" in result.stderr
    assert "Traceback" not in result.stderr
    with pytest.raises(UserError, match="there is no set 'M0'; there are line-disk-ball, "):
        get_study("dimensions").options(datasets=["M0"])
