"""`disentree apply` to arrays, and dask arrays: the same as in memory, in blocks; `apply.py` and `writing.py`."""

import shutil
from functools import partial

import dask.array as da
import numpy as np
import pandas as pd
import pytest

from disentree import MIMOSA
from disentree.datasets import load_dataset
from disentree.runs import RunConfig, finish_run, start_run
from disentree.runs.apply import apply_run
from disentree.runs.models import load_model
from shell import invoke, is_one_sentence

NAME = "chopsticks-depth2-slope"
pytestmark = pytest.mark.usefixtures("small_blocks")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    config = RunConfig.of(NAME, preset="quick", n_samples=600, epochs=3, structure="true")
    made = start_run(config, tmp_path_factory.mktemp("run") / "r")
    finish_run(made, until="scores", device="cpu")
    return made


@pytest.fixture(scope="module")
def rows():
    return load_dataset(NAME, 1000, seed=5).X


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


def test_every_process_uses_the_device_asked_for(run, rows, tmp_path, monkeypatch, inline):
    asked = []

    def model(name, folder, device="auto"):
        asked.append(device)
        return load_model(name, folder, "cpu")

    monkeypatch.setattr("disentree.runs.apply.load_model", model)
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
    names = [f"code: {v.name}" for v in run.model("cpu").hierarchy_.variables]
    exactly = partial(pd.read_csv, float_precision="round_trip")
    for out, read in (("z.parquet", pd.read_parquet), ("z.csv", exactly)):
        result = invoke("apply", run.folder, tmp_path / "x.npz", "--out", tmp_path / out)
        assert result.exit_code == 0, result.stderr
        table = read(tmp_path / out)
        np.testing.assert_array_equal(table["path"], paths)
        np.testing.assert_array_equal(table[names].to_numpy(), codes)


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


@pytest.mark.parametrize("engine", ["local", "dask"])
def test_no_rows_give_empty_arrays(run, rows, tmp_path, engine, inline):
    np.save(tmp_path / "x.npy", rows[:0])
    result = invoke("apply", run.folder, tmp_path / "x.npy", "--out", tmp_path / "z.npy", "--engine", engine)
    assert result.exit_code == 0, result.stderr
    assert np.load(tmp_path / "z.npy").shape == (0, run.model("cpu").hierarchy_.n_variables)
    assert np.load(tmp_path / "z.paths.npy").shape == (0,)


def test_dask_arrays(run, rows):
    model = run.model("cpu")
    X = da.from_array(rows, chunks=(300, 10))
    codes = model.transform(X)
    assert codes.chunks == ((300, 300, 300, 100), (model.hierarchy_.n_variables,))
    np.testing.assert_array_equal(codes.compute(scheduler="synchronous"), expected(run, rows)[0])
    mimosa = MIMOSA().fit(rows)
    np.testing.assert_array_equal(mimosa.predict(X).compute(scheduler="synchronous"), mimosa.predict(rows))


def test_the_likeliest_path_is_the_path(run, rows):
    model = run.model("cpu")
    np.testing.assert_array_equal(model.predict_proba(rows).argmax(axis=1), model.predict_path(rows))
