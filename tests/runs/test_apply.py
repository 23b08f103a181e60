"""`disentree apply` and dask arrays: the same as in memory, in blocks."""

import shutil
from functools import partial

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from PIL import Image

from disentree import COFHAE, MIMOSA
from disentree.datasets import load_dataset, load_file
from disentree.errors import UserError
from disentree.runs import Run, RunConfig, finish_run, start_run
from disentree.runs.apply import apply_run
from disentree.runs.models import load_model
from disentree.runs.reading import read_blocks
from disentree.runs.writing import create_npy, write_rows
from shell import invoke, is_one_sentence

NAME = "chopsticks-depth2-slope"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    config = RunConfig.of(NAME, preset="quick", n_samples=600, epochs=3, structure="true")
    made = start_run(config, tmp_path_factory.mktemp("run") / "r")
    finish_run(made, until="scores", device="cpu")
    return made


@pytest.fixture(scope="module")
def rows():
    return load_dataset(NAME, 1000, seed=5).X


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    for module in ("disentree.runs.reading", "disentree.runs.apply"):
        monkeypatch.setattr(f"{module}.rows_per_block", lambda shape: 300)


@pytest.fixture
def inline(monkeypatch):
    """What a cluster would do, in this process; `tests/utils/test_jobs.py` has the processes."""
    monkeypatch.setattr("disentree.runs.apply.in_processes", lambda f, calls, *_: [f(*call) for call in calls])


def expected(run, rows):
    model = run.model("cpu")
    codes = np.concatenate([model.transform(rows[i : i + 300]) for i in range(0, len(rows), 300)])
    return codes, model.hierarchy_.path_of(codes)


@pytest.mark.parametrize("engine", ["local", "dask"])
def test_npy_to_npy(run, rows, tmp_path, engine, inline):
    np.save(tmp_path / "x.npy", rows)
    result = invoke("apply", run.folder, tmp_path / "x.npy", "--out", tmp_path / "z.npy", "--engine", engine)
    assert result.exit_code == 0, result.stderr
    assert "1,000 rows in" in result.stdout
    codes, paths = expected(run, rows)
    np.testing.assert_array_equal(np.load(tmp_path / "z.npy", mmap_mode="r"), codes)
    np.testing.assert_array_equal(np.load(tmp_path / "z.paths.npy", mmap_mode="r"), paths)


def test_every_process_uses_the_device_asked_for(run, rows, tmp_path, monkeypatch):
    asked = []

    def model(self, device="auto"):
        asked.append(device)
        return load_model(self.config.model, self.folder, "cpu")

    monkeypatch.setattr(Run, "model", model)
    monkeypatch.setattr("disentree.runs.apply.in_processes", lambda f, calls, *_: [f(*call) for call in calls])
    np.save(tmp_path / "x.npy", rows)
    apply_run(run, tmp_path / "x.npy", tmp_path / "z.npy", engine="dask", device="cuda")
    assert asked == ["cuda", "cuda"]


def test_bytes_are_numbers_like_any_other(tmp_path):
    """A table of uint8 gives the same run and the same codes as its numbers as int64."""
    rng = np.random.default_rng(0)
    values = (rng.integers(0, 120, (300, 1)) + rng.integers(0, 4, (300, 6))).astype(np.uint8)
    np.save(tmp_path / "bytes.npy", values)
    np.save(tmp_path / "numbers.npy", values.astype(np.int64))
    found = []
    for name in ("bytes", "numbers"):
        options = {"standardize": False}
        config = RunConfig.of(str(tmp_path / f"{name}.npy"), preset="quick", epochs=1, options=options)
        made = start_run(config, tmp_path / name)
        finish_run(made, until="scores", device="cpu")
        for source in ("bytes", "numbers"):
            out = tmp_path / f"{name}-{source}.npy"
            apply_run(made, tmp_path / f"{source}.npy", out, device="cpu")
            found.append(np.load(out))
        found.append(made.read_npz("labels.npz")["labels"])
    for other in found[1], found[3], found[4]:
        np.testing.assert_array_equal(found[0], other)
    np.testing.assert_array_equal(found[2], found[5])


