"""Choosing among trainings without ground truth."""

import json

import numpy as np
import pytest

from disentree import COFHAE
from disentree.cofhae import COFHAESearch
from disentree.cofhae.search import PAPER_GRID, select
from disentree.datasets import load_dataset

GRID = {"lambda1": [0.0, 1.0], "learning_rate": [1e-5, 1e-2]}


@pytest.fixture(scope="module")
def sticks():
    return load_dataset("chopsticks-depth2-slope", n_samples=600, seed=0)


def search(ds, **parameters):
    base = COFHAE(epochs=3, hidden=(8,), device="cpu")
    return COFHAESearch(base, grid=GRID, **parameters).fit(ds.X, hierarchy=ds.hierarchy, paths=ds.paths)


def test_the_rule_by_hand():
    """Six models: the third with the best assignments are 1 and 4, and 4 reconstructs better."""
    assignment = [0.5, 0.1, 0.4, 0.3, 0.2, 0.9]
    reconstruction = [1, 9, 1, 1, 8, 0]
    results = [{"assignment": a, "reconstruction": r} for a, r in zip(assignment, reconstruction, strict=True)]
    assert select(results) == 4
    assert [r["eligible"] for r in results] == [False, True, False, False, True, False]
    assert select([{"assignment": 1.0, "reconstruction": 1.0}]) == 0


def test_the_papers_grid_is_27():
    assert np.prod([len(values) for values in PAPER_GRID.values()]) == 27


def test_it_keeps_the_best_and_resumes_where_it_stopped(sticks, tmp_path, monkeypatch):
    first = search(sticks, folder=tmp_path)
    assert len(first.results_) == 4
    assert len(list(tmp_path.glob("trial-*"))) == 4
    assert first.best_parameters_["lambda1"] in GRID["lambda1"]
    chosen = next(r for r in first.results_ if r["parameters"] == first.best_parameters_)
    assert chosen["eligible"]
    codes = first.transform(sticks.X)
    assert first.inverse_transform(codes).shape == sticks.X.shape

    next(iter(tmp_path.glob("trial-*/losses.json"))).unlink()
    fits, original = [], COFHAE.fit
    monkeypatch.setattr(COFHAE, "fit", lambda self, *a, **k: fits.append(self) or original(self, *a, **k))
    second = search(sticks, folder=tmp_path)
    assert len(fits) == 1
    for one, other in zip(first.results_, second.results_, strict=True):
        assert {**one, "seconds": 0} == {**other, "seconds": 0}
    assert np.array_equal(second.transform(sticks.X), codes, equal_nan=True)


def test_restarts_differ_and_the_number_of_jobs_does_not_matter(sticks):
    one = search(sticks, n_restarts=2)
    two = search(sticks, n_restarts=2, n_jobs=2)
    assert len(one.results_) == 8
    assert len({r["seed"] for r in one.results_}) == 2
    for first, second in zip(one.results_, two.results_, strict=True):
        assert first["reconstruction"] == pytest.approx(second["reconstruction"])
    assert one.best_parameters_ == two.best_parameters_


def test_a_training_that_diverges_is_last(sticks):
    grid = {"learning_rate": [1e30, 1e-3]}
    base = COFHAE(epochs=1, hidden=(8,), schedule="constant")
    found = COFHAESearch(base, grid=grid).fit(sticks.X, hierarchy=sticks.hierarchy, paths=sticks.paths)
    assert found.best_parameters_ == {"learning_rate": 1e-3}
    with pytest.raises(RuntimeError, match="all 1 trainings diverged"):
        COFHAESearch(base, grid={"learning_rate": [1e30]}).fit(
            sticks.X, hierarchy=sticks.hierarchy, paths=sticks.paths
        )


def strict(text):
    """JSON as other programs read it: without Infinity."""

    def refuse(constant):
        raise ValueError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


def test_a_training_that_diverged_is_kept_as_json_and_not_repeated(sticks, tmp_path, monkeypatch):
    base, grid = COFHAE(epochs=1, hidden=(8,), schedule="constant"), {"learning_rate": [1e30, 1e-3]}
    given = {"hierarchy": sticks.hierarchy, "paths": sticks.paths}
    first = COFHAESearch(base, grid=grid, folder=tmp_path).fit(sticks.X, **given)
    files = [strict(path.read_text()) for path in tmp_path.glob("trial-*/losses.json")]
    assert sorted(losses["diverged"] for losses in files) == [False, True]
    monkeypatch.setattr(COFHAE, "fit", None)
    second = COFHAESearch(base, grid=grid, folder=tmp_path).fit(sticks.X, **given)
    assert second.results_ == first.results_


def test_other_errors_end_the_search_and_are_tried_again(sticks, tmp_path, monkeypatch):
    def fail(self, *args, **more):
        raise RuntimeError("out of memory")

    with monkeypatch.context() as patch:
        patch.setattr(COFHAE, "fit", fail)
        with pytest.raises(RuntimeError, match="out of memory"):
            search(sticks, folder=tmp_path)
    assert not list(tmp_path.glob("trial-*/losses.json"))
    assert len(search(sticks, folder=tmp_path).results_) == 4
