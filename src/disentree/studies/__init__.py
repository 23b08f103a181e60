"""The tables and figures of the paper as studies: lists of runs that can be stopped, resumed and spread out."""

from __future__ import annotations

import difflib
from importlib import import_module
from typing import TYPE_CHECKING

from disentree.errors import UserError
from disentree.utils.lazy import lazy_exports

if TYPE_CHECKING:
    from disentree.datasets import register_dataset
    from disentree.metrics import register_metric
    from disentree.runs import register_model
    from disentree.studies.running.study import run_study
    from disentree.studies.running.task import Study

__all__ = ["STUDIES", "get_study", "register_dataset", "register_metric", "register_model", "run_study"]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "register_dataset": "disentree.datasets",
        "register_metric": "disentree.metrics",
        "register_model": "disentree.runs",
        "run_study": "disentree.studies.running.study",
    },
)

# By name, the folder of its module.
_ROOMS = {
    "table1": "mimosa",
    "benchmarks": "cofhae",
    "disentanglement": "cofhae",
    "ablations": "cofhae",
    "metrics": "cofhae",
    "baseline-hypers": "cofhae",
    "mimosa-sensitivity": "mimosa",
    "noise": "mimosa",
    "alternatives": "mimosa",
    "activations": "mimosa",
    "conditioning": "mimosa",
    "paper-grid": "cofhae",
    "paper-settings": "cofhae",
    "runtimes": "cofhae",
    "qualitative": "cofhae",
    "structure": "mimosa",
    "products": "mimosa",
    "placement": "mimosa",
    "images": "cofhae",
    "image-baselines": "cofhae",
    "mimosa-defaults": "mimosa",
    "battery": "mimosa",
    "classes": "mimosa",
    "tables": "mimosa",
    "dimensions": "mimosa",
    "compare": "cofhae",
}
STUDIES = tuple(_ROOMS)


def get_study(name: str) -> Study:
    """A study by its name.

    Parameters
    ----------
    name : str
        One of `STUDIES`.

    Returns
    -------
    Study

    Examples
    --------
    >>> get_study("table1").reproduces
    'Table 1'
    """
    if name not in STUDIES:
        near = difflib.get_close_matches(name, STUDIES, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(STUDIES)}"
        raise UserError(f"there is no study {name!r}; {hint}")
    return import_module(f"disentree.studies.{_ROOMS[name]}.{name.replace('-', '_')}").STUDY
