"""A few tries of each target of `make fuzz`, and that the driver notices what it is there for."""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from fuzz import driver
from fuzz.driver import Failure, Tally, Target, damaged, fuzz, run_command
from fuzz.targets import TARGETS

TRIES = {
    "files": 30,
    "damaged": 8,
    "hostile": 15,
    "models": 30,
    "flipped": 15,
    "containers": 6,
    "environments": 10,
}
TRIES |= {"requests": 25}


@pytest.mark.parametrize("name", [name for name in TARGETS if name != "environments"])
def test_the_short_form(name, tmp_path):
    target = TARGETS[name](tmp_path)
    tally = Tally(name, 0)
    try:
        fuzz(target, tally, tries=TRIES[name])
    finally:
        target.close()
    assert tally.failures == []
    assert tally.tries == TRIES[name]
    assert tally.accepted > 0 or name == "flipped"  # hardly any bit may flip


def test_the_short_form_of_environments():
    """In a process of its own, which is forked and has no threads."""
    command = [sys.executable, "-m", "fuzz", "--target", "environments", "--seed", "0"]
    command += ["--tries", str(TRIES["environments"])]
    done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


class Odd(Target):
    name = "odd"

    def attempt(self, rng, folder):
        kind = self.seen = int(rng.integers(2**30))
        if self.fail == "failure":
            raise Failure("as expected")
        if self.fail == "error":
            raise ZeroDivisionError
        while self.fail == "hang":
            time.sleep(1)
        return kind % 2 == 0


@pytest.mark.parametrize("fail", ["none", "failure", "error", "hang"])
def test_failures_are_noticed_with_their_seed(fail, tmp_path, monkeypatch, capsys):
    if fail == "hang":  # the others have the usual time: a busy machine must not make them one
        monkeypatch.setattr(driver, "SECONDS", 0.05)
    target, tally = Odd(tmp_path), Tally("odd", 17)
    target.fail = fail
    fuzz(target, tally, tries=2)
    assert tally.tries == 2
    assert len(tally.failures) == (0 if fail == "none" else 2)
    assert tally.hangs == (2 if fail == "hang" else 0)
    assert all(f"odd, seed {17 + i}: " in text for i, text in enumerate(tally.failures))
    assert list(tmp_path.iterdir()) == []
    again = target.seen
    fuzz(target, Tally("odd", 18), tries=1)
    assert target.seen == again


def test_commands_without_a_sentence_are_failures(tmp_path, monkeypatch):
    assert not run_command("report", tmp_path)[0]

    def broken(*args):
        raise ZeroDivisionError

    monkeypatch.setattr("disentree.runs.run.Run.open", broken)
    with pytest.raises(Failure, match="unexpected ZeroDivisionError"):
        run_command("report", tmp_path)


def test_damage_changes_something():
    content = bytes(range(256))
    changed = [damaged(content, np.random.default_rng(seed)) != content for seed in range(200)]
    assert sum(changed) > 190  # a part of no bytes may be lost


def test_the_command_repeats_a_try(tmp_path):
    command = [sys.executable, "-m", "fuzz", "--target", "files", "--seed", "5", "--tries", "2"]
    done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("files: seeds from 5, 2 tries, ")


CUT = """
import os, sys
from pathlib import Path
from fuzz.power import PowerCuts

folder, out = Path(sys.argv[1]), Path(sys.argv[2])
folder.mkdir()
PowerCuts(folder, out, [3, 7]).install()
(folder / "a").write_text("not synced")             # operation 0
with open(folder / "b", "w") as file:               # 1
    file.write("synced")
    file.flush()
    os.fsync(file.fileno())                         # 2
(folder / "c").write_text("")                       # 3: the first cut comes before it
handle = os.open(folder, os.O_RDONLY)
os.fsync(handle)                                    # 4
os.replace(folder / "b", folder / "d")              # 5
os.unlink(folder / "c")                             # 6
(folder / "e").write_text("")                       # 7: the second cut
"""


def test_a_power_cut_takes_what_was_not_synced(tmp_path):
    command = [sys.executable, "-c", CUT, tmp_path / "r", tmp_path / "out"]
    subprocess.run([str(word) for word in command], cwd=Path(__file__).parent, check=True)
    left = {
        p.name: {f.name: f.read_text() for f in p.iterdir()} for p in (tmp_path / "out").iterdir() if p.is_dir()
    }
    assert left["00003-strict"] == {}
    assert left["00003-names"] == {"a": "", "b": "synced"}
    assert left["00007-strict"] == {"a": "", "b": "synced", "c": ""}
    assert left["00007-names"] == {"a": "", "d": "synced"}
    assert set(left["00007-mixed"]) <= {"a", "b", "c", "d"}
    assert (tmp_path / "out" / "operations").read_text() == "8"
