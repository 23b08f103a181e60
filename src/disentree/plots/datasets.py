"""A data set in one figure: its hierarchy, and examples of the observations below every leaf."""

from __future__ import annotations

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from disentree.datasets.base import Dataset
from disentree.hierarchy.drawing import BOX_HEIGHT, GAP, LEVEL_HEIGHT, depth_of, draw_boxes, leaves, place

COLUMN_WIDTH = 1.9
SERIES_ASPECT = 0.7
CELL_GAP = 0.1
INCHES = 0.72  # per unit of the drawing
MAX_INCHES = 24.0


def draw_dataset(dataset: Dataset, *, ax: Axes | None = None, n_rows: int = 3) -> Axes:
    """Draw the hierarchy of a data set with examples of each path below its leaf.

    Parameters
    ----------
    dataset : Dataset
        Its observations may be series (`X` with two axes, drawn as lines) or images (three axes, or four with
        color).
    ax : matplotlib Axes, default=None
        Where to draw; None makes a figure that fits.
    n_rows : int, default=3
        Rows of examples below each leaf.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from disentree.datasets import load_dataset
    >>> ax = draw_dataset(load_dataset("chopsticks-depth2-slope", n_samples=200), n_rows=1)
    """
    if dataset.hierarchy is None:
        raise ValueError(f"{dataset.name} is real data, whose hierarchy is not known")
    if dataset.X.ndim not in (2, 3, 4):
        raise ValueError(f"only series and images can be drawn, got X of shape {dataset.X.shape}")
    n_paths = len(dataset.hierarchy.paths)
    across = 3 if n_paths <= 4 else 2 if n_paths <= 8 else 1
    width = COLUMN_WIDTH * max(1.0, 0.75 * across)
    root, extent = place(dataset.hierarchy.root, leaf_width=width)
    feet = [(leaf.x, leaf.y - BOX_HEIGHT / 2) for leaf in leaves(root)]
    top = -(depth_of(root) - 1) * LEVEL_HEIGHT - BOX_HEIGHT / 2
    if len(feet) != n_paths:  # groups with several categoricals: a path is a choice of several leaves
        extent = max(extent, n_paths * (width + GAP) - GAP)
        spread = (np.arange(n_paths) + 0.5) * extent / n_paths
        feet = [(float(x), top) for x in spread]
    cell_width = (width - (across - 1) * CELL_GAP) / across
    cell_height = cell_width * (SERIES_ASPECT if dataset.X.ndim == 2 else 1.0)
    bottom = top - 0.75 - n_rows * (cell_height + CELL_GAP)
    if ax is None:
        size = np.array([extent + 2 * GAP, BOX_HEIGHT - bottom + 0.5]) * INCHES
        ax = plt.subplots(figsize=tuple(size * min(1.0, MAX_INCHES / size.max())), layout="constrained")[1]
    draw_boxes(ax, root)
    on_path = [np.flatnonzero(dataset.paths == path.index) for path in dataset.hierarchy.paths]
    X = np.asarray(dataset.X)
    shown = X[np.concatenate([rows[: across * n_rows] for rows in on_path])]
    limits = float(shown.min()), float(shown.max())
    for path, rows, (x, foot) in zip(dataset.hierarchy.paths, on_path, feet, strict=True):
        color = plt.get_cmap("tab10")(path.index % 10)
        if foot > top:
            ax.plot([x, x], [foot, top - 0.1], color="0.7", lw=0.9, ls=":", zorder=0)
        caption = f"{path.dimension}-D, {len(rows) / len(dataset):.1%}"
        ax.text(x, top - 0.42, caption, ha="center", va="center", fontsize=9, color="0.25")
        for k, row in enumerate(rows[: across * n_rows]):
            left = x - width / 2 + (k % across) * (cell_width + CELL_GAP)
            base = top - 0.7 - (k // across) * (cell_height + CELL_GAP) - cell_height
            cell = ax.inset_axes((left, base, cell_width, cell_height), transform=ax.transData)
            _draw_example(cell, X[row], limits, color)
    ax.set_xlim(-GAP, extent + GAP)
    ax.set_ylim(bottom, BOX_HEIGHT)
    ax.set_aspect("equal")
    ax.axis("off")
    ax.set_title(f"{dataset.name}: {len(dataset):,} samples, seed {dataset.seed}", fontsize=11)
    return ax


def _draw_example(ax: Axes, x: np.ndarray, limits: tuple[float, float], color: object) -> None:
    if x.ndim == 1:
        low, high = limits
        margin = 0.06 * (high - low) or 1.0
        ax.axhline(0, color="0.85", lw=0.7)
        ax.plot(x, color=color, lw=1.4)
        ax.set(xlim=(-1, len(x)), ylim=(low - margin, high + margin))
    else:
        ax.imshow(x, cmap="gray", vmin=0, vmax=255 if x.dtype == np.uint8 else limits[1])
    ax.set(xticks=[], yticks=[])
    for spine in ax.spines.values():
        spine.set(color="0.8", linewidth=0.7)
