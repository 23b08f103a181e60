"""`disentree apply` to tables; covers `apply.py`, `reading.py` and `columns.py`."""

import shutil

import numpy as np
import pandas as pd
import pytest

from disentree.datasets import load_file
from disentree.errors import UserError
from disentree.runs import Run, RunConfig, finish_run, start_run
from disentree.runs.files.reading import read_blocks
from disentree.runs.report.findings import read_findings
from disentree.utils.files import sha256_of
from shell import invoke, is_one_sentence

pytestmark = pytest.mark.usefixtures("small_blocks")


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.normal(size=(400, 2)) @ rng.normal(size=(2, 5)) + 3, columns=list("abcde"))


@pytest.fixture(scope="module")
def table_run(frame, tmp_path_factory):
    folder = tmp_path_factory.mktemp("table")
    frame.to_csv(folder / "t.csv", index=False)
    made = start_run(RunConfig.of(str(folder / "t.csv"), preset="quick", epochs=1), folder / "r")
    finish_run(made, until="scores", device="cpu")
    return made


def test_a_table_is_standardised_as_it_was(table_run, frame, tmp_path):
    run = table_run
    other = frame[["e", "b", "a", "d", "c"]].assign(name="x")
    other.loc[7, "b"] = np.nan
    other.to_parquet(tmp_path / "o.parquet")
    result = invoke("apply", run.folder, tmp_path / "o.parquet", "--out", tmp_path / "z.npy")
    assert result.exit_code == 0, result.stderr
    codes = np.load(tmp_path / "z.npy")
    kept = np.arange(400) != 7
    np.testing.assert_allclose(codes[kept], run.model("cpu").transform(run.data.X[kept]), rtol=1e-4, atol=1e-5)
    assert np.isnan(codes[7]).all()
    assert np.load(tmp_path / "z.paths.npy")[7] == -1
    other.drop(columns="b").to_csv(tmp_path / "p.csv", index=False)
    result = invoke("apply", run.folder, tmp_path / "p.csv", "--out", tmp_path / "y.csv")
    assert (result.exit_code, "has no column 'b'" in result.stderr) == (2, True)
    assert not (tmp_path / "y.csv").exists()


@pytest.mark.parametrize(
    ("name", "style"),
    [
        ("t.csv", {"sep": ";"}),
        ("t.csv", {"sep": ";", "decimal": ","}),
        ("t.csv", {"sep": "\t"}),
        ("t.tsv", {"sep": "\t"}),
    ],
)
def test_separators_and_decimal_commas_are_seen_as_by_run(table_run, frame, tmp_path, name, style):
    frame.to_csv(tmp_path / name, index=False, **style)
    result = invoke("apply", table_run.folder, tmp_path / name, "--out", tmp_path / "z.npy")
    assert result.exit_code == 0, result.stderr
    codes = table_run.model("cpu").transform(table_run.data.X)
    np.testing.assert_allclose(np.load(tmp_path / "z.npy"), codes, rtol=1e-4, atol=1e-5)


def test_files_are_read_as_they_were_for_training(table_run, frame, tmp_path):
    """Trailing separators, header one short, ragged lines, an index: right or refused, and the same as by run."""
    lines = frame.to_csv(index=False).splitlines()
    codes = table_run.model("cpu").transform(table_run.data.X)

    def apply(text):
        (tmp_path / "t.csv").write_text(text)
        out = tmp_path / "z.npy"
        return invoke("apply", table_run.folder, tmp_path / "t.csv", "--out", out, "--force"), out

    result, out = apply("\n".join([lines[0], *(f"{line}," for line in lines[1:])]))
    assert result.exit_code == 0, result.stderr
    assert "the separator at the end of lines is ignored" in result.stderr
    np.testing.assert_allclose(np.load(out), codes, rtol=1e-4, atol=1e-5)
    for text in (
        "\n".join([lines[0], *(f"{i},{line}" for i, line in enumerate(lines[1:]))]),
        "\n".join([*lines[:350], f"{lines[350]},1", *lines[351:]]),
    ):
        result, _ = apply(text)
        assert (result.exit_code, is_one_sentence(result)) == (2, True)
        with pytest.raises(UserError):
            load_file(tmp_path / "t.csv")
    indexed = frame.set_index(pd.Index(np.arange(400) + 0.5, name="key"))
    indexed.to_parquet(tmp_path / "t.parquet")
    result = invoke("apply", table_run.folder, tmp_path / "t.parquet", "--out", out, "--force")
    assert result.exit_code == 0, result.stderr
    np.testing.assert_allclose(np.load(out), codes, rtol=1e-4, atol=1e-5)


