import errno
import json
import os
import time

import numpy as np
import pytest

from disentree import Hierarchy, __version__
from disentree.datasets import load_dataset, save_dataset
from disentree.errors import UserError
from disentree.utils import files as _files
from disentree.utils.files import atomic_path, locked, sha256_of, write_json, write_npz
from disentree.utils.versions import build_commit


def test_a_block_that_ends_well_leaves_the_file(tmp_path):
    path = tmp_path / "new folder" / "a.txt"
    with atomic_path(path) as temporary:
        assert temporary.parent == path.parent
        assert temporary.suffix == ".txt"
        temporary.write_text("whole")
        assert not path.exists()
    assert path.read_text() == "whole"
    assert os.listdir(path.parent) == ["a.txt"]
    assert path.stat().st_mode & 0o777 == 0o666 & ~_files._umask()


@pytest.mark.parametrize("fault", [KeyboardInterrupt(), ValueError(), OSError(errno.ENOSPC, "disk full")])
def test_a_block_that_does_not_leaves_what_was_there(tmp_path, fault):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def write_half():
        with atomic_path(path) as temporary:
            temporary.write_text("half")
            raise fault

    with pytest.raises(type(fault)):
        write_half()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_errors_name_the_file_the_user_asked_for(tmp_path):
    with pytest.raises(OSError, match="No space left") as caught, atomic_path(tmp_path / "a.npz"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert caught.value.filename == str(tmp_path / "a.npz")


def test_a_lock_that_another_has_and_one_that_cannot_be_had(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl", reason="this system has no file locks of this kind")
    path = tmp_path / ".lock"
    with locked(path, shared=True), locked(path, shared=True), pytest.raises(UserError, match="is in use"):
        locked(path).__enter__()

    def no_locks(*args):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    with pytest.raises(OSError, match="No locks available"), locked(path):
        pass


def test_npz_is_what_numpy_reads_and_has_no_time_in_it(tmp_path, monkeypatch):
    arrays = {"X": np.arange(6.0).reshape(2, 3), "word": np.array("tree")}
    write_npz(tmp_path / "a.npz", arrays)
    monkeypatch.setattr(time, "time", lambda: 2e9)
    write_npz(tmp_path / "b.npz", arrays)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    with np.load(tmp_path / "a.npz", allow_pickle=False) as read:
        np.testing.assert_array_equal(read["X"], arrays["X"])
        assert read["word"].item() == "tree"


def test_json_has_neither_nan_nor_infinity(tmp_path):
    write_json(tmp_path / "a.json", {"a": [1.5, float("nan"), (float("inf"),)], "ü": None})
    text = (tmp_path / "a.json").read_text(encoding="utf-8")
    assert json.loads(text, parse_constant=pytest.fail) == {"a": [1.5, None, [None]], "ü": None}
    assert "ü" in text
    assert text.endswith("}\n")


def test_nothing_is_ever_pickled(tmp_path):
    with pytest.raises(ValueError, match="allow_pickle=False"):
        write_npz(tmp_path / "a.npz", {"X": np.array([{}, []], dtype=object)})


@pytest.mark.parametrize("name", ["chopsticks-depth2-either", "spaceshapes"])
def test_a_data_set_comes_back_from_its_file(tmp_path, name):
    ds = load_dataset(name, n_samples=50, seed=3, noise=0.01)
    about = save_dataset(ds, tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz", allow_pickle=False) as read:
        assert sorted(read) == ["X", "codes", "hierarchy", "paths"]
        for key in ("X", "codes", "paths"):
            np.testing.assert_array_equal(read[key], getattr(ds, key))
            assert read[key].dtype == getattr(ds, key).dtype
        assert Hierarchy.from_json(read["hierarchy"].item()).to_dict() == ds.hierarchy.to_dict()
    assert json.loads((tmp_path / "a.npz.json").read_text()) == about
    assert about["sha256"] == sha256_of(tmp_path / "a.npz")
    assert (about["name"], about["n_samples"], about["seed"]) == (name, 50, 3)
    assert about["options"] == {"noise": 0.01}
    assert about["versions"] == {"disentree": __version__, "commit": build_commit(), "numpy": np.__version__}
    again = load_dataset(about["name"], about["n_samples"], about["seed"], **about["options"])
    assert save_dataset(again, tmp_path / "b.npz")["sha256"] == about["sha256"]


def test_a_full_disk_leaves_neither_file(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("disentree.datasets.saving.sha256_of", full)
    with pytest.raises(OSError, match="No space left"):
        save_dataset(load_dataset("chopsticks-depth2-inter", n_samples=5), tmp_path / "a.npz")
    assert os.listdir(tmp_path) == []


def test_only_npz(tmp_path):
    with pytest.raises(ValueError, match=r"ends in \.npz, got '.*a\.csv'"):
        save_dataset(load_dataset("chopsticks-depth2-inter", n_samples=5), tmp_path / "a.csv")
