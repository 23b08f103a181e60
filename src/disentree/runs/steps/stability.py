"""The stage that measures how much of the tree comes back in resamples of the rows."""

from __future__ import annotations

from disentree.runs.files.schemas import STABILITY
from disentree.runs.run import Run
from disentree.runs.steps.options import StageOptions
from disentree.runs.steps.structure import RESAMPLES, searched_rows


def measure_stability(run: Run, options: StageOptions) -> str:
    """Fit MIMOSA again to parts of the rows, and write how often each leaf came back."""
    wanted = run.config.resamples
    (run.folder / STABILITY).unlink(missing_ok=True)
    if not wanted or run.config.structure != "mimosa" or options.embedding is not None:
        return "not asked for"
    mimosa = run.mimosa
    rows = searched_rows(run, options)[0]
    mimosa.set_params(n_jobs=options.n_jobs, verbose=options.verbose)
    result = mimosa.stability(wanted, X=rows, checkpoint=run.folder / RESAMPLES)
    if result.n_resamples < wanted:  # those that are finished are kept
        raise KeyboardInterrupt
    run.write_json(STABILITY, result.to_dict())
    return f"the same tree in {result.tree:.0%} of {result.n_resamples} resamples"
