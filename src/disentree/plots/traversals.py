"""Hierarchical latent traversals: what each active variable does, path by path (the paper's Figure 9)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float, Int, Shaped
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from disentree.hierarchy import Hierarchy
from disentree.plots.cells import CellStyle, color_of, draw_cell, largest, name_bars, plain

GAP = 0.12  # between cells, in cells
TITLE = 0.46  # inches
ROWS_PER_COLUMN = 14  # more rows than this are laid out side by side


def traversal_codes(
    codes: ArrayLike, hierarchy: Hierarchy, path: int, n_steps: int = 7
) -> Float[np.ndarray, "variables steps v"]:
    """Codes that sweep each continuous variable of a path from its 1st to its 99th percentile.

    The other variables are half way between theirs, so the middle step is the same for all variables.

    Parameters
    ----------
    codes : array-like of shape (n_rows, n_variables)
        Codes; the percentiles are those of the rows on the path.
    hierarchy : Hierarchy
        The hierarchy of the codes.
    path : int
        Index into `hierarchy.paths`.
    n_steps : int, default=7
        Equal steps of a sweep; odd, so that there is a middle.

    Returns
    -------
    ndarray of float, shape (n_continuous, n_steps, n_variables)
        One sweep for each continuous variable. A path without any is one point: one row of steps that are all
        the same.

    Examples
    --------
    >>> from disentree import Hierarchy
    >>> h = Hierarchy.flat(2)
    >>> traversal_codes(h.sample(100), h, 0, n_steps=3).shape
    (2, 3, 2)
    """
    codes = hierarchy.validate(codes)
    if n_steps < 3 or n_steps % 2 == 0:
        raise ValueError(f"n_steps must be an odd number of 3 or more, got {n_steps}")
    leaf = hierarchy.paths[path]
    here = codes[hierarchy.path_of(codes) == path]
    if not len(here):
        raise ValueError(f"no row of codes is on path {path} ({leaf.name})")
    columns = np.array(leaf.continuous, dtype=np.intp)
    middle = np.full(hierarchy.n_variables, np.nan)
    for column, option in leaf.choices:
        middle[column] = option
    if not len(columns):
        return np.broadcast_to(middle, (1, n_steps, len(middle))).copy()
    low, high = np.percentile(here[:, columns], [1, 99], axis=0)
    middle[columns] = (low + high) / 2
    out = np.tile(middle, (len(columns), n_steps, 1))
    for i, column in enumerate(columns):
        out[i, :, column] = np.linspace(low[i], high[i], n_steps)
        out[i, n_steps // 2, column] = middle[column]  # to the last bit
    return out


def draw_traversals(
    codes: ArrayLike,
    hierarchy: Hierarchy,
    decode: Callable[[np.ndarray], np.ndarray],
    *,
    paths: Sequence[int] | None = None,
    n_steps: int = 7,
    feature_names: Sequence[str] = (),
    shares: Sequence[float] | None = None,
    most: int | None = None,
    figure: Figure | None = None,
) -> Figure:
    """Sweep every active variable of every path from its 1st to its 99th percentile.

    The center column of a path is the same in all of its rows.

    Parameters
    ----------
    codes : array-like of shape (n_rows, n_variables)
        Learned codes of some rows (a held-out set), from which the percentiles are taken.
    hierarchy : Hierarchy
        The hierarchy of the codes.
    decode : callable
        From codes to observations: ``model.inverse_transform``, or ``dataset.generate`` for true factors.
    paths : sequence of int, default=None
        Which paths to show; None shows all that have rows.
    n_steps : int, default=7
        Columns; odd, so that there is a center.
    feature_names : sequence of str, default=()
        Names of the columns of a table, which is then drawn as bars: of many columns those that move most.
    shares : sequence of float, default=None
        The share of rows on each path that titles give; None takes those of `codes`.
    most : int, default=None
        Variables of a path to show: of more, those that change what is decoded most. None shows all.
    figure : matplotlib Figure, default=None
        Where to draw; None makes a figure that fits.

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> from disentree.datasets import load_dataset
    >>> ds = load_dataset("spaceshapes", n_samples=500)
    >>> figure = draw_traversals(ds.codes, ds.hierarchy, ds.generate)
    """
    codes = hierarchy.validate(codes)
    path = hierarchy.path_of(codes)
    sizes = np.bincount(path[path >= 0], minlength=len(hierarchy.paths))
    shown = [int(p) for p in (np.flatnonzero(sizes) if paths is None else paths)]
    if not shown:
        raise ValueError("codes must have at least one row that is on a path")
    sweeps = [traversal_codes(codes, hierarchy, p, n_steps) for p in shown]
    flat = np.concatenate([s.reshape(-1, hierarchy.n_variables) for s in sweeps])
    decoded = np.asarray(decode(flat))
    ends = np.cumsum([len(s) * n_steps for s in sweeps])[:-1]
    if decoded.ndim == 2 and len(feature_names) == decoded.shape[1]:
        moving = largest(np.max([np.ptp(part, axis=0) for part in np.split(decoded, ends)], axis=0))
        decoded, feature_names = decoded[:, moving], [feature_names[int(j)] for j in moving]
    style = CellStyle.of(decoded, feature_names)
    cells = [part.reshape(-1, n_steps, *decoded.shape[1:]) for part in np.split(decoded, ends)]
    kept = [_that_change_most(part, most) for part in cells]

    layout = _columns([len(k) for k in kept])
    title = TITLE / style.height
    tall = max(sum(len(kept[b]) * (1 + GAP) + title for b in column) for column in layout)
    label = 2.1 if style.kind == "bars" else 0.9  # cells' widths to the left of the first one
    wide = label + n_steps * (1 + GAP)
    if figure is None:
        figure = plt.figure(figsize=(len(layout) * (wide + 0.3) * style.width, tall * style.height))
    for k, column in enumerate(layout):
        ax = figure.add_axes((k / len(layout), 0, wide / (wide + 0.3) / len(layout), 1))
        y = 0.0
        for b in column:
            leaf = hierarchy.paths[shown[b]]
            name = "" if leaf.name == "all" else plain(leaf.name.replace("/", ", "), 64)
            part = sizes[leaf.index] / len(codes) if shares is None else shares[leaf.index]
            share = f"{part:.1%} of rows, {leaf.dimension}-D"
            if len(kept[b]) < leaf.dimension:
                share += f"; the {len(kept[b])} that change most"
            text = f"{name}  ({share})" if name else share
            style_of = {"fontsize": 9, "weight": "bold", "color": color_of(leaf.index), "va": "center"}
            ax.text(0, y - 0.65 * title, text, **style_of)
            y -= title
            names = [hierarchy.variables[c].name for c in leaf.continuous] or ["(a point)"]
            for i in kept[b]:
                offset = -1.15 if style.kind == "bars" else -0.12
                ax.text(offset, y - 0.5, plain(names[i], 14), ha="right", va="center", fontsize=8.5)
                for j in range(n_steps):
                    draw_cell(ax, cells[b][i, j], style, j * (1 + GAP), y - 1, color_of(leaf.index))
                if style.kind == "bars":
                    name_bars(ax, style, 0.0, y - 1)
                y -= 1 + GAP
            middle = (n_steps // 2) * (1 + GAP)
            rows = len(kept[b]) * (1 + GAP)
            ax.add_patch(Rectangle((middle - GAP / 2, y + GAP / 2), 1 + GAP, rows, fill=False, ec="0.45", lw=1.1))
        ax.set(xlim=(-label, wide - label), ylim=(-tall, 0))
        ax.set_aspect("auto")
        ax.axis("off")
    return figure


def _that_change_most(cells: Shaped[np.ndarray, "variables steps ..."], most: int | None) -> Int[np.ndarray, " k"]:
    """The variables of a path whose sweeps change the most, in their order."""
    first, last = (cells[:, step].reshape(len(cells), -1).astype(np.float64) for step in (0, -1))
    change = np.abs(last - first).sum(axis=1)
    return np.sort(np.argsort(-change, kind="stable")[:most])


def _columns(rows: list[int]) -> list[list[int]]:
    """Blocks in reading order, cut into columns of about the same height."""
    total = sum(rows)
    n_columns = min(len(rows), -(-total // ROWS_PER_COLUMN))
    out: list[list[int]] = [[]]
    filled = 0
    for block, height in enumerate(rows):
        if out[-1] and len(out) < n_columns and filled + height / 2 > len(out) * total / n_columns:
            out.append([])
        out[-1].append(block)
        filled += height
    return out
