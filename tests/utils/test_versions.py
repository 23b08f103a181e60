"""Which build made a result."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import disentree
from disentree import COFHAE, MIMOSA
from disentree.datasets import load_dataset
from disentree.utils import versions

ROOT = Path(__file__).parents[2]


@pytest.fixture
def fresh():
    versions.build_commit.cache_clear()
    yield
    versions.build_commit.cache_clear()


def git(*args):
    result = subprocess.run(["git", "-C", str(ROOT), *args], capture_output=True, text=True, check=False)
    if result.returncode:
        pytest.skip("the commit of a build is known in a git checkout only")
    return result.stdout.strip()


def test_a_checkout_knows_its_commit(fresh):
    if Path(disentree.__file__).parents[2] != ROOT:
        pytest.skip("the tests run against an installed package")
    head = git("rev-parse", "HEAD")
    assert versions.build_commit() in (head, f"{head}-dirty")


def test_a_build_carries_its_commit_and_elsewhere_it_is_unknown(fresh, tmp_path, monkeypatch):
    monkeypatch.setattr(versions, "_PACKAGE_FOLDER", tmp_path / "site-packages" / "disentree")
    (tmp_path / "site-packages" / "disentree").mkdir(parents=True)
    assert versions.build_commit() == "unknown"
    versions.build_commit.cache_clear()
    (tmp_path / "site-packages" / "disentree" / "_commit.txt").write_text("1a2b3c4d5e\n")
    assert versions.build_commit() == "1a2b3c4d5e"
    assert versions.build_versions()["commit"] == "1a2b3c4d5e"


def test_a_broken_checkout_is_unknown(fresh, tmp_path, monkeypatch):
    monkeypatch.setattr(versions, "_PACKAGE_FOLDER", tmp_path / "src" / "disentree")
    (tmp_path / ".git").mkdir()
    assert versions.build_commit() == "unknown"


def test_builds_in_words():
    found = {"disentree": "0.2.0", "commit": "1a2b3c4d" + 32 * "0"}
    assert versions.describe_build(found) == "0.2.0 (commit 1a2b3c4d)"
    assert versions.describe_build({**found, "commit": found["commit"] + "-dirty"}).endswith(
        "(commit 1a2b3c4d-dirty)"
    )
    assert versions.describe_build({}) == "unknown (commit unknown)"


def test_models_record_version_and_commit(tmp_path):
    X = load_dataset("chopsticks-depth2-inter", 300).X
    mimosa = MIMOSA().fit(X)
    mimosa.save(tmp_path / "mimosa")
    paths = np.maximum(mimosa.labels_, 0)
    COFHAE.quick(epochs=1).fit(X, hierarchy=mimosa.hierarchy_, paths=paths).save(tmp_path / "model")
    for file in ("mimosa/mimosa.json", "model/model.json"):
        about = json.loads((tmp_path / file).read_text())
        assert (about["version"], about["commit"]) == (disentree.__version__, versions.build_commit())


@pytest.mark.parametrize("command", [["-c", "import disentree"], ["-m", "disentree", "--help"]])
def test_starting_takes_less_than_a_second(command):
    """Processor time, which the machine's other work does not change."""
    script = (
        "import resource, subprocess, sys; subprocess.run([sys.executable, *sys.argv[1:]], check=True, "
        "stdout=subprocess.DEVNULL); used = resource.getrusage(resource.RUSAGE_CHILDREN); "
        "print(used.ru_utime + used.ru_stime)"
    )
    result = subprocess.run([sys.executable, "-c", script, *command], capture_output=True, text=True, check=True)
    assert float(result.stdout) < 1
