"""The stage that measures how much of the tree comes back in resamples of the rows."""

from __future__ import annotations

import numpy as np

from disentree.mimosa.stability.comparing import Found
from disentree.runs.config import RunConfig
from disentree.runs.options import StageOptions
from disentree.runs.run import Run
from disentree.runs.steps.structure import REPRESENTATION, RESAMPLES, TABLE, make_mimosa

STABILITY = "stability.json"
USUAL = 10  # resamples, if the user does not say how many


def usual_resamples(config: RunConfig) -> int:
    """Resamples of a run if the user does not say how many: none if MIMOSA was not asked, or is to be quick."""
    return USUAL if config.structure == "mimosa" and config.preset != "quick" else 0


def measure_stability(run: Run, options: StageOptions) -> str:
    """Fit MIMOSA again to parts of the training rows, and write how often each leaf came back."""
    config = run.config
    (run.folder / STABILITY).unlink(missing_ok=True)
    wanted = usual_resamples(config) if config.resamples is None else config.resamples
    if config.resamples is None and (run.folder / REPRESENTATION).is_file():
        wanted = 0  # each resample of many images takes minutes
    if not wanted or config.structure != "mimosa" or options.embedding is not None:
        return "not asked for"
    rows = run.read_npz("labels.npz")
    train, about = rows["train"], run.structure
    X = run.data.searched[train]
    codec = None
    if (run.folder / TABLE).is_file():
        X, codec = run.data.frame.iloc[train], run.data.codec
    parents = [component["parent"] for component in about["components"]]
    result = stability_of(
        make_mimosa(config, options),
        X,
        Found(run.hierarchy, np.asarray(rows["labels"]), parents),
        n_resamples=wanted,
        n_jobs=options.n_jobs,
        checkpoint=run.folder / RESAMPLES,
        codec=codec,
        verbose=options.verbose,
        seconds=sum(about["timings"].values()),
    )
    if result.n_resamples < wanted:  # those that are finished are kept
        raise KeyboardInterrupt
    run.write_json(STABILITY, result.to_dict())
    return f"the same tree in {result.tree:.0%} of {result.n_resamples} resamples"
