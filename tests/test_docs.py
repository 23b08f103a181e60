"""Whatever the documentation shows has to work: doctests, Python blocks and command lines."""

import doctest
import hashlib
import importlib
import inspect
import re
import shlex
import subprocess
import sys
import tomllib
import warnings
from pathlib import Path

import pytest

import disentree

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), *sorted((DOCS / "guide").glob("*.md"))]
GALLERY = sorted((DOCS / "gallery").glob("*.py"))  # executed by docs/build_gallery.py
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
    used = {"import polars": "polars", "import anndata": "anndata", "export_onnx(": "onnx"}
    for library in (name for word, name in used.items() if word in page.read_text(encoding="utf-8")):
        pytest.importorskip(library, reason=f"{library} is not installed")
        warnings.simplefilter("default")  # those of other libraries are not ours to mend
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


@pytest.mark.parametrize("script", GALLERY, ids=lambda script: script.name)
def test_the_gallery_shows_what_its_scripts_do(script):
    page = script.with_suffix(".md").read_text(encoding="utf-8")
    digest = hashlib.sha256(script.read_text(encoding="utf-8").encode()).hexdigest()[:16]
    assert f"(sha256 {digest})" in page, f"{script.name} has changed: make gallery"
    pictures = re.findall(r"figures/[\w-]+\.png", page)
    assert pictures
    assert all((script.parent / name).is_file() for name in pictures)


def test_the_site_has_all_pages():
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in PAGES[1:]:
        assert f": {page.relative_to(DOCS).as_posix()}\n" in config, page


PROSE = [*PAGES, *(script.with_suffix(".md") for script in GALLERY), ROOT / "CONTRIBUTING.md"]


@pytest.mark.parametrize("page", PROSE, ids=lambda page: page.name)
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
    assert "'.[all]'" in text  # the core alone has no `disentree run`


# Packages whose public names have complete reference documentation, in numpydoc's form.
DOCUMENTED = (
    "hierarchy", "datasets", "mimosa", "baselines", "metrics", "plots", "runs", "explorer", "studies",
)  # fmt: skip


def public_functions():
    """Name and function of everything callable in the `__all__` of the documented packages."""
    for package in DOCUMENTED:
        module = importlib.import_module(f"disentree.{package}")
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isfunction(thing):
                yield f"{package}.{name}", thing
            elif inspect.isclass(thing):
                yield f"{package}.{name}", thing
                for method, function in inspect.getmembers(thing, inspect.isroutine):
                    if not method.startswith("_") and getattr(function, "__qualname__", "") == f"{name}.{method}":
                        yield f"{package}.{name}.{method}", function


@pytest.mark.parametrize(("name", "thing"), [pytest.param(*pair, id=pair[0]) for pair in public_functions()])
def test_the_reference_is_complete(name, thing):
    doc = inspect.getdoc(thing)
    assert doc, f"{name} has no docstring"
    if inspect.isclass(thing):
        return
    parameters = [p for p in inspect.signature(thing).parameters.values() if p.name not in ("self", "cls")]
    described = {}
    if parameters:
        assert "Parameters\n----------" in doc
        section = doc.split("Parameters\n----------\n")[1].split("\n\n")[0]
        for names, kind in re.findall(r"^(\**\w+(?:, \w+)*)(?: : (.+))?$", section, re.MULTILINE):
            described |= dict.fromkeys(names.split(", "), kind)
    for p in parameters:
        stars = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        assert stars + p.name in described, f"{name} does not describe {p.name}"
        if not stars:
            kind = described[p.name]
            assert kind, f"{name} does not give the type of {p.name}"
            if p.default is not p.empty and not (isinstance(p.default, tuple) and len(p.default) > 1):
                shown = (
                    '""'
                    if p.default == ""
                    else f'"{p.default}"'
                    if isinstance(p.default, str)
                    else repr(p.default)
                )
                assert f"default={shown}" in kind, f"{name}: the default of {p.name} is {shown}"
    returns = inspect.signature(thing).return_annotation
    if returns not in (None, "None", inspect.Signature.empty) and (parameters or "." not in name.split(".", 1)[1]):
        assert "Returns\n-------" in doc, f"{name} does not say what it returns"
