"""Stand-ins for the models keep tests of runs quick; some use the real ones."""

import json
import shutil
from contextlib import nullcontext

import pytest
from matplotlib import pyplot as plt

from disentree.runs.models import MODELS, Model
from disentree.runs.steps import figures as run_figures
from disentree.runs.steps import structure
from disentree.utils.pools import InlinePool
from fakes import FakeMIMOSA
from shell import invoke

FAKE = Model("fake", "fakes", "FakeModel", "cofhae")
STICKS = ("chopsticks-depth2-inter", "--n-samples", 600)


@pytest.fixture
def fake_model(monkeypatch):
    monkeypatch.setitem(MODELS, "cofhae", FAKE)


@pytest.fixture
def fakes(monkeypatch, fake_model):
    monkeypatch.setattr(structure, "make_mimosa", lambda config, options: FakeMIMOSA())
    monkeypatch.setattr("disentree.runs.run.load_mimosa", FakeMIMOSA.load)


@pytest.fixture
def one_picture(monkeypatch):
    """Drawing is most of what a run with stand-ins takes."""

    def figures(run, device):
        return dict.fromkeys(("tree", "traversals", "reconstructions"), lambda: plt.figure(figsize=(1, 1)))

    monkeypatch.setattr(run_figures, "figures", figures)


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """A finished run with the true structure, to look at and to copy."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(MODELS, "cofhae", FAKE)
        folder = tmp_path_factory.mktemp("runs") / "done"
        result = invoke("run", *STICKS, "--out", folder, "--structure", "true")
        assert result.exit_code == 0, result.stderr
        return folder, result.stdout


@pytest.fixture
def copy_of_finished(finished, tmp_path, fakes):
    return shutil.copytree(finished[0], tmp_path / "copy")


@pytest.fixture(scope="session")
def real(tmp_path_factory):
    """A short run of MIMOSA and COFHAE."""
    folder = tmp_path_factory.mktemp("real") / "r"
    ask = (
        "run",
        "chopsticks-depth2-inter",
        "--n-samples",
        1500,
        "--epochs",
        4,
        "--out",
        folder,
        "--device",
        "cpu",
    )
    result = invoke(*ask)
    assert result.exit_code == 0, result.stderr
    return ask, folder


@pytest.fixture
def small_blocks(monkeypatch):
    """`disentree apply` reads 300 rows at a time."""
    monkeypatch.setattr("disentree.runs.files.reading.rows_per_block", lambda shape: 300)


@pytest.fixture
def inline(monkeypatch):
    """What a cluster would do, in this process; `tests/rows/test_cluster.py` has the processes."""
    monkeypatch.setattr("disentree.runs.apply.open_pool", lambda *_: nullcontext(InlinePool()))


def starts(folder):
    lines = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    return [line["stage"] for line in lines if line["event"] == "start"]
