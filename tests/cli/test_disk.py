"""Full disks, read errors and processes that are told to end; covers `app.py`, `run.py` and `apply.py`."""

import errno
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from disentree.datasets import load_dataset
from disentree.runs import RunConfig, apply_run, finish_run, start_run
from shell import invoke, is_one_sentence

NAME = "chopsticks-depth2-slope"

# A limit on the size of files is as near to a full disk as a test gets without one.
LIMITED = """
import resource, signal, sys
from disentree.cli import main
limit = int(sys.argv.pop(1))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
main()
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    config = RunConfig.of(NAME, preset="quick", n_samples=600, epochs=1, structure="true")
    made = start_run(config, tmp_path_factory.mktemp("run") / "r")
    finish_run(made, until="scores", device="cpu")
    return made


def leftovers(folder):
    return [p for p in folder.rglob(".*") if p.name != ".lock"]


def test_a_full_disk_in_training_ends_with_the_name_of_the_file(tmp_path):
    command = ["run", NAME, "--n-samples", "600", "--epochs", "2", "--structure", "true", "--out", tmp_path / "r"]
    script = [sys.executable, "-c", LIMITED, "60000", *map(str, command)]
    result = subprocess.run(script, capture_output=True, text=True, check=False)
    assert result.returncode == 2, result.stderr
    last = result.stderr.splitlines()[-1]
    assert last.startswith("disentree: File too large: ")
    assert last.endswith(("checkpoint.safetensors", "model.safetensors"))
    assert "Traceback" not in result.stderr
    assert leftovers(tmp_path) == []


def test_a_full_disk_in_apply_leaves_nothing(run, tmp_path):
    np.save(tmp_path / "x.npy", load_dataset(NAME, 3000).X)
    command = ["apply", run.folder, tmp_path / "x.npy", "--out", tmp_path / "z.npy"]
    script = [sys.executable, "-c", LIMITED, "9000", *map(str, command)]
    result = subprocess.run(script, capture_output=True, text=True, check=False)
    assert result.returncode == 2, result.stderr
    assert "Traceback" not in result.stderr
    assert sorted(os.listdir(tmp_path)) == ["x.npy"]


def test_read_errors_are_not_blamed_on_the_output(run, tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", load_dataset(NAME, 300).X)

    def broken(*args, **kwargs):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("disentree.runs.files.reading.read_rows", broken)
    result = invoke("apply", run.folder, tmp_path / "x.npy", "--out", tmp_path / "z.npy")
    assert (result.exit_code, is_one_sentence(result)) == (2, True)
    assert result.stderr.endswith(f"Input/output error: {tmp_path / 'x.npy'}\n")
    assert sorted(os.listdir(tmp_path)) == ["x.npy"]


@pytest.mark.parametrize("out", ["x.npy", "link.npy", "sub/../x.npy"])
def test_apply_never_overwrites_its_input(run, tmp_path, out):
    X = load_dataset(NAME, 300).X
    np.save(tmp_path / "x.npy", X)
    (tmp_path / "sub").mkdir()
    (tmp_path / "link.npy").symlink_to(tmp_path / "x.npy")
    for source, target in (("x.npy", out), (out, "x.npy")):
        result = invoke("apply", run.folder, tmp_path / source, "--out", tmp_path / target, "--force")
        assert (result.exit_code, is_one_sentence(result)) == (2, True)
        assert "is the file that is read" in result.stderr
    np.save(tmp_path / "z.paths.npy", X)
    result = invoke("apply", run.folder, tmp_path / "z.paths.npy", "--out", tmp_path / "z.npy", "--force")
    assert result.exit_code == 2
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), X)
    np.testing.assert_array_equal(np.load(tmp_path / "z.paths.npy"), X)


SLOW = """
import sys, time
from disentree.cli import main
from disentree.runs import apply

def slow(*args):
    print("working", flush=True)
    time.sleep(60)

apply._assigned = slow
main()
"""


def test_told_to_end_it_leaves_nothing(run, tmp_path):
    np.save(tmp_path / "x.npy", load_dataset(NAME, 300).X)
    command = [sys.executable, "-c", SLOW, "apply", run.folder, tmp_path / "x.npy", "--out", tmp_path / "z.npy"]
    with subprocess.Popen(
        [str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"working\n"
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 128 + signal.SIGTERM
        assert time.monotonic() - began < 10
        assert b"Traceback" not in process.stderr.read()
    assert sorted(os.listdir(tmp_path)) == ["x.npy"]


def test_applied_counts(run, tmp_path):
    np.save(tmp_path / "x.npy", load_dataset(NAME, 300).X)
    done = apply_run(run, tmp_path / "x.npy", tmp_path / "z.csv", device="cpu")
    assert (done.n_rows, done.without_path) == (300, {})