def test_npz_to_parquet_and_csv(run, rows, tmp_path):
    np.savez_compressed(tmp_path / "x.npz", X=rows)
    codes, paths = expected(run, rows)
    names = [v.name for v in run.model("cpu").hierarchy_.variables]
    exactly = partial(pd.read_csv, float_precision="round_trip")
    for out, read in (("z.parquet", pd.read_parquet), ("z.csv", exactly)):
        result = invoke("apply", run.folder, tmp_path / "x.npz", "--out", tmp_path / out)
        assert result.exit_code == 0, result.stderr
        table = read(tmp_path / out)
        np.testing.assert_array_equal(table["path"], paths)
        np.testing.assert_array_equal(table[names].to_numpy(), codes)


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
def test_columns_of_an_array_that_were_left_out_are_left_out(tmp_path, engine, inline):
    rng = np.random.default_rng(0)
    X = np.insert(rng.normal(size=(300, 2)) @ rng.normal(size=(2, 4)), 2, 7.0, axis=1)
    np.save(tmp_path / "x.npy", X)
    made = start_run(RunConfig.of(str(tmp_path / "x.npy"), preset="quick", epochs=1), tmp_path / "r")
    finish_run(made, until="scores", device="cpu")
    result = invoke("apply", made.folder, tmp_path / "x.npy", "--out", tmp_path / "z.npy", "--engine", engine)
    assert result.exit_code == 0, result.stderr
    codes = made.model("cpu").transform(made.data.X)
    np.testing.assert_allclose(np.load(tmp_path / "z.npy"), codes, rtol=1e-4, atol=1e-5)


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


def test_a_run_that_did_not_keep_the_values_of_text(colored_run, colored, tmp_path):
    old = Run.open(shutil.copytree(colored_run.folder, tmp_path / "old"))
    about = old.read_json("data.json")
    del about["table"]
    old.write_json("data.json", about)
    old.write_json("stages.json", {name: {"seconds": 1.0} for name in old.stages})  # no checksums then either
    colored.to_csv(tmp_path / "t.csv", index=False)
    result = invoke("apply", old.folder, tmp_path / "t.csv", "--out", tmp_path / "z.npy")
    assert (result.exit_code, is_one_sentence(result)) == (2, True)
    assert "too old to know what its columns are" in result.stderr


@pytest.mark.parametrize("name", ["x.csv", "x.parquet"])
def test_a_table_for_a_run_made_from_an_array(run, rows, tmp_path, name):
    def write(X):
        frame = pd.DataFrame(X).rename(columns=str)
        if name == "x.csv":
            frame.to_csv(tmp_path / name, index=False)
        else:
            frame.to_parquet(tmp_path / name)

    write(rows[:20])
    command = ("apply", run.folder, tmp_path / name, "--out")
    result = invoke(*command, tmp_path / "z.npy")
    assert result.exit_code == 0, result.stderr
    np.testing.assert_allclose(np.load(tmp_path / "z.npy"), run.model("cpu").transform(rows[:20]))
    write(rows[:20, :3])
    result = invoke(*command, tmp_path / "y.npy")
    assert (result.exit_code, is_one_sentence(result)) == (2, True)
    assert f"{name} has 3 columns, the run needs 64" in result.stderr


@pytest.mark.parametrize("engine", ["local", "dask"])
def test_an_array_for_a_run_made_from_a_table(table_run, frame, tmp_path, engine, inline):
    np.save(tmp_path / "x.npy", frame.to_numpy())
    result = invoke("apply", table_run.folder, tmp_path / "x.npy", "--out", tmp_path / "z.npy", "--engine", engine)
    assert (result.exit_code, is_one_sentence(result)) == (2, True)
    assert "the run was made from a table with columns a, b, c ...: give a table" in result.stderr


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--engine", "cloud"], "--engine must be local or dask, got 'cloud'"),
        (["--engine", "dask", "--device", "nonsense"], "device 'nonsense' is not available"),
        (["--address", "tcp://here:8786"], "--address is that of a Dask scheduler and needs --engine dask"),
    ],
)
def test_options_are_not_ignored(run, rows, tmp_path, options, sentence):
    np.save(tmp_path / "x.npy", rows[:20])
    result = invoke("apply", run.folder, tmp_path / "x.npy", "--out", tmp_path / "z.npy", *options)
    assert (result.exit_code, is_one_sentence(result)) == (2, True)
    assert sentence in result.stderr


