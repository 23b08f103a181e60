"""How often leaves come back: `stability.py`, `comparing.py`, `resampling.py`."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

from disentree import MIMOSA, Hierarchy
from disentree.mimosa.search.structure import Settings
from disentree.mimosa.stability import resampling
from disentree.mimosa.stability.comparing import Found, compare
from disentree.mimosa.stability.stability import Stability


def three_leaves() -> Hierarchy:
    """A point that opens to a line or to a plane."""
    continuous = [{"kind": "continuous"}, {"kind": "continuous"}]
    options = [{"variables": []}, {"variables": continuous[:1]}, {"variables": continuous}]
    return Hierarchy.from_dict({"variables": [{"kind": "categorical", "options": options}]})


def test_jaccard_dimension_and_parent_by_hand():
    found = Found(three_leaves(), np.array([0, 0, 0, 0, 1, 1, 2, 2]), [None, 0, 0])
    options = [{"variables": [{"kind": "continuous"}]}, {"variables": []}]
    two = Hierarchy.from_dict({"variables": [{"kind": "categorical", "options": options}]})
    again = Found(two, np.array([1, 1, 1, 1, 0, 0, 0, 1]), [None, 0])
    record = compare(found, again)
    assert record["components"] == 2
    assert record["jaccard"] == pytest.approx([4 / 5, 2 / 3, 1 / 4])
    assert record["dimensions"] == [0, 1, 1]
    assert record["parents"] == [-1, None, None]  # the parent of the first is a leaf that did not come back
    assert record["same_tree"] is False
    assert record["branches"] == record["jaccard"]


def test_a_tree_is_the_same_as_itself_whatever_its_leaves_are_called():
    labels = np.array([0, 0, 1, 1, 2, 2, 2])
    found = Found(three_leaves(), labels, [None, 0, 0])
    record = compare(found, found)
    assert record["same_tree"] is True
    assert record["jaccard"] == [1.0, 1.0, 1.0]
    other_parent = Found(three_leaves(), labels, [None, 0, 1])
    assert compare(found, other_parent)["same_tree"] is False


def test_a_branch_has_the_rows_of_all_leaves_below_it():
    inner = {"kind": "categorical", "options": [{"variables": []}, {"variables": []}]}
    options = [{"variables": []}, {"variables": [inner]}]
    h = Hierarchy.from_dict({"variables": [{"kind": "categorical", "options": options}]})
    found = Found(h, np.array([0, 0, 1, 1, 2, 2]), [None] * 3)
    joined = Found(Hierarchy.flat(0, [2]), np.array([0, 0, 1, 1, 1, 1]), [None] * 2)
    record = compare(found, joined)
    assert record["jaccard"] == [1.0, 0.5, 0.5]
    assert record["branches"] == [1.0, 1.0, 0.5, 0.5]  # the outer second option came back, its parts did not


def test_a_component_without_rows_in_a_resample_does_not_count():
    found = Found(three_leaves(), np.array([0, 0, 1, 1]), [None] * 3)
    record = compare(found, found)
    assert record["jaccard"][2] is None
    result = Stability.from_records(found, [record], 0.5)
    assert np.isnan(result.support[2])
    assert result.to_dict()["components"][2]["support"] is None
    assert "too few rows" in str(result)


def test_support_counts_the_resamples_above_three_quarters():
    found = Found(Hierarchy.flat(1, [2]), np.array([0, 0, 1, 1]), [None] * 2)
    records = [
        {**compare(found, found), "jaccard": [0.8, 0.6], "branches": [0.8, 0.6]},
        {**compare(found, found), "jaccard": [0.74, 0.6], "branches": [0.74, 0.6], "same_tree": False},
    ]
    result = Stability.from_records(found, records, 0.5)
    np.testing.assert_allclose(result.support, [0.5, 0.0])
    np.testing.assert_allclose(result.jaccard, [0.77, 0.6])
    assert result.tree == 0.5
    assert "(!)" in str(result).splitlines()[-1]
    assert result.verdict == "Every group but “1” came back in at least 50% of 2 resamples of the rows."


def line_and_plane(n: int = 300) -> np.ndarray:
    """Rows on a line, and as many on a plane that it lies in, in three columns."""
    rng = np.random.default_rng(0)
    u, v = rng.uniform(-1, 1, (2, 2 * n))
    v[:n] = 0.0
    return np.stack([u + v, u - v, 2 * u + v], axis=1)


@pytest.fixture(scope="module")
def nested() -> MIMOSA:
    return MIMOSA(n_jobs=1).fit(line_and_plane())


def test_exact_leaves_always_come_back(nested):
    result = nested.stability(3)
    assert result.support.tolist() == [1.0, 1.0]
    assert result.tree == 1.0
    assert result.fraction == 0.8
    assert result.verdict == "Every group came back in at least 100% of 3 resamples of the rows."
    assert "every group came back in at least 100% of 3 resamples" in nested.summary_.sentences[-1]


def test_a_cloud_stays_one():
    m = MIMOSA(n_jobs=1).fit(np.random.default_rng(1).normal(size=(150, 3)))
    result = m.stability(2)
    assert result.n_components == {1: 2}
    assert result.verdict == "2 of 2 have one leaf too."
    assert m.summary().startswith("No structure found")


def test_support_does_not_depend_on_the_number_of_processes(nested):
    inline = nested.stability(3)
    found = Found(nested.hierarchy_, nested.labels_, [c.parent for c in nested.components_])
    settings = Settings(n_jobs=2, skipped=tuple(nested.silent_))
    how = {"n_resamples": 3, "fraction": None, "checkpoint": None, "seconds": np.inf}
    with_processes = resampling.resample(line_and_plane(), found, settings, **how)
    assert inline.to_dict() == with_processes.to_dict()


def test_a_data_frame_with_categories_is_resampled():
    X = line_and_plane()
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(kind=np.where(X[:, 0] > 0, "high", "low"))
    result = MIMOSA(n_jobs=1).fit(frame).stability(2)
    assert result.support.min() == 1.0


def test_a_stopped_measurement_goes_on(nested, tmp_path, monkeypatch):
    whole = nested.stability(3)
    file = tmp_path / "resamples.jsonl"
    nested.stability(1, checkpoint=file)
    file.write_text(file.read_text() + '{"resample": 1, "jac')  # cut off while it was written
    refitted = []
    real = resampling.compare
    monkeypatch.setattr(resampling, "compare", lambda *a: refitted.append(1) or real(*a))
    again = nested.stability(3, checkpoint=file)
    assert len(refitted) == 2
    assert again.to_dict() == whole.to_dict()
    numbers = [json.loads(line)["resample"] for line in file.read_text().splitlines()]
    assert sorted(numbers) == [0, 1, 2]


def test_an_interrupt_ends_with_what_was_finished(nested, monkeypatch):
    real, calls = resampling.compare, []

    def once(*trees):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*trees)

    monkeypatch.setattr(resampling, "compare", once)
    with pytest.warns(RuntimeWarning, match="2 of 5 resamples were finished"):
        assert nested.stability(5).n_resamples == 2


def test_saved_and_loaded(nested, tmp_path):
    measured = nested.stability(2)
    nested.save(tmp_path)
    loaded = MIMOSA.load(tmp_path)
    assert loaded.stability_.to_dict() == measured.to_dict()
    assert loaded.summary() == nested.summary()
    with pytest.raises(ValueError, match="give X"):
        loaded.stability(2)
    assert loaded.stability(2, X=line_and_plane()).to_dict() == measured.to_dict()


def test_wrong_arguments(nested):
    with pytest.raises(ValueError, match="n_resamples must be 1 or more"):
        nested.stability(0)
    with pytest.raises(ValueError, match="fraction must be between"):
        nested.stability(2, fraction=1.5)
    with pytest.raises(ValueError, match="600 rows that it was fitted to"):
        nested.stability(2, X=line_and_plane()[:50])


def test_no_warnings_of_refits(nested):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nested.stability(1)
