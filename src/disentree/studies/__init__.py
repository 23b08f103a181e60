"""The tables and figures of the paper as studies: lists of runs that can be stopped, resumed and spread out."""

from __future__ import annotations

import difflib
from importlib import import_module
from typing import TYPE_CHECKING

from disentree.errors import UserError

if TYPE_CHECKING:
    from disentree.studies.task import Study

__all__ = ["STUDIES", "get_study"]

STUDIES = (
    "table1",
    "benchmarks",
    "disentanglement",
    "ablations",
    "metrics",
    "baseline-hypers",
    "mimosa-sensitivity",
    "noise",
    "alternatives",
    "activations",
    "conditioning",
    "paper-grid",
    "runtimes",
    "qualitative",
    "structure",
    "products",
    "images",
    "image-baselines",
    "mimosa-defaults",
)


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
    return import_module(f"disentree.studies.{name.replace('-', '_')}").STUDY
