"""Figures of a fitted MIMOSA: initial representation, components, their tree, and diagnostics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int
from matplotlib import colormaps
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from disentree.hierarchy.drawing import BOX_HEIGHT, draw_hierarchy, leaves, place
from disentree.plots.cells import COLORS
from disentree.rows import sampled

if TYPE_CHECKING:
    from disentree.mimosa.base import TreeEstimator

MAX_POINTS = 6000  # more would take seconds and show no more
NOT_ASSIGNED = "#c8c8c8"
BLUE = "#1b6ca8"


def component_colors(n: int) -> list[str]:
    """A color for each of n components, all different up to 28."""
    more = [to_hex(c) for c in colormaps["tab20"].colors]  # type: ignore[attr-defined]
    pool = list(COLORS) if n <= len(COLORS) else [*more[::2], *more[1::2], *COLORS]
    return [pool[i % len(pool)] for i in range(n)]


def draw_mimosa(m: TreeEstimator, true_paths: ArrayLike | None = None, *, max_points: int = MAX_POINTS) -> Figure:
    """The paper's figures of MIMOSA: initial representation, components and hierarchy side by side.

    More than eight components are shown in one panel for each dimension. Of the paper's algorithm there is one
    more panel, of the pieces that are merged to components.

    Parameters
    ----------
    m : MIMOSA or PaperMIMOSA
        Fitted.
    true_paths : array-like of shape (n,) or None, default=None
        The true path of each row. The representation is colored by them, each in the color of the component that
        has most of its points.
    max_points : int, default=6000
        Points shown at most.

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> from disentree import MIMOSA
    >>> from disentree.datasets import load_dataset
    >>> m = MIMOSA().fit(load_dataset("chopsticks-depth2-slope", n_samples=1000, seed=0).X)
    >>> figure = draw_mimosa(m)
    """
    dims = sorted({c.dimension for c in m.components_})
    groups = [dims] if len(m.components_) <= len(COLORS) else [[d] for d in dims]
    # of the paper's algorithm, until it is saved; none for others
    pieces: list[np.ndarray] = [m.pieces_] if hasattr(m, "pieces_") else []  # type: ignore[attr-defined]
    components_width = 4.2 if len(groups) == 1 else 2.6 * len(groups)
    widths = [4.2, *(4.2 for _ in pieces), components_width, _tree_width(m)]
    figure = plt.figure(figsize=(sum(widths), 4.4), layout="constrained")
    parts: Any = figure.subfigures(1, len(widths), width_ratios=widths)
    left, *before, middle, right = parts
    view = project(m.embedding_)
    kind: Any = "3d" if view.shape[1] == 3 else None

    ax = left.add_subplot(projection=kind)
    shown = None if true_paths is None else sampled(_matched(np.asarray(true_paths), m), m.sample_)
    draw_embedding(view, shown, ax=ax, max_points=max_points, n_colors=len(m.components_))
    left.suptitle(f"Initial representation, {m.embedding_.shape[1]}-D", fontsize=11)

    for part, labels in zip(before, pieces, strict=True):
        ax, n_pieces = part.add_subplot(projection=kind), int(labels.max()) + 1
        draw_embedding(view, labels, ax=ax, max_points=max_points, n_colors=n_pieces)
        if (legend := ax.get_legend()) is not None:
            legend.remove()
        part.suptitle(f"Before merging: {n_pieces} pieces", fontsize=11)

    for i, group in enumerate(groups):
        ax = middle.add_subplot(1, len(groups), i + 1, projection=kind)
        labels = sampled(m.core_labels_, m.sample_)
        rows = np.ones(len(labels), dtype=bool)
        if len(groups) > 1:
            rows = np.isin(labels, [c for c, found in enumerate(m.components_) if found.dimension in group])
            ax.set_title(f"{group[0]}-D", fontsize=9)
        # the same limits everywhere, so that panels can be compared
        for axis, column in zip("xyz", view.T, strict=False):
            if np.ptp(column) > 0:
                getattr(ax, f"set_{axis}lim")(column.min(), column.max())
        draw_embedding(view[rows], labels[rows], ax=ax, max_points=max_points, n_colors=len(m.components_))
    coverage = 100 * float(np.mean(m.core_labels_ >= 0))
    middle.suptitle(f"Components: {len(m.components_)}, {coverage:.1f} % of points", fontsize=11)

    draw_found_hierarchy(m, ax=right.add_subplot())
    right.suptitle("Hierarchy", fontsize=11)
    return figure


def _tree_width(m: TreeEstimator) -> float:
    """Inches for the panel of the hierarchy: what its boxes and names need, within bounds."""
    return float(np.clip(0.6 * place(m.hierarchy_.root)[1], 4.2, 9.0))


def _matched(true_paths: Int[np.ndarray, " n"], m: TreeEstimator) -> Int[np.ndarray, " n"]:
    """For every true path the component that has most of its points."""
    out = np.full(len(true_paths), -1)
    for path in np.unique(true_paths[true_paths >= 0]):
        here = true_paths == path
        found = m.labels_[here & (m.labels_ >= 0)]
        out[here] = np.bincount(found).argmax() if len(found) else -1
    return out


def draw_embedding(
    embedding: ArrayLike | TreeEstimator,
    labels: ArrayLike | None = None,
    *,
    ax: Axes | None = None,
    max_points: int = MAX_POINTS,
    names: list[str] | None = None,
    n_colors: int | None = None,
) -> Axes:
    """Points in two or three dimensions, colored by labels; more dimensions are projected to three.

    Parameters
    ----------
    embedding : array-like of shape (n, D), MIMOSA or PaperMIMOSA
        Points, or a fitted model, whose components are the labels unless others are given.
    labels : array-like of shape (n,) or None, default=None
        Points with label -1 are gray.
    ax : matplotlib Axes or None, default=None
        Where to draw; None for a new figure.
    max_points : int, default=6000
        Points shown at most.
    names : list of str or None, default=None
        For a legend, one for each label.
    n_colors : int or None, default=None
        Number of labels there might be, so that figures of parts of the data use the same colors.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from disentree import MIMOSA
    >>> from disentree.datasets import load_dataset
    >>> m = MIMOSA().fit(load_dataset("chopsticks-depth2-slope", n_samples=1000, seed=0).X)
    >>> ax = draw_embedding(m)
    """
    if hasattr(embedding, "components_"):
        m: Any = embedding
        Z = m.embedding_
        if labels is None:
            labels = sampled(m.core_labels_, m.sample_)
            names = names or [f"{c.dimension}-D, {c.size} points" for c in m.components_]
    else:
        Z = np.asarray(embedding, dtype=np.float64)
    if Z.ndim != 2:
        raise ValueError(f"embedding must have shape (n, dimensions), got {Z.shape}")
    groups = None if labels is None else np.asarray(labels)
    if groups is not None and groups.shape != (len(Z),):
        raise ValueError(f"labels must have one entry for each of {len(Z)} points, got shape {groups.shape}")
    view = project(Z)
    if ax is None:
        ax = plt.figure(figsize=(6.2, 4.6), layout="constrained").add_subplot(
            projection="3d" if view.shape[1] == 3 else None
        )
    elif view.shape[1] == 3 and not hasattr(ax, "zaxis"):
        view = view[:, :2]
    some = _some_of_each(groups, len(view), max_points)
    view, groups = view[some], None if groups is None else groups[some]
    size = 3.0 if len(view) > 1000 else 9.0
    style: dict[str, Any] = {"s": size, "linewidths": 0, "rasterized": True}
    if hasattr(ax, "zaxis"):
        style["depthshade"] = False
    if groups is None:
        ax.scatter(*view.T, color="0.35", alpha=0.5, **style)
    else:
        left_out = groups < 0
        if left_out.any():
            ax.scatter(*view[left_out].T, color=NOT_ASSIGNED, alpha=0.6, **style)
        colors = component_colors(n_colors or int(groups.max(initial=-1)) + 1)
        # in one call: drawn one by one, the last would hide the others
        shown = ~left_out
        if shown.any():
            ax.scatter(*view[shown].T, c=[colors[g] for g in groups[shown]], alpha=0.8, **style)
        for g, name in enumerate(names or []):
            ax.scatter(*[[] for _ in view.T], color=colors[g], label=name, s=20)
        if names:
            ax.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False)
    if hasattr(ax, "zaxis"):
        _bare_box(ax)
    else:
        ax.set(xticks=[], yticks=[])
    return ax


def draw_found_hierarchy(m: TreeEstimator, *, ax: Axes | None = None) -> Axes:
    """The hierarchy of a fitted MIMOSA, with every component's color and size below its leaf.

    Parameters
    ----------
    m : MIMOSA or PaperMIMOSA
        Fitted.
    ax : matplotlib Axes or None, default=None
        Where to draw; None for a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from disentree import MIMOSA
    >>> ax = draw_found_hierarchy(MIMOSA().fit(np.eye(2).repeat(50, axis=0)))
    """
    root, extent = place(m.hierarchy_.root)
    # A figure of its own is as wide as names of 9 points need; in a panel they are as large as it has room for.
    fontsize = 9.0 if ax is None else float(np.clip(13 * _tree_width(m) / extent, 6.0, 9.0))
    ax = draw_hierarchy(m.hierarchy_, ax=ax, fontsize=fontsize)
    colors = component_colors(len(m.components_))
    bottom = 0.0
    for c, box in enumerate(leaves(root)):
        y = box.y - BOX_HEIGHT / 2 - 0.3
        ax.scatter([box.x], [y], s=70, marker="o", color=colors[c], zorder=3)
        share = 100 * m.components_[c].size / len(m.labels_)
        text = f"{m.components_[c].dimension}-D" + (f"\n{share:.0f} %" if share >= 1 else "")
        ax.text(box.x, y - 0.28, text, ha="center", va="top", fontsize=7, color="0.3")
        bottom = min(bottom, y - 1.0)
    ax.set_ylim(min(bottom, ax.get_ylim()[0]), ax.get_ylim()[1])
    return ax


def draw_spectrum(m: TreeEstimator, *, ax: Axes | None = None, n_shown: int = 40) -> Axes:
    """Singular values of the data, relative to the largest, and the number of dimensions of the representation.

    Parameters
    ----------
    m : MIMOSA or PaperMIMOSA
        Fitted.
    ax : matplotlib Axes or None, default=None
        Where to draw; None for a new figure.
    n_shown : int, default=40
        Singular values shown at most.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from disentree import MIMOSA
    >>> ax = draw_spectrum(MIMOSA().fit(np.eye(2).repeat(50, axis=0)))
    """
    if ax is None:
        ax = plt.subplots(figsize=(4.6, 3.2), layout="constrained")[1]
    values = np.asarray(m.representation_.spectrum, dtype=np.float64)
    dims = m.embedding_.shape[1]
    if len(values) and values[0] > 0:
        shown = np.maximum(values[:n_shown] / values[0], 1e-17)
        index = np.arange(1, len(shown) + 1)
        ax.semilogy(index, shown, "o-", ms=3.5, lw=1, color=BLUE)
        if dims < len(shown):
            ax.axvline(dims + 0.5, color="0.5", lw=1, ls="--")
    else:
        ax.text(0.5, 0.5, "no spectrum: the data is constant", ha="center", transform=ax.transAxes, fontsize=9)
    ax.set(xlabel="singular value", ylabel="relative to the largest")
    ax.set_title(f"{m.representation_.kind} representation, {dims}-D", fontsize=10)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.grid(axis="y", alpha=0.25)
    return ax


def draw_local_dimensions(m: TreeEstimator, *, ax: Axes | None = None) -> Axes:
    """How many points have each local dimension, and how many of them are in a component.

    Parameters
    ----------
    m : MIMOSA or PaperMIMOSA
        Fitted.
    ax : matplotlib Axes or None, default=None
        Where to draw; None for a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from disentree import MIMOSA
    >>> ax = draw_local_dimensions(MIMOSA().fit(np.eye(2).repeat(50, axis=0)))
    """
    if ax is None:
        ax = plt.subplots(figsize=(4.6, 3.2), layout="constrained")[1]
    own: Any = m
    dims = np.asarray(own.local_dimensions_)
    top = m.embedding_.shape[1]
    counts = np.bincount(dims, minlength=top + 1)
    found = np.zeros(top + 1)
    for component in m.components_:
        found[component.dimension] += len(component.core_indices)
    found *= min(1.0, len(dims) / max(len(m.labels_), 1))  # local dimensions may be those of a subset
    index = np.arange(top + 1)
    ax.bar(index, counts, color="0.82", label="points")
    ax.bar(index, np.minimum(found, counts), width=0.5, color=BLUE, label="in a component")
    ticks = index if top <= 20 else index[::5]
    ax.set(xticks=ticks, xlabel=f"local dimension (of {top})", ylabel="points")
    ax.legend(fontsize=8, frameon=False)
    return ax


def project(Z: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "n v"]:
    """Two coordinates for up to two dimensions, three for more: the principal components."""
    n, dims = Z.shape
    if dims < 2:
        return np.column_stack([Z, np.zeros((n, 2 - dims))])
    if dims <= 3:
        return Z
    centered = Z - Z.mean(axis=0)
    values, vectors = np.linalg.eigh(centered.T @ centered)
    return centered @ vectors[:, np.argsort(values)[::-1][:3]]


def _some_of_each(groups: Int[np.ndarray, " n"] | None, n: int, at_most: int) -> Int[np.ndarray, " m"]:
    """An evenly spread subset; with groups, small ones are shown in full."""
    if n <= at_most:
        return np.arange(n)
    if groups is None:
        return np.linspace(0, n - 1, at_most).astype(np.int64)
    numbers, counts = np.unique(groups, return_counts=True)
    share = max(at_most // len(numbers), 1)
    rows = [
        np.flatnonzero(groups == g)[np.linspace(0, c - 1, min(c, share)).astype(np.int64)]
        for g, c in zip(numbers, counts, strict=True)
    ]
    return np.sort(np.concatenate(rows))


def _bare_box(ax: Any) -> None:
    for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
        axis.set_ticklabels([])
        axis.set_pane_color((0.97, 0.97, 0.97, 1.0))
        axis._axinfo["grid"].update(color="0.88", linewidth=0.6)
    ax.set_box_aspect((1, 1, 0.85), zoom=1.15)
