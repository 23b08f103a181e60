"""The layout of the code: what CONTRIBUTING.md says about it, and limits on the size of folders and modules."""

import ast
import re
from pathlib import Path

import pytest

import disentree

SOURCE = Path(disentree.__file__).parent
MIMOSA = SOURCE / "mimosa"
ROOT = Path(__file__).parents[1]

MOST_MODULES_OF_MIMOSA = 6  # at its root, without __init__
MOST_MODULES = 15  # of a folder, without __init__
MOST_LINES = 400  # of a module
MOST_CONSTANTS = 148
NO_CHOICE = ("FORMAT",)  # numbers that nothing depends on


def modules(folder):
    return sorted(path for path in folder.glob("*.py") if path.name != "__init__.py")


def is_constant_name(name):
    return name.upper() == name and not name.startswith("__") and any(letter.isalpha() for letter in name)


def assignments(body):
    """Name and value of every assignment of a module or class; those of tuples name by name."""
    for node in body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if not isinstance(node, ast.Assign | ast.AnnAssign):
            continue
        for target in targets:
            several = isinstance(target, ast.Tuple)
            values = node.value.elts if several and isinstance(node.value, ast.Tuple) else None
            for i, name in enumerate(target.elts if several else [target]):
                if isinstance(name, ast.Name):
                    yield name.id, values[i] if values else node.value


def is_constants_class(node):
    return isinstance(node, ast.ClassDef) and node.name.endswith("Constants")


def named_constants(source):
    """Fields of dataclasses named ...Constants, and names in capitals of the module but those of calls: instances
    of such classes, type variables, patterns."""
    tree = ast.parse(source)
    fields = [name for node in tree.body if is_constants_class(node) for name, _ in assignments(node.body)]
    return fields, {
        name: value
        for name, value in assignments(tree.body)
        if is_constant_name(name) and not isinstance(value, ast.Call)
    }


def is_number(value, others=()):
    """Whether a constant is computed from numbers alone, or from constants that are."""
    nodes = [node for node in ast.walk(value) if isinstance(node, ast.Constant | ast.Name)]
    kinds = (ast.Constant, ast.UnaryOp, ast.BinOp, ast.Name, ast.Attribute, ast.unaryop, ast.operator, ast.Load)
    plain = all(isinstance(node, kinds) for node in ast.walk(value))
    numbers = [type(node.value) in (int, float) for node in nodes if isinstance(node, ast.Constant)]
    known = [node.id in ("np", "math", *others) for node in nodes if isinstance(node, ast.Name)]
    return plain and all(numbers) and all(known) and bool(numbers or known)


def test_the_root_of_mimosa_is_short():
    found = [path.name for path in modules(MIMOSA)]
    assert len(found) <= MOST_MODULES_OF_MIMOSA, found


def test_folders_have_few_modules():
    folders = [SOURCE, *(path for path in SOURCE.rglob("*/") if "__pycache__" not in path.parts)]
    too_many = {str(f.relative_to(SOURCE)): len(modules(f)) for f in folders if len(modules(f)) > MOST_MODULES}
    assert too_many == {}


def test_modules_are_short():
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCE.rglob("*.py")}
    assert {str(path.relative_to(SOURCE)): n for path, n in lengths.items() if n > MOST_LINES} == {}


def constants_of_mimosa():
    for path in sorted(MIMOSA.rglob("*.py")):
        yield str(path.relative_to(MIMOSA)), *named_constants(path.read_text(encoding="utf-8"))


def test_mimosa_has_few_constants():
    counts = {where: len(fields) + len(names) for where, fields, names in constants_of_mimosa()}
    assert sum(counts.values()) <= MOST_CONSTANTS, {where: n for where, n in counts.items() if n}


def test_numbers_of_mimosa_are_fields_of_dataclasses():
    outside = []
    for where, _, names in constants_of_mimosa():
        numbers = []
        for name, value in names.items():
            if value is not None and name not in NO_CHOICE and is_number(value, numbers):
                numbers.append(name)
        outside += [f"{where}: {name}" for name in numbers]
    assert outside == []


def test_constants_are_noticed():
    source = (
        "LIMIT, STEP = 3, np.pi / 2\nTWICE = 2 * LIMIT\nLEAST: float = -1e-6\nWORDS = ('a',)\nname = 2\n"
        "ATLAS = AtlasConstants()\n\n\nclass AtlasConstants:\n    width: int = 3\n    depth: float = 0.5\n"
    )
    fields, names = named_constants(source)
    assert fields == ["width", "depth"]
    assert set(names) == {"LIMIT", "STEP", "TWICE", "LEAST", "WORDS"}
    assert [name for name, value in names.items() if is_number(value, ["LIMIT"])] == [
        "LIMIT",
        "STEP",
        "TWICE",
        "LEAST",
    ]


@pytest.mark.skipif(not (ROOT / ".github").is_dir(), reason="a source distribution has not all of it")
def test_what_contributing_names_exists():
    """Paths in code spans that end in .py or /, below the package or the repository."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = {name for name in re.findall(r"`([\w/.-]+(?:\.py|/))`", text) if "/" in name}
    assert named
    missing = [name for name in sorted(named) if not (SOURCE / name).exists() and not (ROOT / name).exists()]
    assert missing == []
