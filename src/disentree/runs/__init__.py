"""A run: a folder that holds everything one analysis made, from which it is resumed, reported and applied."""

from typing import TYPE_CHECKING

from disentree.utils.lazy import lazy_exports

if TYPE_CHECKING:
    from disentree.runs.config import RunConfig
    from disentree.runs.opening import OpenedRun, open_run
    from disentree.runs.run import Run
    from disentree.runs.stages import finish_run
    from disentree.runs.starting import start_run
    from disentree.runs.steps.apply import apply_run

__all__ = ["OpenedRun", "Run", "RunConfig", "apply_run", "finish_run", "open_run", "start_run"]

# `disentree --help` needs the names of the models and none of the libraries below.
__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "OpenedRun": "disentree.runs.opening",
        "Run": "disentree.runs.run",
        "RunConfig": "disentree.runs.config",
        "apply_run": "disentree.runs.steps.apply",
        "finish_run": "disentree.runs.stages",
        "open_run": "disentree.runs.opening",
        "start_run": "disentree.runs.starting",
    },
)
