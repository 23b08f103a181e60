"""The command line, run as users run it: in a process of its own, or in this one where speed matters."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from disentree import __version__
from disentree.cli import app as cli
from disentree.datasets import list_datasets
from disentree.errors import UserError
from shell import invoke

# Coverage tools and pytest plugins have no business in the child; colours and widths must not depend on us.
CLEAN = {**os.environ, "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "100"}


def disentree(*args, **kwargs):
    command = [sys.executable, "-m", "disentree", *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, env=CLEAN, check=False, **kwargs)


def is_one_sentence(stderr):
    return stderr.startswith("disentree: ") and stderr.count("\n") == 1 and "Traceback" not in stderr


# ------------------------------------------------------------------ the frame


def test_help_names_every_command():
    result = invoke("--help")
    assert result.exit_code == 0
    for command in cli.COMMANDS:
        assert command in result.stdout
        assert invoke(command, "--help").exit_code == 0
    assert "--install-completion" in result.stdout


def test_version():
    result = disentree("--version")
    assert (result.returncode, result.stdout) == (0, f"disentree {__version__}\n")


def test_help_waits_for_no_library_it_does_not_need():
    heavy = {"torch", "numba", "matplotlib", "sklearn", "scipy", "pandas", "numpy"}
    script = f"import sys, disentree.cli.app; print(*sorted({heavy!r} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == ""


@pytest.mark.parametrize(
    "args", [["nonsense"], ["--nonsense"], ["datasets", "--nonsense"], ["datasets", "a", "b"]]
)
def test_wrong_usage_is_the_users_mistake(args):
    result = invoke(*args)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Traceback" not in result.stderr


def fail_with(error, *options):
    """Run a command that fails; its module is the one that the error seems to come from."""

    def command() -> None:
        raise error

    app = cli.typer.Typer()
    app.callback()(cli.disentree)
    app.command("fail")(cli._guarded(command))
    return CliRunner().invoke(app, [*options, "fail"])


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (UserError("x must be y"), 2, "disentree: x must be y\n"),
        (FileNotFoundError(2, "No such file or directory", "a.npz"), 2, "No such file or directory: a.npz\n"),
        (PermissionError(13, "Permission denied", "a.npz"), 2, "disentree: Permission denied: a.npz\n"),
        (OSError(28, "No space left on device"), 2, "disentree: No space left on device\n"),
        (MemoryError("Unable to allocate 5 TiB"), 2, "not enough memory: Unable to allocate 5 TiB\n"),
        (KeyboardInterrupt(), 130, "disentree: stopped\n"),
        (ZeroDivisionError("division by zero"), 1, "unexpected ZeroDivisionError: division by zero; "),
        (ValueError("not one of our checks"), 1, "unexpected ValueError: not one of our checks"),
    ],
)  # fmt: skip
def test_every_failure_is_one_sentence_and_a_code(error, code, sentence):
    result = fail_with(error)
    assert result.exit_code == code
    assert sentence in result.stderr
    assert is_one_sentence(result.stderr)
    assert result.stdout == ""


def test_verbose_shows_where():
    result = fail_with(ZeroDivisionError("division by zero"), "--verbose")
    assert result.exit_code == 1
    assert "Traceback" in result.stderr
    assert result.stderr.endswith("disentree: unexpected ZeroDivisionError: division by zero\n")


def test_ctrl_c_leaves_no_half_file(tmp_path):
    script = """
import os, signal, time
from disentree.cli import app as cli
from disentree.datasets import saving

signal.signal(signal.SIGINT, signal.default_int_handler)  # a suite started in the background ignores it

def interrupted(path):  # the data is written, its name not yet given
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(10)

