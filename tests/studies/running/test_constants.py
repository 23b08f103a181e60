"""Finding and changing constants of MIMOSA (`constants.py`), and the study of them (`mimosa_defaults.py`)."""

import ast
from dataclasses import FrozenInstanceError
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import disentree.mimosa
from disentree.mimosa.finders.modes.constants import MODES, ModesConstants
from disentree.mimosa.finders.modes.growth import grow
from disentree.studies import get_study
from disentree.studies.mimosa.mimosa_defaults import report
from disentree.studies.running.constants import (
    RULES,
    changed_constants,
    instances,
    multiplied,
    numeric_constants,
    without,
)
from disentree.studies.running.results import Results


def test_names_are_those_of_rooms_and_fields():
    known = numeric_constants()
    assert known["finders.modes steps"] == MODES.steps
    assert "density knots" in known
    assert all(len(name.split(" ")) == 2 for name in known)


def test_every_class_of_constants_has_an_instance_that_is_found():
    root = Path(disentree.mimosa.__file__).parent
    written = set()
    for file in root.rglob("*.py"):
        classes = [node.name for node in ast.parse(file.read_text()).body if isinstance(node, ast.ClassDef)]
        written |= {name for name in classes if name.endswith("Constants")}
    assert written == {type(instance).__name__ for instance in instances().values()}


def test_whole_numbers_stay_whole():
    assert multiplied(5, 0.5) == 2
    assert multiplied(1, 0.5) == 1
    assert multiplied(0.5, 2.0) == 1.0
    assert multiplied((0, 3, 0.5), 2.0) == (0, 6, 1.0)


def test_a_changed_constant_reaches_its_use_and_comes_back():
    rng = np.random.default_rng(0)
    Y = np.concatenate([rng.normal(c, 0.1, (30, 2)) for c in range(2)])
    floor = np.full(2, 1e-6)

    def pieces():
        return len(grow(Y, floor, "pooled", 10)[0])

    assert pieces() == 2
    with changed_constants({"finders.modes fewest": 8.0}):
        assert pieces() == 1
    assert pieces() == 2


def test_constants_come_back_after_an_exception():
    changes = {"finders.modes fewest": 2.0, "finders.modes same": 0.5}
    before = MODES.fewest, MODES.same

    def fail():
        with changed_constants(changes):
            assert (MODES.fewest, MODES.same) == (2 * before[0], before[1] / 2)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert (MODES.fewest, MODES.same) == before
    with (
        pytest.raises(AttributeError, match="no_such"),
        changed_constants(changes | {"finders.modes no_such": 2.0}),
    ):
        pass
    assert ModesConstants() == MODES
    with pytest.raises(FrozenInstanceError):
        MODES.fewest = 3  # type: ignore[misc]


def test_the_study_varies_every_constant_and_few_of_them_quickly():
    study = get_study("mimosa-defaults")
    known = numeric_constants()
    varied = {task.columns["constant"] for task in study.plan(study.options("default"))}
    unvaried = {name for name, value in known.items() if all(multiplied(value, f) == value for f in (0.5, 2.0))}
    assert varied == {*known, "none", *RULES} - unvaried
    assert len(study.plan(study.options("quick"))) <= 3 * (41 + len(RULES))
    for task in study.plan(study.options("quick")):
        with changed_constants(task.constants):
            pass


def test_the_report_says_which_constants_change_what(tmp_path):
    study = get_study("mimosa-defaults")
    options = study.options("quick", 1, ["blobs"])
    tasks = study.plan(options)[:7]
    names = [task.columns["constant"] for task in tasks]
    usual = {"components": 2, "ari": 0.9, "bits": 1.0}
    found = [usual, usual, usual, usual, {**usual, "bits": 2.0}, {**usual, "components": 3}]
    rows = {i: {"values": values} for i, values in enumerate(found)}
    rules, matter, rest = report(Results(options, tmp_path, tasks, rows, failed={6: "an error"}))
    assert rules.rows == []
    assert [row[:3] for row in matter.rows] == sorted([[names[5], "0.5", "1"], [names[6], "2", "1"]])
    assert "2 to 3 leaves" in str(matter.rows)
    assert "blobs: fails" in str(matter.rows)
    assert names[1] in rest.text[1]
    assert names[3] in rest.text[0]
    assert not any(names[5] in text for text in rest.text)


@pytest.mark.parametrize("name", RULES)
def test_a_rule_is_left_out_and_comes_back(name):
    rule = RULES[name]
    module = import_module(f"disentree.mimosa.{rule.module}")
    before = getattr(module, rule.function)
    with without(name):
        assert getattr(module, rule.function) is rule.instead
    assert getattr(module, rule.function) is before


def test_the_report_says_what_changes_without_a_rule(tmp_path):
    study = get_study("mimosa-defaults")
    options = study.options("medium", 1)
    tasks = study.plan(options)
    assert {task.without for task in tasks} == {None, *RULES}
    assert all(not task.constants for task in tasks)
    usual, rule = [next(task for task in tasks if task.without == name) for name in (None, next(iter(RULES)))]
    rows = {i: {"values": {"components": 1 + i, "ari": 0.0}} for i in range(2)}
    rules = report(Results(options, tmp_path, [usual, rule], rows, failed={}))[0]
    assert [row[:2] for row in rules.rows] == [[next(iter(RULES)), "1"]]
    assert "1 to 2 leaves" in str(rules.rows)
