"""Observations next to their reconstructions, path by path."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int, Num
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from disentree.plots.cells import CellStyle, color_of, draw_cell, largest, name_bars, plain

GAP = 0.12
TITLE = 0.4  # inches
LARGER = 1.25  # than the cells of a traversal


def draw_reconstructions(
    X: Num[np.ndarray, "n ..."],
    X_reconstructed: Num[np.ndarray, "n ..."],
    paths: Int[np.ndarray, " n"] | None = None,
    *,
    path_names: Sequence[str] = (),
    feature_names: Sequence[str] = (),
    n_examples: int = 8,
    ax: Axes | None = None,
) -> Axes:
    """Draw the first examples of each path and their reconstructions.

    Images stand one above the other; series and tables are drawn on top of each other, the original gray and
    the reconstruction in color.

    Parameters
    ----------
    X : ndarray of shape (n_rows, ...)
        Observations.
    X_reconstructed : ndarray of the same shape
        What the model makes of them, ``model.inverse_transform(model.transform(X))``.
    paths : ndarray of int, shape (n_rows,), default=None
        The path of every row; None draws one group.
    path_names : sequence of str, default=()
        Titles of the groups, by path.
    feature_names : sequence of str, default=()
        Names of the columns of a table, which is then drawn as bars: of many columns those that vary most.
    n_examples : int, default=8
        Examples of each path.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a figure that fits.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> X = np.sin(np.linspace(0, 6, 30) + np.arange(5)[:, None])
    >>> ax = draw_reconstructions(X, X + 0.1)
    """
    if X.shape != (shape := X_reconstructed.shape):
        raise ValueError(f"X and X_reconstructed must have the same shape, got {X.shape} and {shape}")
    if not len(X):
        raise ValueError("X must have at least one row")
    if n_examples < 1:
        raise ValueError(f"n_examples must be 1 or more, got {n_examples}")
    labels = np.zeros(len(X), dtype=np.int64) if paths is None else paths
    shown = [(int(p), np.flatnonzero(labels == p)[:n_examples]) for p in np.unique(labels)]
    rows = np.concatenate([r for _, r in shown])
    if X.dtype == np.uint8:  # decoders give floats
        X_reconstructed = np.clip(np.rint(X_reconstructed), 0, 255).astype(np.uint8)
    if X.ndim == 2 and len(feature_names) == X.shape[1]:
        most = largest(X[rows].std(axis=0))
        X, X_reconstructed = X[:, most], X_reconstructed[:, most]
        feature_names = [feature_names[int(j)] for j in most]
    style = CellStyle.of(np.concatenate([X[rows], X_reconstructed[rows]]), feature_names)
    high = 2.0 + GAP / 2 if style.kind == "image" else 1.0
    titled = len(shown) > 1 or bool(path_names)
    title = TITLE / (style.height * LARGER) if titled else 0.0
    per_path = high + GAP + title
    left = 1.6 if style.kind == "bars" else 0.05
    across = max(len(r) for _, r in shown) * (1 + GAP)
    if ax is None:
        size = ((across + left) * style.width * LARGER, len(shown) * per_path * style.height * LARGER)
        ax = plt.figure(figsize=size).add_axes((0, 0, 1, 1))
    y = 0.0
    for p, examples in shown:
        color = color_of(max(p, 0))
        if titled:
            name = path_names[p] if 0 <= p < len(path_names) else "not assigned" if p < 0 else f"path {p}"
            text = plain(name.replace("/", ", "), 80)
            ax.text(0, y - 0.6 * title, text, fontsize=9, weight="bold", color=color, va="center")
            y -= title
        for k, row in enumerate(examples):
            x = k * (1 + GAP)
            if style.kind == "image":
                draw_cell(ax, X[row], style, x, y - 1)
                draw_cell(ax, X_reconstructed[row], style, x, y - 2 - GAP / 2)
            else:
                draw_cell(ax, X[row], style, x, y - 1, "0.78", linewidths=3.2)
                _over(ax, X_reconstructed[row], style, x, y - 1, color)
        if style.kind == "bars":
            name_bars(ax, style, 0.0, y - 1)
        y -= high + GAP
    ax.set(xlim=(-left, across), ylim=(y, 0))
    ax.set_aspect("auto")
    ax.axis("off")
    return ax


def _over(ax: Axes, x: Num[np.ndarray, " d"], style: CellStyle, left: float, bottom: float, color: str) -> None:
    """The reconstruction on top of the original: a thin line, or a mark at the end of each bar."""
    if style.kind == "line":
        draw_cell(ax, x, style, left, bottom, color, frame=False, linewidths=1.2)
        return
    lengths, centers, step = style.bars(x)
    y = bottom + centers
    ax.vlines(left + 0.5 + lengths, y - 0.42 * step, y + 0.42 * step, color=color, lw=2.0)
