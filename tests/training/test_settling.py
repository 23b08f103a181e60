"""When a training of no given length ends."""

import pytest

from disentree.training.settling import DECAY, RISE, SHORTEST, Plan


def history(losses):
    return [{"epoch": i + 1, "held_out": loss} for i, loss in enumerate(losses)]


def test_a_loss_that_falls_is_trained_to_the_end():
    plan = Plan(steps=1000, per_epoch=10)
    plan.update(history([0.99**i for i in range(100)]))  # 18 % lower from window to window
    assert plan.end == 1000
    assert plan.falls_from == 800


def test_a_loss_that_stands_still_ends_it():
    """Two windows of 20 epochs of 10 steps are compared: at step 400 for the first time."""
    plan = Plan(steps=4000, per_epoch=10)
    plan.update(history([1.0] * 39))
    assert plan.end == 4000
    plan.update(history([1.0] * 40))
    assert plan.falls_from == 400
    assert plan.end == 400 + max(SHORTEST, DECAY * 400)


def test_nothing_has_settled_while_terms_are_still_to_come():
    plan = Plan(steps=2000, per_epoch=10, earliest=0.5)
    plan.update(history([1.0] * 139))
    assert plan.end == 2000
    plan.update(history([1.0] * 140))
    assert plan.falls_from == 1400


def test_the_end_follows_from_the_history_alone():
    losses = [2.0 * 0.97**i + 0.5 for i in range(300)]
    one = Plan(steps=4000, per_epoch=7)
    for n in range(1, 301):
        one.update(history(losses[:n]))
    other = Plan(steps=4000, per_epoch=7)
    other.update(history(losses))
    assert (one.falls_from, one.end) == (other.falls_from, other.end)
    assert one.end < 300 * 7


def test_the_rate_rises_stays_and_falls_to_0():
    plan = Plan(steps=2000, per_epoch=10)
    plan.update(history([1.0] * 60))
    assert plan.falls_from == 400
    assert plan.rate(0) == pytest.approx(0.04)
    assert plan.rate(RISE) == plan.rate(400) == 1
    assert plan.rate(450) == pytest.approx(0.5)
    assert plan.rate(plan.end) == 0
    assert Plan(steps=5, per_epoch=1).rate(5) == 0
