"""A run (`run.py`), its report and `apply.py` give the answer that MIMOSA gives in Python."""

import numpy as np
import pandas as pd
import pytest

from disentree import COFHAE, MIMOSA, open_run
from disentree.datasets import load_dataset
from disentree.runs import RunConfig, finish_run, start_run
from disentree.runs.report.findings import read_findings
from disentree.runs.report.summary import found_by
from shell import invoke


def overlapping(n=400, seed=0):
    """Clusters that overlap, with identifiers, a constant and numbers without gaps."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, n)
    X = rng.normal(size=(n, 3)) * [1.0, 2.0, 0.5] + np.array([[0, 0, 0], [4, 2, 0], [2, 8, 3]])[kind]
    ids = [f"r{i:04d}" for i in range(n)]
    return pd.DataFrame(X, columns=["width", "height", "depth"]).round(2).assign(id=ids, unit=1)


def loans(n=400, seed=0):
    """Some of the rows are joint, and have a second income."""
    rng = np.random.default_rng(seed)
    joint = rng.random(n) < 0.3
    income = np.exp(rng.normal(4, 0.5, n)).round(1)
    return pd.DataFrame(
        {
            "income": income,
            "amount": (income * rng.uniform(0.1, 0.4, n)).round(2),
            "type": np.where(joint, "joint", "alone"),
            "second_income": np.where(joint, rng.normal(40, 8, n).round(1), np.nan),
            "second_debt": np.where(joint, rng.normal(10, 3, n).round(1), np.nan),
        }
    )


TABLES = {
    "penguins": lambda: load_dataset("penguins").X,
    "overlapping": overlapping,
    "loans": loans,
    "few": lambda: overlapping(60, seed=2),
}


@pytest.fixture(scope="module", params=TABLES)
def answers(request, tmp_path_factory):
    """A table, its file, a run of it, and the MIMOSA of all rows."""
    folder = tmp_path_factory.mktemp(request.param)
    TABLES[request.param]().to_csv(folder / "t.csv", index=False)
    frame = pd.read_csv(folder / "t.csv")
    run = start_run(RunConfig.of(str(folder / "t.csv"), resamples=0), folder / "run")
    finish_run(run)
    return folder, frame, run, MIMOSA(random_state=0).fit(frame)


def test_the_tree_of_a_run_is_that_of_python(answers):
    _, _, run, m = answers
    assert run.hierarchy.to_dict() == m.hierarchy_.to_dict()
    np.testing.assert_array_equal(run.paths, m.labels_)
    assert found_by(run.structure, read_findings(run, run.hierarchy), run.paths).text() == m.summary()
    assert str(run.mimosa.candidates_) == str(
        [{**a, "seconds": b["seconds"]} for a, b in zip(m.candidates_, run.mimosa.candidates_, strict=True)]
    )


def test_apply_on_the_training_file_gives_the_labels_of_python(answers):
    folder, frame, run, m = answers
    out = folder / "out.csv"
    result = invoke("apply", run.folder, folder / "t.csv", "--out", out)
    assert result.exit_code == 0, result.stderr
    told = pd.read_csv(out)
    np.testing.assert_array_equal(told["path"], m.labels_)
    np.testing.assert_array_equal(told["path"], m.predict(frame))
    np.testing.assert_allclose(told["probability"], m.predict_proba(frame).max(axis=1), atol=1e-6)
    np.testing.assert_allclose(told["strange"], m.outlier_score(frame), atol=1e-4)
    strange = int((m.outlier_score(frame) > m.strange_from_).sum())
    are = "row is" if strange == 1 else "rows are"
    last = f"{strange} {are} stranger than 999 of 1,000 that the tree was found in"
    assert result.stdout.splitlines()[-1].endswith(last)
    names = read_findings(run, run.hierarchy)
    codes = told[[f"code: {names.variable_name(v.name)}" for v in run.hierarchy.variables]].to_numpy()
    np.testing.assert_allclose(codes, run.encode(run.model("cpu"), np.arange(len(frame))), atol=1e-4)
    assert told["leaf"].tolist() == [names.path_name(int(p)) for p in m.labels_]


def test_a_run_opened_in_python_gives_the_same_paths_and_codes_on_them(answers):
    _, frame, run, m = answers
    opened = open_run(run.folder)
    np.testing.assert_array_equal(opened.predict(frame), m.labels_)
    codes = opened.transform(frame)
    np.testing.assert_array_equal(opened.hierarchy.path_of(codes), m.labels_)
    np.testing.assert_allclose(codes, run.encode(run.model("cpu"), np.arange(len(frame))), atol=1e-4)
    np.testing.assert_allclose(opened.model.predict_proba(frame), m.predict_proba(frame), atol=1e-9)


def test_a_cofhae_puts_rows_where_its_mimosa_does_also_when_it_was_saved(tmp_path):
    frame = load_dataset("penguins").X
    model = COFHAE(random_state=0, device="cpu").fit(frame)
    alone = model.in_features().predict_path(model.preprocessor_.to_features(frame))
    assert (alone != model.mimosa_.labels_).any()  # or this test could not fail
    np.testing.assert_array_equal(model.predict_path(frame), model.mimosa_.labels_)
    np.testing.assert_array_equal(model.hierarchy_.path_of(model.transform(frame)), model.mimosa_.labels_)
    model.save(tmp_path)
    again = COFHAE.load(tmp_path, device="cpu")
    np.testing.assert_array_equal(again.transform(frame), model.transform(frame))
    new = frame[::-3]
    np.testing.assert_array_equal(again.predict_path(new), model.mimosa_.predict(new))


def test_codes_on_a_path_that_is_given():
    frame = overlapping()
    model = COFHAE(random_state=0, device="cpu").fit(frame)
    n_paths = len(model.hierarchy_.paths)
    paths = np.arange(len(frame)) % n_paths
    codes = model.transform(frame, paths=paths)
    np.testing.assert_array_equal(model.hierarchy_.path_of(codes), paths)
    back = model.inverse_transform(codes)
    off = np.abs(back[["width", "height", "depth"]].to_numpy() - frame[["width", "height", "depth"]].to_numpy())
    assert off.mean() < 1e-3  # leaves are as wide as the table: a row can be told on any of them


def test_the_variables_of_a_model_are_those_that_the_tree_names(answers):
    _, frame, run, m = answers
    codes = run.encode(run.model("cpu"), np.arange(len(frame)))
    for path in range(len(m.hierarchy_.paths)):
        on = m.labels_ == path
        for column in m.hierarchy_.paths[path].continuous if on.sum() > 50 else ():
            mine, theirs = codes[on, column], m.codes_[on, column]
            assert theirs.std() == 0 or np.corrcoef(mine, theirs)[0, 1] > 0.8, m.hierarchy_.variables[column].name


@pytest.mark.parametrize("standardize", [True, False])
def test_a_column_that_is_left_out_changes_no_code(tmp_path, standardize):
    rng = np.random.default_rng(0)
    kind = rng.integers(2, size=300)
    frame = pd.DataFrame({"a": rng.integers(0, 50, 300) + 100 * kind, "b": rng.normal(30 * kind, 3)})
    frame.assign(lists=[[1, 2]] * 300).to_parquet(tmp_path / "t.parquet")
    settings = {"preset": "quick", "epochs": 1, "options": {"standardize": standardize}}
    config = RunConfig.of(str(tmp_path / "t.parquet"), **settings)
    run = start_run(config, tmp_path / "r")
    finish_run(run, until="scores", device="cpu")
    result = invoke("apply", run.folder, tmp_path / "t.parquet", "--out", tmp_path / "z.npy")
    assert result.exit_code == 0, result.stderr
    expected = run.encode(run.model("cpu"), np.arange(300))
    np.testing.assert_allclose(np.load(tmp_path / "z.npy"), expected, rtol=1e-6, atol=1e-6)