@pytest.mark.parametrize("engine", ["local", "dask"])
@pytest.mark.parametrize(
    ("file", "out", "sentence"),
    [
        ("x.npy", "z.txt", "must end in .npy, .csv or .parquet"),
        ("none.npy", "z.npy", "there is no file"),
        ("narrow.npy", "z.npy", "has rows of shape (3,); the run was made from rows of shape (64,)"),
        ("cut.npy", "z.npy", "ends before its last row"),
        ("text.npy", "z.npy", "text.npy is not an npy file"),
        ("words.npy", "z.npy", "words.npy must hold real numbers, got text"),
        ("complex.npy", "z.npy", "complex.npy must hold real numbers, got complex128"),
        ("columns.npy", "z.npy", "columns.npy is stored by columns and must be by rows"),
        ("x.npy", "there.npy", "exists; --force overwrites it"),
    ],
)
def test_mistakes_are_one_sentence(run, rows, tmp_path, file, out, sentence, engine, inline):
    np.save(tmp_path / "x.npy", rows[:20])
    np.save(tmp_path / "narrow.npy", rows[:20, :3])
    shutil.copy(tmp_path / "x.npy", tmp_path / "cut.npy")
    (tmp_path / "cut.npy").write_bytes((tmp_path / "x.npy").read_bytes()[:-8])
    (tmp_path / "text.npy").write_text("no numbers")
    np.save(tmp_path / "words.npy", np.array([["a", "b"]]))
    np.save(tmp_path / "complex.npy", rows[:20] + 1j)
    np.save(tmp_path / "columns.npy", np.asfortranarray(rows[:20]))
    (tmp_path / "there.npy").write_text("")
    result = invoke("apply", run.folder, tmp_path / file, "--out", tmp_path / out, "--engine", engine)
    assert (result.exit_code, is_one_sentence(result)) == (2, True)
    assert sentence in result.stderr
    assert not (tmp_path / "z.npy").exists()


def test_paths_that_are_there_are_not_written_over(run, rows, tmp_path):
    np.save(tmp_path / "x.npy", rows[:20])
    (tmp_path / "z.paths.npy").write_text("mine")
    command = ("apply", run.folder, tmp_path / "x.npy", "--out", tmp_path / "z.npy")
    result = invoke(*command)
    assert (result.exit_code, is_one_sentence(result)) == (2, True)
    assert "z.paths.npy exists; --force overwrites it" in result.stderr
    assert (tmp_path / "z.paths.npy").read_text() == "mine"
    assert not (tmp_path / "z.npy").exists()
    assert invoke(*command, "--force").exit_code == 0
    assert len(np.load(tmp_path / "z.paths.npy")) == 20
    assert invoke(*command[:-1], tmp_path / "z.csv").exit_code == 0  # has its paths inside


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


@pytest.mark.parametrize("engine", ["local", "dask"])
def test_no_rows_give_empty_arrays(run, rows, tmp_path, engine, inline):
    np.save(tmp_path / "x.npy", rows[:0])
    result = invoke("apply", run.folder, tmp_path / "x.npy", "--out", tmp_path / "z.npy", "--engine", engine)
    assert result.exit_code == 0, result.stderr
    assert np.load(tmp_path / "z.npy").shape == (0, run.model("cpu").hierarchy_.n_variables)
    assert np.load(tmp_path / "z.paths.npy").shape == (0,)


def test_rows_are_written_to_their_place(tmp_path):
    for values in (np.arange(6.0).reshape(3, 2), np.arange(3)):
        create_npy(tmp_path / "a.npy", values.shape, values.dtype)
        np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), 0 * values)
        write_rows(tmp_path / "a.npy", 1, values[1:])
        write_rows(tmp_path / "a.npy", 0, values[:1])
        np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), values)


def test_dask_arrays(run, rows):
    model = run.model("cpu")
    X = da.from_array(rows, chunks=(300, 10))
    codes = model.transform(X)
    assert codes.chunks == ((300, 300, 300, 100), (model.hierarchy_.n_variables,))
    np.testing.assert_array_equal(codes.compute(scheduler="synchronous"), expected(run, rows)[0])
    mimosa = MIMOSA().fit(rows)
    np.testing.assert_array_equal(mimosa.predict(X).compute(scheduler="synchronous"), mimosa.predict(rows))


def test_dask_arrays_of_images():
    X = np.random.default_rng(0).random((60, 8, 8))
    model = COFHAE.quick(epochs=1, device="cpu").fit(X)
    codes = model.transform(da.from_array(X, chunks=(20, 4, 8))).compute(scheduler="synchronous")
    np.testing.assert_allclose(codes, model.transform(X), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.uint8])
def test_images_are_numbers_as_in_training(tmp_path, dtype):
    """Of any type, and also with an axis for their only channel."""
    X = np.random.default_rng(0).integers(0, 255, (120, 4, 4, 1)).astype(dtype) / (7 if dtype == np.float64 else 1)
    np.save(tmp_path / "x.npy", X.astype(dtype))
    data = load_file(tmp_path / "x.npy")
    about = {"kind": "images", "shape": [4, 4], "columns": None, "n_columns": None, "scale": None}
    block = next(read_blocks(tmp_path / "x.npy", about)).X
    assert block.dtype == data.X.dtype
    np.testing.assert_array_equal(block, data.X)


# ------------------------------------------------------------------ what a table says about its rows


