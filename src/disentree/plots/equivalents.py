"""Equivalent hierarchies, which R4c and the H-error do not tell apart, side by side."""

from __future__ import annotations

from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from disentree.hierarchy import Hierarchy
from disentree.hierarchy.drawing import draw_hierarchy


def draw_equivalents(hierarchy: Hierarchy, *, fontsize: float = 8) -> Figure:
    """Draw a hierarchy as it is, merged up and pushed down.

    All three have the same groups and dimensions of paths; variables are above a choice that they do not depend
    on, or repeated below it. R4c and the H-error are the same for all of them.

    Parameters
    ----------
    hierarchy : Hierarchy
        What to draw.
    fontsize : float, default=8
        Size of the names, in points.

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> figure = draw_equivalents(Hierarchy.flat(2))
    >>> [ax.get_title() for ax in figure.axes]
    ['as it is', 'merged up', 'pushed down']
    """
    versions = {"as it is": hierarchy, "merged up": hierarchy.merged_up(), "pushed down": hierarchy.pushed_down()}
    widths = [2.0 + 0.75 * version.n_variables for version in versions.values()]
    figure, axes = plt.subplots(
        1, len(versions), figsize=(sum(widths), 3.6), width_ratios=widths, layout="constrained", squeeze=False
    )
    for ax, (title, version) in zip(axes[0], versions.items(), strict=True):
        draw_hierarchy(version, ax=ax, fontsize=fontsize)
        ax.set_title(title)
    return figure
