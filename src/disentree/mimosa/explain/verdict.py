"""The first sentence of a summary or report: what was found, and how sure it is. And how a tree was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from disentree.hierarchy import Hierarchy
from disentree.mimosa.explain.constants import EXPLAIN
from disentree.mimosa.explain.factors import factor_columns
from disentree.mimosa.explain.formatting import counted


def came_back(support: float) -> bool:
    """Whether resamples brought a part of the tree back more often than not; what they did not is flagged."""
    return bool(support >= 0.5)


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

    `support` is, for every branch, or for every independent choice if there are several, the share of resamples in
    which it came back; None if that was not measured.

    Examples
    --------
    >>> from disentree import Hierarchy
    >>> verdict(Hierarchy.flat(3))
    'No structure found: one cloud of about 3 dimensions.'
    >>> verdict(Hierarchy.flat(2, categories=[3]), [1.0, 0.9, 0.85])
    'Clusters, no nesting: 3 groups, well supported.'
    >>> verdict(Hierarchy.flat(2, categories=[2, 2]))
    '2 yes/no properties of a row, independent of each other.'
    """
    n = len(hierarchy.paths)
    if n == 1:
        return f"No structure found: one cloud of about {counted(hierarchy.paths[0].dimension, 'dimension')}."
    shares = [] if support is None else list(support)
    found, parts = sum(map(came_back, shares)), "branches"
    well = "well supported" if min(shares, default=0.0) >= EXPLAIN.well_supported else "supported"
    if what := properties_text(hierarchy):
        partly, wholly, parts = f"{what},", f"{what}, {well}", "properties"
    elif is_nested(hierarchy):
        what, partly, wholly = f"A tree of {n} leaves", "A tree is", f"A tree is {well}: {n} leaves"
    else:
        what = f"Clusters, no nesting: {n} groups"
        partly, wholly = "Clusters, no nesting,", f"{what}, {well}"
    if not shares:
        return f"{what}."
    if not found:
        return f"{what}, not supported: resamples of the rows do not bring them back."
    if found < len(shares):
        share = f"{found} of {len(shares)} {parts} came back in at least half of the resamples"
        return f"{partly} partly supported: {share}."
    return f"{wholly}."


def properties_text(hierarchy: Hierarchy) -> str:
    """How many independent choices the rows of a product make; empty for other trees."""
    factors = [hierarchy.variables[column].n_options for column in factor_columns(hierarchy)]
    kind = "yes/no properties" if set(factors) == {2} else "properties"
    return f"{len(factors)} {kind} of a row, independent of each other" if factors else ""


def what_it_saves(candidates: Sequence[Mapping[str, Any]], found_by: str, saved: float, doubt: float) -> str:
    """How a tree was found, what it saves, and the runner-up, in a line or two.

    Candidates are what was proposed, the chosen one first; `saved` are the bits per row that it saves over the
    best model without structure, and `doubt` is their standard error.
    """
    chosen, others = candidates[0], candidates[1:]
    found = f"no model with structure describes held-out rows better than {chosen['finder']}"
    if saved:
        bits = f"{saved:.2f} ± {doubt:.2f} bits per row"
        found = f"found by {found_by}; saves {bits} over the best model without structure"
    for other in others[:1]:
        leaves = counted(other["components"], "component")
        more = f"{other['bits'] - chosen['bits']:+.2f} bits per row"
        found += f"\nrunner-up: {proposed_by(other, chosen)}, {leaves}, {more}"
        if other.get("why_not"):
            found += f"; not chosen, since {other['why_not']}"
    return found


def proposed_by(row: Mapping[str, Any], chosen: Mapping[str, Any]) -> str:
    """What made a proposal of `MIMOSA.candidates_`, in words, with the branches by presence that are counted in
    where the chosen one has such."""
    branches = row.get("branches")
    if not chosen.get("branches"):
        return row["finder"]
    if not branches:
        return f"{row['finder']}, without branches"
    return f"{branches} branch{'es' * (branches != 1)} by what exists, and {row['finder']}"
