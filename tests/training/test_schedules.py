"""Learning rates, step by step."""

import math

import pytest
import torch

from disentree.training.schedules import SCHEDULES, drops


def rates(name, steps, lr=0.5):
    optimizer = torch.optim.Adam([torch.zeros(1, requires_grad=True)], lr=lr)
    scheduler = SCHEDULES[name](optimizer, steps) if isinstance(name, str) else name(optimizer)
    out = []
    for _ in range(steps):
        out.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return out


@pytest.mark.parametrize("steps", [100, 10, 7])
def test_the_papers_schedule_drops_twice(steps):
    got = rates("steps", steps)
    for step, rate in enumerate(got):
        done = step / steps
        expected = 0.5 if done < 0.5 else 0.05 if done < 0.75 else 0.005
        assert rate == pytest.approx(expected), step


def test_drops_at_given_steps():
    got = rates(lambda optimizer: drops(optimizer, [3, 5]), 8)
    assert got == pytest.approx([0.5] * 3 + [0.05] * 2 + [0.005] * 3)


def test_one_cycle_rises_for_a_fifth_and_falls_along_a_cosine():
    got = rates("one-cycle", 1000)
    assert got[0] == pytest.approx(0.04 * 0.5)
    assert max(got) == pytest.approx(0.5)
    assert abs(got.index(max(got)) - 200) <= 1
    assert got[-1] == pytest.approx(1e-4 * 0.5)
    assert got[600] == pytest.approx(0.5 * 0.5, rel=0.01)  # half way down
    assert got[100] == pytest.approx(0.5 * (0.04 + 0.96 * 0.5), rel=0.02)  # half way up


@pytest.mark.parametrize("steps", range(1, 12))
@pytest.mark.parametrize("name", list(SCHEDULES))
def test_trainings_of_a_few_steps(name, steps):
    assert all(math.isfinite(rate) and 0 < rate <= 0.5 for rate in rates(name, steps))


def test_a_constant_rate():
    assert rates("constant", 20) == [0.5] * 20
