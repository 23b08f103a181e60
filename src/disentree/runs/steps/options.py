"""How the stages of a run are done, as opposed to what they compute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jaxtyping import Float
from numpy import ndarray

from disentree.runs.run import Run


@dataclass(frozen=True)
class StageOptions:
    """What the caller of `finish_run` hands to every stage; see there."""

    device: str = "auto"
    verbose: bool = False
    n_jobs: int | None = None
    structure_from: Run | None = None
    embedding: Float[ndarray, "n d"] | None = None
    on_mimosa: Callable[[Any], None] | None = None
    steered: Any = None  # the MIMOSA of the run, made coarser or finer