saving.sha256_of = interrupted
cli.main()
"""
    args = ["datasets", "chopsticks-depth2-both", "--n-samples", "10", "--out", tmp_path / "a.npz"]
    result = subprocess.run([sys.executable, "-c", script, *args], capture_output=True, text=True, check=False)
    assert result.returncode == 130
    assert result.stderr == "disentree: stopped\n"
    assert os.listdir(tmp_path) == []


def test_a_reader_that_leaves_early_is_no_fault():
    command = f"{sys.executable} -m disentree datasets chopsticks-depth6-either | head -1"
    result = subprocess.run(command, shell=True, capture_output=True, text=True, env=CLEAN, check=True)
    assert result.stdout.startswith("chopsticks-depth6-either: ")
    assert result.stderr == ""


# ------------------------------------------------------------------ disentree datasets


def test_datasets_lists_all_with_variables_and_paths():
    result = invoke("datasets")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["name", "variables", "paths", "description"]
    listed = [*list_datasets(), *list_datasets("generated"), *list_datasets("real")]
    for line, info in zip(lines[1:], listed, strict=True):
        assert line.startswith(info.name)
        assert line.endswith(info.description)
        if info.hierarchy is not None:
            assert line.split()[1:3] == [str(info.hierarchy.n_variables), str(len(info.hierarchy.paths))]


def test_datasets_shows_the_card_of_a_real_table():
    result = invoke("datasets", "penguins")
    assert result.exit_code == 0
    assert "license: CC0" in result.stdout
    assert "structure: Three species" in result.stdout


def test_datasets_describes_one():
    result = invoke("datasets", "spaceshapes")
    assert result.exit_code == 0
    assert "◇ shape\n├── moon\n│   └── ○ phase" in result.stdout
    assert "8 variables, 4 paths" in result.stdout
    assert "--binarize (off)" in result.stdout


def test_datasets_describes_any_depth():
    result = invoke("datasets", "chopsticks-depth5-inter", "--length", 100)
    assert "chopped up to 4 times" in result.stdout
    assert "--length 100" in result.stdout
    assert "never chopped" in invoke("datasets", "chopsticks-depth1-inter").stdout


def test_datasets_writes_data_and_sidecar(tmp_path):
    out = tmp_path / "deep" / "a.npz"
    result = disentree(
        "datasets", "chopsticks-depth2-either", "--out", out, "--n-samples", 200, "--seed", 7,
        "--noise", 0.1, "--min-offset", 0.2, "--mode", "overwrite", "--distribution", "gaussian",
        "--stop", "equal", "--length", 32,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert result.stdout == ""
    assert f"wrote 200 samples to {out}" in result.stderr
    about = json.loads(Path(f"{out}.json").read_text())
    assert about["options"] == {
        "noise": 0.1,
        "length": 32,
        "min_offset": 0.2,
        "mode": "overwrite",
        "distribution": "gaussian",
        "stop": "equal",
    }
    with np.load(out, allow_pickle=False) as data:
        assert data["X"].shape == (200, 32)
        assert json.loads(data["hierarchy"].item())["variables"][0]["name"] == "stick1"
    assert sorted(os.listdir(out.parent)) == ["a.npz", "a.npz.json"]


@pytest.mark.parametrize("name", ["chopsticks-depth3-both", "spaceshapes"])
def test_same_seed_same_bytes_whatever_the_number_of_cores(tmp_path, name):
    for threads in ("1", "2"):
        env = {**CLEAN, "NUMBA_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
        out = tmp_path / f"{threads}.npz"
        command = [
            sys.executable,
            "-m",
            "disentree",
            "-q",
            "datasets",
            name,
            "--out",
            out,
            "--n-samples",
            "500",
        ]
        assert subprocess.run(command, env=env, check=True, capture_output=True).stderr == b""
    assert (tmp_path / "1.npz").read_bytes() == (tmp_path / "2.npz").read_bytes()
    assert (tmp_path / "1.npz.json").read_bytes() == (tmp_path / "2.npz.json").read_bytes()


def test_datasets_draws(tmp_path):
    result = invoke("datasets", "spaceshapes", "--preview", tmp_path / "sheet.png", "--n-samples", 100)
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / "sheet.png").read_bytes().startswith(b"\x89PNG")
    assert os.listdir(tmp_path) == ["sheet.png"]


def test_datasets_overwrites_only_when_told(tmp_path):
    out = tmp_path / "a.npz"
    ask = ("datasets", "chopsticks-depth2-inter", "--n-samples", 10, "--out", out)
    assert invoke(*ask).exit_code == 0
    before = out.read_bytes()
    result = invoke(*ask, "--seed", 1)
    assert result.exit_code == 2
    assert result.stderr == f"disentree: {out} exists; --force overwrites it\n"
    assert out.read_bytes() == before
    assert invoke(*ask, "--seed", 1, "--force").exit_code == 0
    assert out.read_bytes() != before


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        ("spaceshaps", "there is no data set 'spaceshaps'; did you mean 'spaceshapes'?"),
        ("chopsticks-depth2-slop", "did you mean 'chopsticks-depth2-slope'?"),
        ("chopsticks-depth0-both", "depth must be 1 or more, got 0"),
        ("spaceshapes --out a.npz --n-samples 0", "n_samples must be a whole number of 1 or more, got 0"),
        ("spaceshapes --out a.npz --noise -1", "noise must be a number of 0 or more, got -1.0"),
        ("spaceshapes --out a.csv", "a.csv must end in .npz"),
        ("spaceshapes --preview a.bmp", "a.bmp must end in .png or .pdf or .svg"),
        (
            "spaceshapes --mode overwrite",
            "spaceshapes has no option 'mode'; it has binarize, noise, second, style",
        ),
        ("chopsticks-depth2-both --mode over", "mode must be one of offset, overwrite, "),
        ("chopsticks-depth2-both --stop never", "stop must be one of paper, equal; got 'never'"),
        ("chopsticks-depth2-both --distribution cauchy", "distribution must be one of uniform, gaussian"),
        ("spaceshapes --out /dev/null/a.npz", "/dev/null is not a folder that can be written to"),
        ("--out a.npz", "give the name of a data set to write or draw it"),
    ],
)
def test_mistakes_are_one_sentence_and_leave_no_file(args, sentence, tmp_path):
    result = disentree("datasets", *args.split(), cwd=tmp_path)
    assert result.returncode == 2
    assert sentence in result.stderr
    assert is_one_sentence(result.stderr)
    assert result.stdout == ""
    assert os.listdir(tmp_path) == []
