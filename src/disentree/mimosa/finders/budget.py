"""A bound on the work of a finder, so that no table takes very long: counted, not timed, so that the same rows get
the same answer on any machine."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Budget:
    """What a finder may still do. Finders spend it where their loops may be long, and end these when it is spent,
    with what they have; `left_out` says what they did not look at."""

    most: float  # charts, or what takes as long
    spent: float = 0.0
    left_out: list[str] = field(default_factory=list)

    def spend(self, charts: float, numbers: int = 0) -> None:
        """Count charts whose rows are looked for among so many numbers (rows times columns): sorting 20,000 takes
        as long as fitting a chart."""
        self.spent += charts * (1 + numbers / 20_000)

    def is_over(self, left_out: str) -> bool:
        """Whether nothing may be done any more, and then what it is that is not done."""
        over = self.spent >= self.most
        if over and left_out not in self.left_out:
            self.left_out.append(left_out)
        return over


def unbounded() -> Budget:
    return Budget(float("inf"))
