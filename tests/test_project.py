"""The files around the code say the same about versions, Pythons and extras, and name no machine."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.skipif(not (ROOT / ".github").is_dir(), reason="a source distribution has no workflows")


def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


def project():
    return tomllib.loads(text("pyproject.toml"))["project"]


def workflow(name):
    return yaml.safe_load(text(f".github/workflows/{name}.yml"))


def test_every_python_that_is_named_is_tested():
    named = [c.rpartition(" ")[2] for c in project()["classifiers"] if re.search(r"Python :: 3\.\d", c)]
    assert workflow("tests")["jobs"]["tests"]["strategy"]["matrix"]["python"] == named
    assert project()["requires-python"] == f">={named[0]}"


def test_the_citation_is_of_the_latest_version():
    citation = yaml.safe_load(text("CITATION.cff"))
    version, date = re.search(r"^## \[(\d[\d.]*)\] - (\S+)$", text("CHANGELOG.md"), re.MULTILINE).groups()
    assert (citation["version"], str(citation["date-released"])) == (version, date)
    assert citation["license"] == project()["license"]


def test_all_is_every_extra_that_a_command_needs():
    from disentree.utils.extras import EXTRAS

    extras = project()["optional-dependencies"]
    assert {extra for _, extra in EXTRAS.values()} <= {*extras}
    (everything,) = extras["all"]
    listed = re.fullmatch(r"disentree\[([\w,]+)\]", everything).group(1).split(",")
    assert {*listed} == {*extras} - {"all", "dev", "docs", "onnx", "tensorboard"}


def test_every_reference_of_the_paper_is_listed():
    cited = set(re.findall(r"@(\w+)", text("paper.md")))
    assert cited == set(re.findall(r"^@\w+\{(\w+),", text("paper.bib"), re.MULTILINE))


def test_what_the_workflows_call_exists():
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        commands = " ".join(re.findall(r"run: (.*)", path.read_text(encoding="utf-8")))
        for file in re.findall(r"\.ci/\S+|requirements/\S+|tests/\w+", commands):
            assert (ROOT / file).exists(), f"{path.name}: {file}"


def test_no_file_names_a_machine():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("which files belong to the project is known in a git checkout only")
    for name in listed.stdout.splitlines():
        if name.endswith((".yml", ".toml", ".cff", ".md", ".bib", "Makefile")):
            # a folder at the root of somebody's disk, or an index of packages of their own
            assert not re.search(r"(?<![\w.])/(home|root|work|Users)/\w|--index-url", text(name)), name
