"""A Dask cluster of two processes, one of which is killed in each pass: `engines.py`,
`dask_parts.py`, and of runs the module that applies them."""

import os
import signal
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from disentree import MIMOSA
from disentree.mimosa import fit
from disentree.mimosa.constants import FIT
from disentree.rows import Blocks
from disentree.rows.engines import Cluster, engine_of
from disentree.runs import RunConfig, finish_run, start_run
from disentree.runs.apply import made_in
from forms import as_form
from shell import invoke

SAMPLE = 400
run_of_all = Cluster.run


@pytest.fixture(autouse=True, scope="module")
def few():
    """A sample of few rows is searched."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fit, "FIT", replace(FIT, landmarks=SAMPLE // 10))
        patch.setattr("disentree.runs.data.MOST", SAMPLE)
        yield


@pytest.fixture(scope="module")
def address():
    distributed = pytest.importorskip("distributed", reason="needs dask: the extra dask of disentree")
    how = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(**how) as cluster, distributed.Client(cluster):
        yield cluster.scheduler_address


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4)).round(6)
    X[::3, :2] += 12  # a group of every block
    return pd.DataFrame(X, columns=list("abcd"))


@pytest.fixture(scope="module")
def right(frame, few):
    return MIMOSA(random_state=0, n_jobs=1).fit(Blocks.of(frame, step=250))


@pytest.fixture
def killed(tmp_path, monkeypatch):
    """The files that tell in which passes a process was killed: in each that begins."""
    markers, folder = [], tmp_path / "killed"
    folder.mkdir()

    def deadly(function):
        markers.append(marker := folder / str(len(markers)))

        def call(*given):  # within a function, so that it is sent as it is, and not by its name
            with suppress(FileExistsError):
                os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*given)

        return call

    monkeypatch.setattr(Cluster, "run", lambda self, *of: run_of_all(self, *of[:-1], deadly(of[-1])))
    monkeypatch.setattr(
        "disentree.runs.apply.made_in", lambda pool, function, calls: made_in(pool, deadly(function), calls)
    )
    return markers


def check(m, right):
    np.testing.assert_array_equal(m.labels_, right.labels_)
    np.testing.assert_array_equal(m.sample_, right.sample_)
    assert [path.choices for path in m.hierarchy_.paths] == [path.choices for path in right.hierarchy_.paths]


def test_a_process_is_killed_in_each_pass(frame, right, address, killed, tmp_path):
    with engine_of("dask", address) as engine:
        rows = Blocks.of(as_form("parquet", frame, tmp_path, most=700), engine=engine, step=250)
        m = MIMOSA(random_state=0, n_jobs=1).fit(rows)
        check(m, right)
        pd.testing.assert_frame_equal(m.place(rows), right.place(frame), check_names=False)
    assert len(killed) > 2
    assert all(marker.exists() for marker in killed)


@pytest.mark.parametrize("form", ["csv", "dask frame"])
def test_rows_stay_where_they_are(form, frame, right, address, tmp_path):
    with engine_of("dask", address) as engine:
        rows = as_form(form, frame, tmp_path, most=700)
        rows = Blocks.of(rows, step=250, **({} if "dask" in form else {"engine": engine}))
        m = MIMOSA(random_state=0, n_jobs=1).fit(rows)
        check(m, right)
        np.testing.assert_array_equal(m.predict(rows), right.labels_)


def test_a_run_and_what_it_is_applied_to(frame, right, address, killed, tmp_path, monkeypatch):
    path = as_form("parquet", frame, tmp_path, most=700)
    monkeypatch.setattr(Cluster, "run", run_of_all)
    run = start_run(RunConfig.of(path, preset="quick", epochs=1), tmp_path / "run")
    finish_run(run, until="model", engine="dask", address=address, device="cpu")
    paths = np.load(tmp_path / "run" / "paths.npy")
    np.testing.assert_array_equal(paths, right.labels_)
    monkeypatch.setattr("disentree.runs.files.reading.rows_per_block", lambda shape: 700)
    how = "--keep", "a", "--engine", "dask", "--address", address
    result = invoke("apply", run.folder, path, "--out", tmp_path / "z.parquet", *how)
    assert result.exit_code == 0, result.stderr
    found = pd.read_parquet(tmp_path / "z.parquet")
    np.testing.assert_array_equal(found["path"], paths)
    np.testing.assert_array_equal(found["a"].astype(float), frame["a"])
    assert [marker.exists() for marker in killed] == [True]
