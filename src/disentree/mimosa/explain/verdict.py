"""What was found, and how sure it is, in a sentence that needs no other knowledge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool

from disentree.hierarchy import Hierarchy
from disentree.mimosa.explain.factors import factor_columns

WELL = 0.8  # share of resamples in which every branch came back, for a tree to be well supported
HALF = 0.5  # what came back less often is flagged
GONE = "resamples of the rows do not bring them back"


def is_nested(hierarchy: Hierarchy) -> bool:
    """Whether some rows have what others lack, on top of what both have: a categorical within an option of
    another, or one with an option that adds nothing beside one that adds something."""
    variables = hierarchy.variables
    if any(v.kind == "categorical" and v.parent is not None for v in variables):
        return True
    for categorical in (v for v in variables if v.kind == "categorical"):
        opened = {v.option for v in variables if v.parent == categorical.index}
        if 0 < len(opened) < categorical.n_options:
            return True
    return False


def verdict(hierarchy: Hierarchy, support: Sequence[float] | None = None) -> str:
    """The plain sentence at the head of a summary or report.

    Parameters
    ----------
    hierarchy : Hierarchy
        What was found.
    support : sequence of float or None, default=None
        For every branch, or for every independent choice if there are several, the share of resamples in which it
        came back; None if that was not measured.

    Returns
    -------
    str

    Examples
    --------
    >>> from disentree import Hierarchy
    >>> verdict(Hierarchy.flat(3))
    'No structure found: one cloud of about 3 dimensions.'
    >>> verdict(Hierarchy.flat(2, categories=[3]), [1.0, 0.9, 0.85])
    'Clusters, no nesting: 3 groups, well supported.'
    >>> verdict(Hierarchy.flat(2, categories=[2, 3]))
    '2 separate choices with 6 combinations.'
    """
    n = len(hierarchy.paths)
    if n == 1:
        dimension = hierarchy.paths[0].dimension
        return f"No structure found: one cloud of about {dimension} dimension{'s' * (dimension != 1)}."
    factors = len(factor_columns(hierarchy))
    if factors:
        what, plural, size = f"{factors} separate choices", True, f"{n} combinations"
    elif is_nested(hierarchy):
        what, plural, size = "A tree", False, f"{n} leaves"
    else:
        return _of_clusters(n, support)
    if support is None or not len(support):
        return f"{what} with {size}." if plural else f"{what} of {size}."
    came_back, be = np.asarray(support) >= HALF, "are" if plural else "is"
    if not came_back.any():
        return f"{what} {'with' if plural else 'of'} {size}, not supported: {GONE}."
    if came_back.all():
        return f"{what} {be} {_well(support)}supported: {size}."
    return f"{what} {be} partly supported: {_part(came_back, 'choices' if plural else 'branches')}."


def what_it_saves(candidates: Sequence[Mapping[str, Any]], found_by: str, saved: float, doubt: float) -> str:
    """How a tree was found, what it saves, and the runner-up.

    Parameters
    ----------
    candidates : sequence of dict
        What was proposed, the chosen one first.
    found_by : str
        The finder in words.
    saved, doubt : float
        Bits per row that it saves over the best model without structure, and the standard error.

    Returns
    -------
    str
        A line or two.
    """
    chosen, others = candidates[0], candidates[1:]
    found = f"no model with structure describes held-out rows better than {chosen['finder']}"
    if saved:
        bits = f"{saved:.2f} ± {doubt:.2f} bits per row"
        found = f"found by {found_by}; saves {bits} over the best model without structure"
    for other in others[:1]:
        leaves = f"{other['components']} component{'s' * (other['components'] != 1)}"
        more = f"{other['bits'] - chosen['bits']:+.2f} bits per row"
        found += f"\nrunner-up: {proposed_by(other, chosen)}, {leaves}, {more}"
        if other.get("why_not"):
            found += f"; not chosen, since {other['why_not']}"
    return found


def proposed_by(row: Mapping[str, Any], chosen: Mapping[str, Any]) -> str:
    """What made a proposal, in words.

    Parameters
    ----------
    row, chosen : dict
        Of `MIMOSA.candidates_`.

    Returns
    -------
    str
        With the branches by what exists that are counted in, where some proposals have such.
    """
    branches = row.get("branches")
    if not chosen.get("branches"):
        return row["finder"]
    if not branches:
        return f"{row['finder']}, without branches"
    return f"{branches} branch{'es' * (branches != 1)} by what exists, and {row['finder']}"


def _of_clusters(n: int, support: Sequence[float] | None) -> str:
    if support is None or not len(support):
        return f"Clusters, no nesting: {n} groups."
    came_back = np.asarray(support) >= HALF
    if not came_back.any():
        return f"Clusters of {n} leaves, not supported: {GONE}."
    if came_back.all():
        return f"Clusters, no nesting: {n} groups, {_well(support)}supported."
    return f"Clusters, no nesting, partly supported: {_part(came_back, 'branches')}."


def _well(support: Sequence[float]) -> str:
    return "well " if min(support) >= WELL else ""


def _part(came_back: Bool[np.ndarray, " parts"], parts: str) -> str:
    return f"{came_back.sum()} of {len(came_back)} {parts} came back in at least half of the resamples"