def test_rows_too_far_out_have_no_path(table_run, frame, tmp_path):
    other = frame.copy()
    other.loc[3, "a"], other.loc[5, "b"], other.loc[9, "c"] = 1e200, -1e308, np.inf
    other.to_csv(tmp_path / "t.csv", index=False)
    result = invoke("apply", table_run.folder, tmp_path / "t.csv", "--out", tmp_path / "z.npy")
    assert result.exit_code == 0, result.stderr
    assert "1 rows without a path: a value is missing" in result.stdout
    assert "2 rows without a path: too far out to be encoded" in result.stdout
    codes, paths = np.load(tmp_path / "z.npy"), np.load(tmp_path / "z.paths.npy")
    assert np.flatnonzero(paths < 0).tolist() == [3, 5, 9]
    hierarchy = table_run.hierarchy
    assert np.isfinite(codes[hierarchy.active(codes) & (paths >= 0)[:, None]]).all()
    assert np.isnan(codes[paths < 0]).all()


@pytest.mark.parametrize("engine", ["local", "dask"])
def test_an_array_for_a_run_made_from_a_table(table_run, frame, tmp_path, engine, inline):
    np.save(tmp_path / "x.npy", frame.to_numpy())
    result = invoke("apply", table_run.folder, tmp_path / "x.npy", "--out", tmp_path / "z.npy", "--engine", engine)
    assert (result.exit_code, is_one_sentence(result)) == (2, True)
    assert "the run was made from a table with columns a, b, c ...: give a table" in result.stderr


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
@pytest.mark.parametrize(
    ("shape", "sentence"),
    [([64], "has 12 columns, the run needs 64$"), ([8, 8], "is a table, the run needs images of 8x8$")],
)
def test_the_width_of_a_table_comes_before_what_it_holds(tmp_path, name, shape, sentence):
    table = pd.DataFrame({f"column {i}": ["a line"] for i in range(12)})
    if name == "t.csv":
        table.to_csv(tmp_path / name, index=False)
    else:
        table.to_parquet(tmp_path / name)
    about = {"kind": "series", "shape": shape, "feature_names": [], "scale": None}
    with pytest.raises(UserError, match=sentence):
        list(read_blocks(tmp_path / name, about))


# ------------------------------------------------------------------ columns of any kind


@pytest.fixture(scope="module")
def colored(frame):
    colors = np.random.default_rng(1).choice(["red", "green", "2.50"], 400)
    return frame.assign(color=colors, yes=np.arange(400) % 3 == 0, key=[f"k{i}" for i in range(400)])


@pytest.fixture(scope="module")
def colored_run(colored, tmp_path_factory):
    folder = tmp_path_factory.mktemp("colored")
    colored.to_csv(folder / "t.csv", index=False)
    made = start_run(RunConfig.of(str(folder / "t.csv"), preset="quick", epochs=1), folder / "r")
    finish_run(made, until="scores", device="cpu")
    return made


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_columns_of_any_kind_are_read_as_they_were(colored_run, colored, tmp_path, name):
    assert colored_run.data.feature_names[5:] == (
        "color=2.50",
        "color=green",
        "color=red",
        "yes=False",
        "yes=True",
    )
    other = colored[colored.columns[::-1]].drop(columns="key")
    other.loc[300:, "color"] = "2.50"  # a block that looks like numbers
    other.loc[7, "color"] = None
    if name == "t.csv":
        other.replace({"yes": {True: "TRUE", False: "false"}}).to_csv(tmp_path / name, index=False)
    else:
        other.to_parquet(tmp_path / name)
    result = invoke("apply", colored_run.folder, tmp_path / name, "--out", tmp_path / "z.npy")
    assert result.exit_code == 0, result.stderr
    assert "was not made from" not in result.stderr
    codes = np.load(tmp_path / "z.npy")
    assert np.isfinite(codes[7]).any()  # an empty cell is no reason to give up
    kept = np.flatnonzero(other["color"] == colored["color"])
    expected = colored_run.model("cpu").transform(colored_run.data.X[kept])
    np.testing.assert_allclose(codes[kept], expected, rtol=1e-4, atol=1e-5)


def test_a_value_that_is_new_is_empty_and_said_once(colored_run, colored, tmp_path):
    other = colored.copy()
    other.loc[[3, 350], "color"] = ["blue", "white"]  # in two blocks
    other.to_parquet(tmp_path / "t.parquet")
    result = invoke("apply", colored_run.folder, tmp_path / "t.parquet", "--out", tmp_path / "z.npy")
    assert result.exit_code == 0, result.stderr
    assert result.stderr.count("column 'color' has values that the run was not made from, such as 'blue'") == 1
    assert result.stderr.count("was not made from") == 1
    X = colored_run.data.X[[3, 350]]
    X[:, 5:8] = 0
    expected = colored_run.model("cpu").transform(X)
    np.testing.assert_allclose(np.load(tmp_path / "z.npy")[[3, 350]], expected, rtol=1e-4, atol=1e-5)
    other.drop(columns="color").to_parquet(tmp_path / "t.parquet")
    result = invoke("apply", colored_run.folder, tmp_path / "t.parquet", "--out", tmp_path / "y.npy")
    assert (result.exit_code, is_one_sentence(result)) == (2, True)
    assert "has no column 'color', which the run was made from" in result.stderr


