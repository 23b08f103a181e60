"""A run: a folder that holds everything one analysis made, from which it is resumed, reported and applied."""

from typing import TYPE_CHECKING

from disentree.utils.lazy import lazy_exports

if TYPE_CHECKING:
    from disentree.runs.apply import apply_run, open_run
    from disentree.runs.config import RunConfig
    from disentree.runs.models import register_model
    from disentree.runs.run import Run
    from disentree.runs.stages import finish_run
    from disentree.runs.start import start_run

__all__ = ["Run", "RunConfig", "apply_run", "finish_run", "open_run", "register_model", "start_run"]

# `disentree --help` needs the names of the models and none of the libraries below.
__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "Run": "disentree.runs.run",
        "RunConfig": "disentree.runs.config",
        "apply_run": "disentree.runs.apply",
        "finish_run": "disentree.runs.stages",
        "open_run": "disentree.runs.apply",
        "register_model": "disentree.runs.models",
        "start_run": "disentree.runs.start",
    },
)
