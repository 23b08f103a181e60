"""The stage that measures how much of the tree comes back in resamples of the rows."""

from __future__ import annotations

from disentree.runs.config import RunConfig
from disentree.runs.files.schemas import STABILITY
from disentree.runs.run import Run
from disentree.runs.steps.options import StageOptions
from disentree.runs.steps.structure import RESAMPLES, model_starts_from, searched_rows

USUAL = 10  # resamples, if the user does not say how many


def usual_resamples(config: RunConfig) -> int:
    """Resamples of a run if the user does not say how many: none if MIMOSA was not asked, or is to be quick."""
    return USUAL if config.structure == "mimosa" and config.preset != "quick" else 0


def measure_stability(run: Run, options: StageOptions) -> str:
    """Fit MIMOSA again to parts of the rows, and write how often each leaf came back."""
    config = run.config
    (run.folder / STABILITY).unlink(missing_ok=True)
    wanted = usual_resamples(config) if config.resamples is None else config.resamples
    if not wanted or config.structure != "mimosa" or options.embedding is not None:
        return "not asked for"
    mimosa = run.mimosa
    is_image = len(run.about_data["shape"]) > 1
    if config.resamples is None and model_starts_from(mimosa, is_image) is not None:
        return "not asked for"  # each resample of many images takes minutes
    rows = searched_rows(run, options)[0]
    mimosa.set_params(n_jobs=options.n_jobs, verbose=options.verbose)
    result = mimosa.stability(wanted, X=rows, checkpoint=run.folder / RESAMPLES)
    if result.n_resamples < wanted:  # those that are finished are kept
        raise KeyboardInterrupt
    run.write_json(STABILITY, result.to_dict())
    return f"the same tree in {result.tree:.0%} of {result.n_resamples} resamples"
