"""Learning rates over the steps of a training, by torch's own schedulers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR, LRScheduler, MultiStepLR, OneCycleLR

# The scheduler of an optimizer for a training of so many steps. It is stepped after every minibatch.
Schedule = Callable[[Optimizer, int], LRScheduler]

# OneCycleLR divides by zero if its rise ends with the first step (5 steps at a rise of a fifth).
_FEWEST_STEPS = 10


def one_cycle(
    optimizer: Optimizer,
    steps: int,
    *,
    rise: float = 0.2,
    last_over_first: float = 1 / 400,
    cycle_momentum: bool = False,
) -> LRScheduler:
    """From 1/25 of the optimizer's rate up to it along a cosine, in a fraction `rise` of the steps, and down again
    to a fraction of the first (Smith 2018). `cycle_momentum`: Adam's first beta falls from .95 to .85 while the
    rate rises, and rises again."""
    highest = [group["lr"] for group in optimizer.param_groups]
    return OneCycleLR(
        optimizer,
        highest,
        total_steps=max(steps, _FEWEST_STEPS, math.ceil(2 / rise)),
        pct_start=rise,
        final_div_factor=1 / last_over_first,
        cycle_momentum=cycle_momentum,
    )


def drops(optimizer: Optimizer, at: Sequence[int]) -> LRScheduler:
    """A tenth of the rate from each of the steps `at` on."""
    return MultiStepLR(optimizer, list(at), gamma=0.1)


def half_and_three_quarters(optimizer: Optimizer, steps: int) -> LRScheduler:
    """The paper's schedule: a tenth of the rate after half of the steps, and again after three quarters."""
    return drops(optimizer, [math.ceil(steps / 2), math.ceil(3 * steps / 4)])


def constant(optimizer: Optimizer, steps: int) -> LRScheduler:
    """The same rate throughout."""
    return LambdaLR(optimizer, lambda step: 1.0)


SCHEDULES: dict[str, Schedule] = {
    "one-cycle": one_cycle,
    "steps": half_and_three_quarters,
    "constant": constant,
}
