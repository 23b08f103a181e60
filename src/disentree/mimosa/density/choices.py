"""Choices beside and below each other, of which the leaves of a product are combinations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Choice:
    """A categorical of a product."""

    switches: list[int]  # the one that is on under each option; -1 for the option under which none is
    below: list[list[Choice]] = field(default_factory=list)  # what each option opens

    @property
    def n_paths(self) -> int:
        """Ways to choose."""
        return sum(int(np.prod([choice.n_paths for choice in inner])) for inner in self.below)


def all_choices(choices: Sequence[Choice]) -> list[Choice]:
    """Choices and those that they open."""
    return [choice for top in choices for choice in (top, *all_choices([c for inner in top.below for c in inner]))]


@dataclass(frozen=True)
class Product:
    """What a product is made of."""

    choices: list[Choice]
    base: int  # variables that all rows have
    sizes: list[int]  # variables that each switch adds

    @property
    def n_options(self) -> int:
        """Of all choices together."""
        return sum(len(choice.switches) for choice in all_choices(self.choices))
