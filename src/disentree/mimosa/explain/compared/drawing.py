"""Rows by leaf, as a figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from disentree.geometry.neighbors import thinned
from disentree.mimosa.explain.formatting import category_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_rows(
    points: Float[np.ndarray, "n 2"],
    labels: Int[np.ndarray, " n"],
    names: Sequence[str],
    axes: tuple[str, str],
    ax: Any = None,
) -> Axes:
    """Rows in a plane, in the color of their leaf; those without a leaf are gray, and those with an empty cell are
    not drawn. Of many rows a part is drawn. Large leaves come first in the legend.

    Parameters
    ----------
    points : array of shape (n, 2)
    labels : array of shape (n,)
        The leaf of each row, -1 for none.
    names : list of str
        Of the leaves.
    axes : pair of str
        What the two axes are.
    ax : matplotlib Axes or None, default=None
        Where to draw; None for a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> ax = draw_rows(np.eye(2), np.array([0, 1]), ["left", "right"], ("x", "y"))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['left (50 %)', 'right (50 %)']
    """
    from matplotlib import colormaps
    from matplotlib import pyplot as plt

    if ax is None:
        ax = plt.figure(figsize=(6.4, 4.8), layout="constrained").add_subplot()
    sizes = np.bincount(labels[labels >= 0], minlength=len(names))
    colors = colormaps["tab10" if len(names) <= 10 else "tab20"]
    shown = thinned(np.flatnonzero(np.isfinite(points).all(axis=1)), 6000)
    order: list[int] = [-1, *np.argsort(-sizes, kind="stable").tolist()]
    for leaf in order:
        rows = shown[labels[shown] == leaf]
        if leaf >= 0 and not sizes[leaf]:
            continue
        label = f"{category_text(names[leaf])} ({100 * sizes[leaf] / len(labels):.0f} %)" if leaf >= 0 else None
        color = "#c8c8c8" if leaf < 0 else colors(leaf % colors.N)
        ax.scatter(*points[rows].T, s=9, color=color, alpha=0.7, linewidths=0, label=label)
    ax.set_xlabel(axes[0])
    ax.set_ylabel(axes[1])
    ax.legend(fontsize="small", loc="lower left", bbox_to_anchor=(0, 1), markerscale=2, frameon=False)
    return ax
