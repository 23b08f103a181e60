"""Steering the tree of a run: cut, merged, split and renamed, and undone again.

The run keeps the MIMOSA that the search found, in ``found/``, and what was done to it since, in ``steering.json``.
The stage that finds the tree takes these steps whenever it is done, so that all its files are about one tree. The
model learns codes anew, and all that comes after it is made again.
"""

from __future__ import annotations

from typing import Any

from disentree.errors import UserError
from disentree.runs.files.schemas import STABILITY, Step
from disentree.runs.models import load_mimosa
from disentree.runs.run import LOCK, Run
from disentree.runs.stages import check_stages, redo_structure
from disentree.runs.start import with_resamples
from disentree.runs.steps.options import StageOptions
from disentree.runs.steps.structure import FOUND_FOLDER, searched_rows, with_steps
from disentree.utils.files import locked


def steer_run(run: Run, step: Step | None) -> Run:
    """Take a step with the tree of a run, or the last one back.

    `finish_run` then learns codes for the new tree, and writes the report. A tree that cannot be had leaves the
    run as it is.

    Parameters
    ----------
    run : Run
        A run whose tree MIMOSA found.
    step : Step or None
        Cut, merge, split or rename; None takes the last step back.

    Returns
    -------
    Run
        The run, with the tree and the path of each row; stages after that are left to do.

    Raises
    ------
    UserError
        If the tree is not MIMOSA's, or the step cannot be taken.

    Examples
    --------
    >>> import tempfile
    >>> from disentree.runs import RunConfig, finish_run, start_run
    >>> run = start_run(RunConfig.of("iris"), tempfile.mkdtemp())
    >>> finish_run(run, until="structure")
    >>> run = steer_run(run, Step(merge=[0, 1]))
    >>> len(run.hierarchy.paths), len(steer_run(run, None).hierarchy.paths)
    (1, 2)
    """
    with locked(run.folder / LOCK):
        check_stages(run, "data", "structure")
        if run.config.structure != "mimosa":
            raise UserError(f"the tree of {run.folder} was not found by MIMOSA: only such a tree can be steered")
        if step is None and not run.steps:
            raise UserError(f"nothing was done to the tree of {run.folder} that could be undone")
        if step is None:
            return _retaken(run, run.steps[:-1])
        return _redone(run, [*run.steps, step], _steered(run, step))


def restore_run(run: Run, steps: list[Step]) -> Run:
    """The run with the tree after some earlier steps, also if it was stopped while it took another."""
    with locked(run.folder / LOCK):
        return _retaken(run, steps)


def _redone(run: Run, steps: list[Step], steered: Any) -> Run:
    """The run with a tree that was steered, about which all that comes after it is left to do."""
    if run.config.resamples:  # they were of the tree before, and take hours
        run = with_resamples(run, None)
    for name in ("report.html", "scores.tex", STABILITY):  # nobody shall read what they say about another tree
        (run.folder / name).unlink(missing_ok=True)
    run.log_event("steered", steps=[one.model_dump(exclude_none=True) for one in steps])
    redo_structure(run, steps, StageOptions(steered=steered))
    return run


def _retaken(run: Run, steps: list[Step]) -> Run:
    """The run with the steps that are to be taken with the tree that was found."""
    found = load_mimosa(run.folder / FOUND_FOLDER)
    try:
        steered = with_steps(found.cut(len(found.hierarchy_.paths), X=_fitted_rows(run)), steps)
    except ValueError as error:
        raise UserError(str(error)) from None
    return _redone(run, steps, steered)


def _fitted_rows(run: Run) -> Any:
    everything = run.data.everything
    return searched_rows(run, StageOptions())[0] if everything is None else everything


def _steered(run: Run, step: Step) -> Any:
    """The MIMOSA of a run after one more step."""
    now = run.mimosa
    try:
        if not run.steps:
            now.save(run.folder / FOUND_FOLDER)
        names = list(now.leaf_names_)
        after = with_steps(now.cut(len(now.hierarchy_.paths), X=_fitted_rows(run)), [step])
    except ValueError as error:
        raise UserError(str(error)) from None
    if list(after.leaf_names_) == names and after.hierarchy_.to_dict() == run.found_hierarchy.to_dict():
        raise UserError("the tree is that already")
    return after
