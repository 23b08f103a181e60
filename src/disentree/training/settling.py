"""When a training of no given length ends: some steps after the loss of held-out rows has settled."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR, LRScheduler

from disentree.training.loop import Record

RISE = 200  # steps in which the learning rate rises
WINDOW = 200  # steps whose held-out losses are averaged, and compared with those of as many steps before
GAIN = 0.02  # relative fall from window to window below which the loss has settled
DECAY, SHORTEST = 0.25, 100  # of the rate at the end, in steps: a part of those before it, at least so many


class Plan:
    """The length of a training of at most `steps` and its learning rate. It follows from the history alone, so
    that a training that is continued ends where it would have. Before a fraction `earliest` of the steps nothing
    has settled: terms of the loss are still to come."""

    def __init__(self, steps: int, per_epoch: int, earliest: float = 0.0):
        self.steps, self.per_epoch, self.earliest = steps, per_epoch, earliest
        self.end = steps  # the last step, as far as is known
        self.falls_from = math.ceil(steps / (1 + DECAY))

    def update(self, history: Sequence[Record]) -> None:
        """Look at the history up to now; each record has the loss of the held-out rows as "held_out"."""
        window = max(5, math.ceil(WINDOW / self.per_epoch))
        first = math.ceil(self.earliest * self.steps / self.per_epoch)
        for epoch in range(first + 2 * window, len(history) + 1):
            at = epoch * self.per_epoch
            if at >= self.falls_from:
                return
            losses = [record["held_out"] for record in history[epoch - 2 * window : epoch]]
            before, after = sum(losses[:window]), sum(losses[window:])
            if not after < (1 - GAIN) * before:
                self.falls_from = at
                self.end = min(self.steps, at + max(SHORTEST, math.ceil(DECAY * at)))
                return

    def rate(self, step: int) -> float:
        """The learning rate at a step, as a fraction of the highest."""
        if step < min(RISE, self.falls_from):
            return 0.04 + 0.96 * 0.5 * (1 - math.cos(math.pi * step / min(RISE, self.falls_from)))
        fallen = (step - self.falls_from) / max(1, self.end - self.falls_from)
        return 0.5 * (1 + math.cos(math.pi * min(1.0, max(0.0, fallen))))

    def schedule(self, optimizer: Optimizer, steps: int) -> LRScheduler:
        """As a schedule of `disentree.training.schedules`."""
        return LambdaLR(optimizer, self.rate)
