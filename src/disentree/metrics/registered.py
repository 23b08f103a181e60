"""Scores of one's own, under a name that `evaluate` and studies take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from disentree.utils.plugins import check_new_name, import_object, installed, is_spec, load_installed

GROUP = "disentree.metrics"  # of entry points
Score = Callable[..., Any]  # of (V, Z, v_hierarchy, z_hierarchy)
METRICS = (
    "r4c", "r4", "h_error", "placement_error", "purity", "coverage",
    "mig", "sap", "factor_vae", "dci", "infomec", "modularity", "explicitness", "mcc",
)  # fmt: skip
OWN: dict[str, Score] = {}


def register_metric(name: str, score: Any) -> None:
    """Give a score of your own a name, which `evaluate`, `disentree score` and studies then know.

    A package can do so by an entry point of the group ``disentree.metrics``; ``package.module:function`` is a name
    without further ado. Worker processes of studies are told.

    Parameters
    ----------
    name : str
        A word.
    score : callable
        ``score(V, Z, v_hierarchy, z_hierarchy)`` returns a number.

    Examples
    --------
    >>> from disentree import Hierarchy, metrics
    >>> metrics.register_metric("n_codes", lambda V, Z, v_hierarchy, z_hierarchy: Z.shape[1])
    >>> V = Hierarchy.flat(2).sample(50)
    >>> metrics.evaluate(V, V, metrics=["n_codes"])["scores"]
    {'n_codes': 2.0}
    """
    if not callable(score):
        raise TypeError(f"score must be a function of (V, Z, v_hierarchy, z_hierarchy), got {score!r}")
    is_again = OWN.get(name) is score
    check_new_name(
        "metric", name, taken=not is_again and (name in METRICS or name in installed(GROUP) or name in OWN)
    )
    OWN[name] = score


def find_score(name: str) -> Score | None:
    """A score that is not of this package; None if there is none of that name."""
    if name not in OWN and is_spec(name):
        OWN[name] = import_object(name)
    elif name not in OWN and name in installed(GROUP):
        OWN[name] = load_installed(GROUP, name)
    return OWN.get(name)


def check_metrics(names: list[str]) -> None:
    """A ValueError if there is no metric of one of these names."""
    for name in names:
        if name not in METRICS and find_score(name) is None:
            known = [*METRICS, *OWN, *installed(GROUP)]
            raise ValueError(f"metrics must be among {', '.join(dict.fromkeys(known))}; got {name!r}")
