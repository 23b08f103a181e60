"""What was found, and how sure it is, in a sentence that needs no other knowledge."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from disentree.hierarchy import Hierarchy

WELL = 0.8  # share of resamples in which every branch came back, for a tree to be well supported
HALF = 0.5  # what came back less often is flagged


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
        For every branch, the share of resamples in which it came back; None if that was not measured.

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
    """
    n = len(hierarchy.paths)
    if n == 1:
        dimension = hierarchy.paths[0].dimension
        return f"No structure found: one cloud of about {dimension} dimension{'s' * (dimension != 1)}."
    nested = is_nested(hierarchy)
    if support is None or not len(support):
        return f"A tree of {n} leaves." if nested else f"Clusters, no nesting: {n} groups."
    came_back = np.asarray(support) >= HALF
    if not came_back.any():
        what = "A tree" if nested else "Clusters"
        return f"{what} of {n} leaves, not supported: resamples of the rows do not bring them back."
    if came_back.all():
        well = min(support) >= WELL
        if nested:
            return f"A tree is {'well ' if well else ''}supported: {n} leaves."
        return f"Clusters, no nesting: {n} groups, {'well ' if well else ''}supported."
    part = f"{came_back.sum()} of {len(came_back)} branches came back in at least half of the resamples"
    return f"A tree is partly supported: {part}." if nested else f"Clusters, no nesting, partly supported: {part}."
