"""What reaches a terminal: text in which nothing acts, in characters that it has."""

import io
import logging
import os
import subprocess
import sys

import numpy as np
import pytest

from disentree.cli.terminal import PlainFormatter, PlainStream, plain
from shell import invoke


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("weight\tin kg\n", "weight\tin kg\n"),
        ("\x1b]0;title\x07\x1b[2J", r"\x1b]0;title\x07\x1b[2J"),
        ("\x9b31m\r", r"\x9b31m\r"),
        ("txt.\u202egpj", r"txt.\u202egpj"),
        ("größe ²", "größe ²"),
        ("file-\udcff.csv", r"file-\udcff.csv"),
    ],
)
def test_control_characters_are_spelled_out(text, shown):
    assert plain(text) == shown
    plain(text).encode()


def test_characters_that_a_terminal_does_not_have():
    assert plain("R² 0.9 ± 0.1, é", "ascii") == "R2 0.9 +- 0.1, \\xe9".replace("\\xe9", "\\xe9")
    assert plain("├── a\n└── b", "ascii") == "|-- a\n`-- b"
    assert plain("R² é", "latin-1") == "R² é"


def test_streams_and_lines_of_the_log():
    raw = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    print("R²\x1b[2J", file=PlainStream(raw))
    raw.flush()
    assert raw.buffer.getvalue() == b"R2\\x1b[2J\n"
    assert PlainStream(raw).isatty() is False
    formatter = PlainFormatter("%(message)s")
    formatter.encoding = "ascii"
    record = logging.LogRecord("x", logging.INFO, "", 1, "a²\x1b[2J", None, None)
    assert formatter.format(record) == "a2\\x1b[2J"


def test_names_of_columns_in_a_command(tmp_path):
    rows = "\n".join(f"{x},{y}" for x, y in np.random.default_rng(0).normal(size=(60, 2)))
    (tmp_path / "t.csv").write_text(f"\x1b[2Jweight,b\n{rows}\n")
    result = invoke("check", tmp_path / "t.csv")
    assert result.exit_code == 0
    assert "\x1b" not in result.stdout + result.stderr
    assert r"\x1b[2Jweight" in result.stdout


@pytest.mark.parametrize("words", [["check"], ["run", "--out", "r", "--force", "--no-such"]])
def test_a_terminal_of_ascii(tmp_path, words):
    (tmp_path / "größe.csv").write_text("größe²,b\n" + "".join(f"{x},{x % 7}\n" for x in range(60)))
    env = {**os.environ, "LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii", "NO_COLOR": "1"}
    command = [sys.executable, "-m", "disentree", words[0], str(tmp_path / "größe.csv"), *words[1:]]
    done = subprocess.run(command, capture_output=True, env=env, check=False, cwd=tmp_path)
    assert done.returncode == (0 if words == ["check"] else 2), done.stderr
    assert b"Error" not in done.stderr.replace(b"Error ", b"")


@pytest.mark.parametrize(
    ("output", "code", "said"), [("/dev/full", 2, "disentree: No space left on device\n"), (None, 0, "")]
)
def test_output_that_nobody_can_read(output, code, said):
    command = f"{sys.executable} -m disentree datasets >" + (output or "&-")
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (code, said)
