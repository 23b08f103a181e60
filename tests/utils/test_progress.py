import logging

import pytest

from disentree.utils import progress


@pytest.fixture
def lines(monkeypatch, caplog):
    """What is said where stderr is no terminal, with a clock that moves 10 s at each look."""
    now = iter(range(0, 100_000, 10))
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(now)))
    monkeypatch.setattr(progress.sys.stderr, "isatty", lambda: False)
    monkeypatch.setattr(progress.log, "handlers", [logging.NullHandler()])
    monkeypatch.setattr(progress.log, "propagate", True)
    caplog.set_level(logging.INFO, "disentree")
    return lambda: caplog.messages


def test_lines_say_what_out_of_how_much_and_the_time_left(lines):
    with progress.bar("epoch", 4, True) as update:
        update(0.5)
        update(1, "loss 1e-3")
        update(4)
    assert lines()[0].startswith("epoch 1 of 4, about ")
    assert lines()[0].endswith(" left")
    assert lines()[1].startswith("epoch 2 of 4, about ")
    assert lines()[1].endswith(" left, loss 1e-3")
    assert lines()[2] == "epoch 4 of 4, loss 1e-3"


def test_the_time_left_is_extrapolated(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    count = progress._Count("epoch", 10, 2, True)
    assert count.left(2) == ""
    clock[0] = 30.0
    assert count.left(5) == "about 50 s left"  # three took 30 s, five are left
    assert progress._Count("run", 10, 0, False).left(5) == ""


def test_steps_are_lines(lines):
    with progress.step("finding", True):
        assert lines() == []
    assert lines()[0].startswith("finding: ")


def test_nothing_is_said_unless_asked_for(lines, capsys):
    with progress.bar("epoch", 4, False) as update, progress.step("finding", False):
        update(1)
    assert lines() == []
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("seconds", "words"), [(5, "5 s"), (89, "89 s"), (300, "5 min"), (7200, "2.0 h"), (259200, "3.0 days")]
)
def test_durations(seconds, words):
    assert progress.duration(seconds) == words
