"""The steps of a fit: what each takes, and progress in words."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from disentree.utils import progress

log = logging.getLogger("disentree.mimosa")

WORDS = {
    "representation": "finding a representation",
    "what exists where": "looking for things that exist in some rows only",
    "models without structure": "describing the rows without a tree",
    "subspaces": "looking for exact flats",
    "noisy subspaces": "looking for flats in noise",
    "switches": "looking for separate choices",
    "atlas": "looking for curved leaves",
    "mixture": "looking for clusters",
    "classes": "looking for groups that differ in categories",
    "looking again": "looking again inside the leaves",
    "rare kinds": "looking for rare kinds among all rows",
    "hierarchy": "building the tree",
    "assignment": "placing all rows in the tree",
    "names": "naming the branches",
    "description": "measuring the tree",
    "neighbors": "looking up neighbors",
    "local SVD": "fitting local planes",
    "growing": "growing components",
    "merging": "merging components",
}


@dataclass(frozen=True)
class Steps:
    """Shows progress on stderr, if asked, and adds up the seconds of each step by its name."""

    verbose: bool = False
    timings: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def __call__(self, step: str) -> Iterator[None]:
        start = time.perf_counter()
        words = WORDS.get(step, f"looking for {step}")  # of the finders, by what they find
        with progress.step(words, self.verbose, spinner=step != "representation"):
            yield
        seconds = time.perf_counter() - start
        self.timings[step] = self.timings.get(step, 0.0) + seconds
        log.debug("%s: %.1f s", step, seconds)
