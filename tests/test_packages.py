"""Rules for the packages as a whole that `make lint` has no contract for."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import disentree

ROOT = Path(disentree.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))


def _package(dotted: str) -> str:
    return ".".join(dotted.split(".")[:2])


def private_imports(source: str, package: str) -> list[str]:
    """Names with a leading underscore that `source`, a module of `package`, takes from other packages."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("disentree."):
            continue
        if _package(node.module) in (package, "disentree._version"):
            continue
        names = [*node.module.split("."), *(alias.name for alias in node.names)]
        found += [f"{node.module}: {name}" for name in names if name.startswith("_") and name != "__version__"]
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_private_name_crosses_packages(path):
    package = _package(".".join(["disentree", *path.relative_to(ROOT).with_suffix("").parts]))
    assert private_imports(path.read_text(), package) == []


def test_private_imports_are_noticed():
    source = "def f():\n    from disentree.cofhae.inputs import _x, y\nfrom disentree.plots._cells import z\n"
    assert private_imports(source, "disentree.explorer") == [
        "disentree.plots._cells: _cells",
        "disentree.cofhae.inputs: _x",
    ]
    assert private_imports(source, "disentree.plots") == ["disentree.cofhae.inputs: _x"]


def test_only_four_modules_stand_outside_packages():
    assert {path.stem for path in ROOT.glob("*.py")} == {"__init__", "__main__", "_version", "errors"}


@pytest.mark.parametrize(
    ("module", "absent"),
    [("disentree", "numpy"), ("disentree.hierarchy", "matplotlib"), ("disentree.metrics", "torch")],
)
def test_importing_a_package_leaves_slow_libraries_alone(module, absent):
    code = f"import sys, {module}; sys.exit({absent!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


TESTS = Path(__file__).parent
MIRRORED = sorted(path for path in TESTS.glob("*/**/test_*.py") if "tools" not in path.parts)


@pytest.mark.parametrize("path", MIRRORED, ids=lambda path: str(path.relative_to(TESTS)))
def test_tests_mirror_the_packages(path):
    """tests/FOLDER/test_MODULE.py; a file that covers other modules names them, `so.py`, in its docstring."""
    package = ROOT / path.parent.relative_to(TESTS)
    assert package.is_dir()
    names = {module.name for module in package.rglob("*.py")} | {f"{sub.name}/" for sub in package.rglob("*/")}
    if f"{path.stem.removeprefix('test_')}.py" not in names:
        covered = re.findall(r"`([\w/]+(?:\.py)?)`", ast.get_docstring(ast.parse(path.read_text())) or "")
        assert covered
        assert set(covered) <= names
