"""Whatever the documentation shows has to work: doctests, Python blocks and command lines."""

import doctest
import importlib
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import disentree

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SOURCE = Path(disentree.__file__).parent
MODULES = [
    ".".join(("disentree", *path.relative_to(SOURCE).with_suffix("").parts))
    for path in sorted(SOURCE.rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def command_lines(page):
    lines = "".join(blocks(page, "sh")).replace("\\\n", " ").splitlines()
    return [line for line in lines if line.startswith("disentree ")]


COMMANDS = [(page.name, line) for page in PAGES for line in command_lines(page)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run(page, tmp_path, monkeypatch):
    """All blocks of a page are one program, read from top to bottom."""
    monkeypatch.chdir(tmp_path)
    program = "\n".join(blocks(page, "python"))
    exec(compile(program, str(page), "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize(("page", "line"), COMMANDS, ids=[line for _, line in COMMANDS])
def test_command_lines_run(page, line, tmp_path):
    args = shlex.split(line, comments=True)[1:]
    command = [sys.executable, "-m", "disentree", *args]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)


@pytest.mark.parametrize("name", MODULES)
def test_doctests(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0
    assert result.attempted > 0


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?://)([^)#]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_the_readme_has_something_to_run():
    assert blocks(PAGES[0], "python")
    assert command_lines(PAGES[0])


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_extras_that_are_named_exist(page):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for named in re.findall(r"pip install [^`\n]*\[([\w,]+)\]'", page.read_text(encoding="utf-8")):
        assert set(named.split(",")) <= set(project["optional-dependencies"]), named


def test_the_readme_says_how_to_call_the_program():
    text = PAGES[0].read_text(encoding="utf-8")
    assert ". .venv/bin/activate" in text
    assert "'.[files,explorer]'" in text
