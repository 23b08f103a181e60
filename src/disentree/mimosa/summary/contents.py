"""What a summary holds: a tree of branches with their names, sizes and reasons, and how sure it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Branch:
    """Rows that belong together: all of them, or those of an option."""

    name: str
    rows: int = 0
    share: float = 0.0  # of all rows
    variables: tuple[str, ...] = ()  # continuous ones that these rows have beyond those of the branches above
    divisions: tuple[Division, ...] = ()
    path: int | None = None  # of a leaf
    code: str = ""  # its name in the files of a run
    reason: str = ""
    rule: str = ""
    support: float | None = None  # from 0 to 1, see `Contents.resamples`; None if it was not asked

    @property
    def found_again(self) -> bool:
        """Whether parts of the rows bring it back, as far as they were asked."""
        return self.support is None or came_back(self.support)

    @property
    def below(self) -> tuple[str, ...]:
        """Its variables, and those of the branches below it."""
        return self.variables + tuple(name for own in self.divisions for one in own.branches for name in one.below)


@dataclass(frozen=True)
class Division:
    """A choice: each row of the branch that it divides takes one option of it."""

    name: str
    branches: tuple[Branch, ...] = ()
    bits: float | None = None  # per row of the table, that Gaussians of its branches save over one for all of them
    support: float | None = None  # of its least certain branch, or of an independent choice
    note: str = ""  # where no column tells its branches apart

    @property
    def found_again(self) -> bool:
        """Whether parts of the rows bring it back, as far as they were asked."""
        return self.support is None or came_back(self.support)

    @property
    def weight(self) -> float:
        """How much it matters: the bits, as far as rows are not on its largest branch. That a few odd rows are set
        apart narrows the Gaussian of all others, but says little about them."""
        rows = [one.rows for one in self.branches]
        return (self.bits or 0.0) * (1 - max(rows, default=0) / max(sum(rows), 1))


@dataclass(frozen=True)
class Contents:
    """What was found, for whoever renders it."""

    root: Branch
    n_leaves: int  # with rows, where these are known
    dimension: int  # of the only leaf, if there is one
    source: str = "mimosa"  # or "true", "given": where the tree is from
    saved: float | None = None  # held-out bits per row, over the best model without structure
    doubt: float | None = None  # standard error of it
    runner_up: str = ""
    # Support is the share of so many resamples in which a part came back; if there are none, how far it overlaps
    # with what parts of the rows bring back in the search itself.
    resamples: int = 0
    notes: tuple[str, ...] = ()  # what the tree does not show
    told: tuple[str, ...] = ()  # what was done to the tree after the search, and what could not be
    nowhere: int = 0  # rows that fit no leaf

    def divisions(self) -> Iterator[tuple[Branch, Division]]:
        """All divisions with the branch that each divides, from the root downwards."""

        def visit(branch: Branch) -> Iterator[tuple[Branch, Division]]:
            for division in branch.divisions:
                yield branch, division
                for below in division.branches:
                    yield from visit(below)

        return visit(self.root)


def came_back(support: float) -> bool:
    """Whether parts of the rows brought something back more often, or further, than not; what they did not is
    flagged."""
    return bool(support >= 0.5)


def largest(divisions: Iterable[Division]) -> list[Division]:
    """Those that save most bits first; those of which nothing is known in the order of the tree."""
    return sorted(divisions, key=lambda one: -one.weight)
