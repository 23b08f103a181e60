"""How things that exist in some rows only depend on each other: nested, or mutually exclusive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool

from disentree.mimosa.constants import FIT
from disentree.mimosa.tree.constants import TREE


@dataclass(frozen=True)
class Switch:
    """A thing that exists in some rows only.

    It owns columns that have a value of their own only where it exists: numbers first, then categories, as in
    `Cells.empty`. Elsewhere each has its sign: a number, the position of a level, or NaN for an empty cell.
    """

    columns: list[int]
    signs: list[float]
    parent: int = -1  # the switch that it is nested in, -1 for none
    choice: int = -1  # the same for things of which a row has one at most; -1 for one that goes with all others
    share: float = 1.0  # of rows where it exists
    explained: float = 0.0  # the part of its own bits that other columns explain
    n_voters: int = 0  # of the columns, the first that say where it exists; 0 for all
    least: int = 0  # of those, with a value where it exists; 0 for most

    @property
    def saved(self) -> float:
        """Bits per row that it saves: what all its columns say is said once, and follows in part from others."""
        return entropy(self.share) * (len(self.columns) - 1 + self.explained)


def entropy(p: float) -> float:
    """Bits of one of two outcomes."""
    return float(-sum(q * np.log2(q) for q in (p, 1 - p) if q > 0))


def choose_switches(
    switches: Sequence[Switch], actives: Sequence[Bool[np.ndarray, " n"]], most_paths: int
) -> list[Switch]:
    """Switches with their parents and choices, as many as the paths allow: those that own several columns first,
    then those that save most."""
    order = sorted(range(len(switches)), key=lambda i: (len(switches[i].columns) == 1, -switches[i].saved))
    kept: list[int] = []
    for i in order:
        tried = _arranged([switches[k] for k in [*kept, i]], [actives[k] for k in [*kept, i]])
        if n_paths(tried) <= most_paths:
            kept.append(i)
    return _arranged([switches[k] for k in kept], [actives[k] for k in kept])


def _arranged(switches: Sequence[Switch], actives: Sequence[Bool[np.ndarray, " n"]]) -> list[Switch]:
    """In an order in which parents come first. The parent is the rarest thing that this one is a part of; things
    with the same parent that are never there together are options of one choice."""
    order = sorted(range(len(switches)), key=lambda i: -switches[i].share)
    out: list[Switch] = []
    choices: list[list[int]] = []
    for place, i in enumerate(order):
        own, parent = actives[i], -1
        for above in range(place):
            other = actives[order[above]]
            expected = own.mean() * (~other).mean() * len(own)
            if expected >= TREE.expected and (own & ~other).sum() <= TREE.inside * expected:
                parent = above  # the last is the rarest
        among = actives[order[parent]] if parent >= 0 else np.ones(len(own), bool)
        out.append(replace(switches[i], parent=parent, choice=-1))
        for choice in choices:
            there = [actives[order[k]][among] for k in choice if out[k].parent == parent]
            if len(there) == len(choice) and all(_is_instead(own[among], other) for other in there):
                choice.append(place)
                break
        else:
            choices.append([place])
    for number, choice in enumerate(choice for choice in choices if len(choice) > 1):
        for place in choice:
            out[place] = replace(out[place], choice=number)
    return out


def _is_instead(one: Bool[np.ndarray, " n"], other: Bool[np.ndarray, " n"]) -> bool:
    """Whether two things are hardly ever there together, though chance would have it: twice as often as for things
    inside each other, since there are many pairs. A row with both would lose one, so there must be few beside
    those of the rarer thing, too."""
    expected = one.mean() * other.mean() * len(one)
    most = min(TREE.inside * expected, FIT.exceptions * min(one.sum(), other.sum()))
    return bool(expected >= 2 * TREE.expected and (one & other).sum() <= most)


def rivals(switches: Sequence[Switch]) -> list[list[int]]:
    """The switches of each choice; those that go with all others are alone."""
    out: dict[tuple[int, int], list[int]] = {}
    for s, switch in enumerate(switches):
        out.setdefault((switch.choice, s if switch.choice < 0 else -1), []).append(s)
    return list(out.values())


def n_paths(switches: Sequence[Switch]) -> int:
    """Paths of a hierarchy with these switches, of which a row may have none."""
    below = [1] * len(switches)
    total = 1
    for group in sorted(rivals(switches), key=lambda group: -group[0]):  # what is below before what it is below
        options = 1 + sum(below[s] for s in group)
        parent = switches[group[0]].parent
        if parent >= 0:
            below[parent] *= options
        else:
            total *= options
    return total