def test_a_run_that_does_not_know_its_columns(colored_run, colored, tmp_path):
    run = Run.open(shutil.copytree(colored_run.folder, tmp_path / "copy"))
    about = run.read_json("data.json")
    del about["table"]
    run.write_json("data.json", about)
    stages = run.stages
    stages["data"]["files"]["data.json"] = sha256_of(run.folder / "data.json")
    run.write_sealed("stages.json", stages)
    colored.to_csv(tmp_path / "t.csv", index=False)
    result = invoke("apply", run.folder, tmp_path / "t.csv", "--out", tmp_path / "z.npy")
    assert (result.exit_code, is_one_sentence(result)) == (2, True)
    assert "it does not say what the columns are" in result.stderr


# ------------------------------------------------------------------ what a table says about its rows


@pytest.mark.parametrize("name", ["z.csv", "z.parquet"])
def test_a_table_has_leaves_probabilities_errors_and_what_is_kept(colored_run, colored, tmp_path, name):
    colored.assign(path="0" + colored["key"]).to_csv(tmp_path / "t.csv", index=False)
    words = ("--keep", "key", "--keep", "path", "--out", tmp_path / name)
    result = invoke("apply", colored_run.folder, tmp_path / "t.csv", *words)
    assert result.exit_code == 0, result.stderr
    found = pd.read_csv(tmp_path / name) if name == "z.csv" else pd.read_parquet(tmp_path / name)
    model = colored_run.model("cpu")
    findings = read_findings(colored_run, model.hierarchy_)  # what the report calls them
    assert list(found.columns) == [
        "key", "path (kept)", "path", "leaf", "probability", "strange", "error",
        *(f"code: {variable.name}" for variable in findings.shown_hierarchy().variables),
    ]  # fmt: skip
    assert found["key"].tolist() == colored["key"].tolist()
    assert found["path (kept)"][7] == "0k7"
    assert found["leaf"].tolist() == [findings.path_name(path) for path in found["path"]]
    assert not set(found["leaf"]) & {path.name for path in model.hierarchy_.paths}
    X = colored_run.data.X
    again = model.inverse_transform(colored_run.encode(model, np.arange(len(X))))
    np.testing.assert_allclose(found["error"], np.sqrt(((X - again) ** 2).mean(axis=1)), rtol=1e-3, atol=1e-5)
    proba = colored_run.mimosa.predict_proba(colored)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_allclose(found["probability"], proba[np.arange(len(X)), found["path"]], rtol=1e-3, atol=1e-5)
    assert (found["probability"] >= 1 / len(model.hierarchy_.paths)).all()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("t.csv", "--keep", "z", "--out", "z.csv"), "t.csv has no column 'z' to keep; it has a, b"),
        (("t.csv", "--keep", "key", "--out", "z.npy"), "--keep copies columns from a table to a table"),
        (("images", "--out", "z.csv"), "is a folder of images, the run was not made from such"),
    ],
)
def test_what_cannot_be_kept(colored_run, colored, tmp_path, monkeypatch, words, sentence):
    monkeypatch.chdir(tmp_path)
    colored.to_csv("t.csv", index=False)
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "1.png").touch()
    result = invoke("apply", colored_run.folder, *words)
    assert (result.exit_code, is_one_sentence(result)) == (2, True)
    assert sentence in result.stderr


def test_drift_of_a_file_is_told(table_run, frame, tmp_path):
    frame.to_csv(tmp_path / "same.csv", index=False)
    result = invoke("drift", table_run.folder, tmp_path / "same.csv")
    assert (result.exit_code, result.stdout) == (0, "Nothing changed beyond chance in 400 new rows.\n")
    (frame + 9).to_csv(tmp_path / "moved.csv", index=False)
    result = invoke("drift", table_run.folder, tmp_path / "moved.csv")
    assert (result.exit_code, result.stdout.splitlines()[0]) == (
        0,
        "Changed beyond chance in 400 new rows (in 5% of all cases without a change something is):",
    )
    frame.drop(columns="b").to_csv(tmp_path / "less.csv", index=False)
    result = invoke("drift", table_run.folder, tmp_path / "less.csv")
    assert is_one_sentence(result)
    assert "has no column 'b'" in result.stderr