@pytest.mark.parametrize("name", ["z.csv", "z.parquet"])
def test_a_table_has_leaves_probabilities_errors_and_what_is_kept(colored_run, colored, tmp_path, name):
    colored.assign(path="0" + colored["key"]).to_csv(tmp_path / "t.csv", index=False)
    words = ("--keep", "key", "--keep", "path", "--out", tmp_path / name)
    result = invoke("apply", colored_run.folder, tmp_path / "t.csv", *words)
    assert result.exit_code == 0, result.stderr
    found = pd.read_csv(tmp_path / name) if name == "z.csv" else pd.read_parquet(tmp_path / name)
    model = colored_run.model("cpu")
    assert list(found.columns) == [
        "key", "path (kept)", "path", "leaf", "probability", "error",
        *(variable.name for variable in model.hierarchy_.variables),
    ]  # fmt: skip
    assert found["key"].tolist() == colored["key"].tolist()
    assert found["path (kept)"][7] == "0k7"
    assert found["leaf"].tolist() == [model.hierarchy_.paths[path].name for path in found["path"]]
    X = colored_run.data.X
    again = model.inverse_transform(model.transform(X))
    np.testing.assert_allclose(found["error"], np.sqrt(((X - again) ** 2).mean(axis=1)), rtol=1e-3, atol=1e-5)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_allclose(found["probability"], proba[np.arange(len(X)), found["path"]], rtol=1e-3, atol=1e-5)
    assert (found["probability"] >= 1 / len(model.hierarchy_.paths)).all()


def test_the_likeliest_path_is_the_path(run, rows):
    model = run.model("cpu")
    np.testing.assert_array_equal(model.predict_proba(rows).argmax(axis=1), model.predict_path(rows))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("t.csv", "--keep", "z", "--out", "z.csv"), "t.csv has no column 'z' to keep; it has a, b"),
        (("t.csv", "--keep", "key", "--out", "z.npy"), "--keep copies columns from a table to a table"),
        ((".", "--out", "z.csv"), "is a folder of images, the run was not made from such"),
    ],
)
def test_what_cannot_be_kept(colored_run, colored, tmp_path, monkeypatch, words, sentence):
    monkeypatch.chdir(tmp_path)
    colored.to_csv("t.csv", index=False)
    result = invoke("apply", colored_run.folder, *words)
    assert (result.exit_code, is_one_sentence(result)) == (2, True)
    assert sentence in result.stderr


@pytest.fixture
def classes(tmp_path):
    """Two classes of images: bright above, and bright below."""
    rng = np.random.default_rng(0)
    for i in range(120):
        picture = rng.integers(0, 40, (8, 8)).astype(np.uint8)
        picture[slice(0, 4) if i % 2 else slice(4, 8)] += np.uint8(rng.integers(100, 200))
        folder = tmp_path / "images" / ("above" if i % 2 else "below")
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture).save(folder / f"{i:03}.png")
    (tmp_path / "images" / "below" / "broken.png").write_bytes(b"\x89PNG and then nothing")
    whole = (tmp_path / "images" / "above" / "001.png").read_bytes()
    (tmp_path / "images" / "above" / "cut.png").write_bytes(whole[: len(whole) // 2])
    return tmp_path / "images"


def test_images_in_class_folders(classes, tmp_path, fakes):
    data = load_file(classes)
    assert data.X.shape == (120, 8, 8)
    assert data.labels[:2].tolist() == ["above", "above"]
    assert data.policy[0] == "left out 2 images that could not be read: below/broken.png, above/cut.png"
    assert data.policy[1].startswith("the 2 subfolders (above, below) are classes")
    result = invoke("run", classes, "--out", tmp_path / "r", "--no-report")
    assert result.exit_code == 0, result.stderr
    run = Run.open(tmp_path / "r")
    assert 0 <= run.metrics["scores"]["purity"] <= 1
    assert "agreement with the classes" in result.stdout
    counted = [sum(leaf["n_rows"].values()) for leaf in run.read_json("metrics.json")["classes"]]
    assert sum(counted) == 108
    result = invoke("apply", run.folder, classes, "--out", tmp_path / "z.csv")
    assert result.exit_code == 0, result.stderr
    assert "2 rows without a path: the image cannot be read" in result.stdout
    found = pd.read_csv(tmp_path / "z.csv")
    assert len(found) == 122
    assert found["file"][0] == "above/001.png"
    assert found["file"][found["path"] < 0].tolist() == ["above/cut.png", "below/broken.png"]
    model = run.model()
    expected = model.hierarchy_.path_of(model.transform(data.X))
    np.testing.assert_array_equal(found["path"][found["path"] >= 0], expected)
