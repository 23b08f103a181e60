"""What the page needs to show coarser trees and to steer that of a run, and what the server does when it asks."""

from __future__ import annotations

import logging
import shlex
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Int
from pydantic import ValidationError

from disentree.errors import UserError
from disentree.explorer.guard import BadRequest
from disentree.explorer.rows import choices_of
from disentree.hierarchy import Hierarchy
from disentree.runs.files.schemas import Step
from disentree.runs.report.findings import Findings
from disentree.runs.run import Run
from disentree.runs.stages import finish_run
from disentree.runs.steering import restore_run, steer_run

log = logging.getLogger(__name__)

Done = Callable[[Run], None]


def steering_of(
    run: Run, hierarchy: Hierarchy, findings: Findings, labels: Int[np.ndarray, " n"]
) -> dict[str, Any]:
    """For the page: coarser trees, what was done to this one, what has a name, and the command that serves it."""
    counts = np.bincount(labels[labels >= 0], minlength=len(hierarchy.paths))
    levels = [
        [
            {
                "name": findings.path_name(own[0]) if len(level["leaves"]) == len(counts) else leaf["name"],
                "paths": own,
                "share": float(counts[own].sum() / max(1, len(labels))),
            }
            for leaf in level["leaves"]
            if (own := leaf["paths"])
        ]
        for level in run.structure["levels"]
    ]
    levels = [sorted(level, key=lambda leaf: -leaf["share"]) for level in levels]
    names: list[tuple[str, str]] = []  # as the run's files have them, and as they are shown
    for v in hierarchy.variables:
        shown = findings.variable_name(v.name)
        names += [(f"{v.name}={option}", findings.option_name(v.name, option)) for option in v.options]
        names.append((v.name, f"variable {shown}"))
    return {
        "levels": levels,
        "choices": [choices_of(hierarchy, path.index) for path in hierarchy.paths],
        "steps": [said_of(step) for step in run.steps],
        "names": names,
        "command": f"disentree explore {shlex.quote(str(run.folder))}",
    }


def said_of(step: Step) -> str:
    """A step in words."""
    if step.rename is not None:
        return f"named {', '.join(step.rename.values())}"
    if step.cut is not None:
        return f"cut to {step.cut} groups"
    return "merged" if step.merge is not None else "split"


class Steerer:
    """Steers the tree of a run for the server, in a thread of its own: one step at a time."""

    def __init__(self, run: Run, device: str = "auto") -> None:
        self.run, self.device = run, device
        self.problem: str | None = None
        self.is_busy = False  # with a step; a report that is written after it does not count
        self._thread: threading.Thread | None = None

    def begin(self, request: Any, done: Done) -> None:
        """Take the step that a request asks for, and call `done` with the run then; a `BadRequest` if that cannot
        be asked for."""
        step = self._asked(request)
        if self.is_busy:
            raise BadRequest("the tree is being changed: wait until that is done", 409)
        self.problem, self.is_busy = None, True
        self._thread = threading.Thread(target=self._take, args=(step, done, self._thread), daemon=True)
        self._thread.start()

    def _asked(self, request: Any) -> Step | None:
        if not isinstance(request, dict) or "step" not in request:
            raise BadRequest("a request must have a step: cut, merge, split or rename, or null to undo")
        if request.get("after") != len(self.run.steps):
            raise BadRequest("the tree was changed since this page was loaded: reload it", 409)
        if request["step"] is None:
            return None
        try:
            step = Step.model_validate(request["step"])
        except ValidationError as error:
            raise BadRequest(f"step: {error.errors()[0]['msg'][:200]}") from None
        hierarchy = self.run.hierarchy
        n_paths = len(hierarchy.paths)
        known = {v.name for v in hierarchy.variables}
        known |= {f"{v.name}={option}" for v in hierarchy.variables for option in v.options}
        paths = [*(step.merge or ()), *([] if step.split is None else [step.split])]
        if any(path >= n_paths for path in paths):
            raise BadRequest(f"there is no leaf {max(paths)}: the tree has {n_paths}")
        if unknown := [name for name in step.rename or () if name not in known]:
            raise BadRequest(f"there is no variable or option {unknown[0][:80]!r}")
        return step

    def _take(self, step: Step | None, done: Done, before: threading.Thread | None) -> None:
        if before is not None:
            before.join()
        earlier = self.run.steps
        try:
            try:
                self.run = steer_run(self.run, step)
                finish_run(self.run, until="reasons", device=self.device)
                done(self.run)
            except Exception:
                self.run = Run.open(self.run.folder)
                if self.run.steps != earlier:  # else the page and the run would be about two trees
                    self.run = restore_run(self.run, earlier)
                    finish_run(self.run, until="reasons", device=self.device)
                raise
        except Exception as error:
            self.problem = str(error)
            log.error("the tree could not be changed", exc_info=not isinstance(error, UserError | ValueError))
        finally:
            self.is_busy = False
        try:  # while the page is in use again
            finish_run(self.run, device=self.device)
        except Exception as error:
            log.warning("the report is not written again: %s", error)
