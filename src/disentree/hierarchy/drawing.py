"""The tree as a drawing: boxes for groups, circles for continuous variables, diamonds for categoricals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import Ellipse, FancyBboxPatch, Polygon

from disentree.hierarchy.tree import Categorical, Group

if TYPE_CHECKING:
    from disentree.hierarchy.hierarchy import Hierarchy

LEVEL_HEIGHT = 1.9
BOX_HEIGHT = 0.8
GAP = 0.35
MIN_WIDTH = 0.7
NAME_AT = 0.68  # where on its line an option's name stands


@dataclass
class Box:
    """A group with its place on the canvas; x and y are its center."""

    group: Group
    x: float
    y: float
    width: float
    slots: list[float]
    children: list[list[Box]]


def draw_hierarchy(
    hierarchy: Hierarchy,
    *,
    ax: Axes | None = None,
    highlight: int | None = None,
    names: bool = True,
    fontsize: float = 9,
) -> Axes:
    """Draw a hierarchy: boxes for groups, circles for continuous and diamonds for categorical variables.

    Parameters
    ----------
    hierarchy : Hierarchy
        What to draw.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a figure that fits.
    highlight : int, default=None
        A path to draw in color.
    names : bool, default=True
        Whether to write the names of variables and options.
    fontsize : float, default=9
        Size of the names, in points.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from disentree import Hierarchy
    >>> ax = draw_hierarchy(Hierarchy.flat(2, (3,)), highlight=0)
    """
    root, extent = place(hierarchy.root)
    depth = depth_of(root)
    if ax is None:
        size = (max(3.0, 0.95 * extent), max(1.6, 0.62 * LEVEL_HEIGHT * depth + 0.6))
        ax = plt.subplots(figsize=size, layout="constrained")[1]
    choices = set(hierarchy.paths[highlight].choices) if highlight is not None else None
    draw_boxes(ax, root, names=names, fontsize=fontsize, highlighted=choices)
    ax.set_xlim(-GAP, extent + GAP)
    ax.set_ylim(-(depth - 1) * LEVEL_HEIGHT - BOX_HEIGHT, BOX_HEIGHT)
    ax.set_aspect("equal")
    ax.axis("off")
    return ax


def _slot_width(name: str) -> float:
    return max(1.0, 0.13 * len(name) + 0.35)


def _name_width(name: str) -> float:
    """Room for the name of an option: names stand closer together than the boxes that they lead to."""
    return 0.12 * max(map(len, name.split("\n"))) / NAME_AT - GAP if name else 0.0


def place(group: Group, leaf_width: float = 0.0, left: float = 0.0, level: int = 0) -> tuple[Box, float]:
    """Lay out a group at some depth of the tree and everything below it, from the left edge on: its box with its
    children, and the right edge of the layout. Leaves have a least width."""
    slot_widths = [_slot_width(v.name) for v in group.variables]
    own = max(MIN_WIDTH, sum(slot_widths) + 0.2)
    children, cursor = [], left
    for categorical in group.categoricals:
        branch = []
        for option in categorical.options:
            start = cursor
            box, cursor = place(option, leaf_width, start, level + 1)
            if (room := _name_width(option.name) - (cursor - start)) > 0:
                _shift(box, room / 2)
                cursor += room
            branch.append(box)
            cursor += GAP
        children.append(branch)
    right = max(left + own, cursor - GAP if children else left + leaf_width)
    x = (left + right) / 2
    if children and cursor - GAP - left < own:  # few narrow children: center them below a wide box
        for branch in children:
            for box in branch:
                _shift(box, (own - (cursor - GAP - left)) / 2)
    edge = x - sum(slot_widths) / 2
    slots = []
    for width in slot_widths:
        slots.append(edge + width / 2)
        edge += width
    return Box(group, x, -level * LEVEL_HEIGHT, own, slots, children), right


def _shift(box: Box, dx: float) -> None:
    box.x += dx
    box.slots = [s + dx for s in box.slots]
    for branch in box.children:
        for child in branch:
            _shift(child, dx)


def leaves(box: Box) -> list[Box]:
    """The boxes without children, from left to right."""
    return [leaf for branch in box.children for child in branch for leaf in leaves(child)] or [box]


def depth_of(box: Box) -> int:
    """Number of levels of a layout."""
    return 1 + max((depth_of(child) for branch in box.children for child in branch), default=0)


def draw_boxes(
    ax: Axes, root: Box, *, names: bool = True, fontsize: float = 9, highlighted: set | None = None
) -> None:
    """Draw a layout from `place`, with the path of some choices in color."""
    _draw(ax, root, 0, True if highlighted is not None else None, highlighted or set(), names, fontsize)


def _draw(ax: Axes, box: Box, column: int, on: bool | None, highlighted: set, names: bool, fontsize: float) -> int:
    """Draw a box and those below it. `on`: None without a highlight, else whether the path leads here."""
    strong: dict[str, Any] = {"color": "#1b6ca8"} if on else {"color": "0.25" if on is None else "0.75"}
    ax.add_patch(
        FancyBboxPatch(
            (box.x - box.width / 2, box.y - BOX_HEIGHT / 2),
            box.width,
            BOX_HEIGHT,
            boxstyle="round,pad=0,rounding_size=0.12",
            fc="#f6f8fa",
            ec=strong["color"],
            lw=1.6 if on else 1.1,
        )
    )
    if not box.group.variables:
        ax.text(box.x, box.y, "∅", ha="center", va="center", fontsize=fontsize + 2, **strong)
    branches = iter(box.children)
    for x, variable in zip(box.slots, box.group.variables, strict=True):
        half = _slot_width(variable.name) / 2 - 0.06
        here, column = column, column + 1
        if isinstance(variable, Categorical):
            corners = [(x - half, box.y), (x, box.y + 0.36), (x + half, box.y), (x, box.y - 0.36)]
            ax.add_patch(Polygon(corners, fc="#fdebd0", ec=strong["color"], zorder=2))
        else:
            ax.add_patch(Ellipse((x, box.y), 2 * half, 0.6, fc="#d6eaf8", ec=strong["color"], zorder=2))
        if names:
            ax.text(x, box.y, variable.name, ha="center", va="center", fontsize=fontsize, zorder=3)
        if not isinstance(variable, Categorical):
            continue
        for k, child in enumerate(next(branches)):
            below = None if on is None else on and (here, k) in highlighted
            color = "#1b6ca8" if below else "0.25" if below is None else "0.75"
            top = child.y + BOX_HEIGHT / 2
            ax.plot([x, child.x], [box.y - 0.36, top], color=color, lw=1.6 if below else 1.0, zorder=1)
            if names and child.group.name:
                ax.text(
                    x + NAME_AT * (child.x - x),
                    box.y - 0.36 + NAME_AT * (top - box.y + 0.36),
                    child.group.name,
                    ha="center",
                    va="center",
                    fontsize=fontsize - 1,
                    color=color,
                    bbox={"fc": "white", "ec": "none", "pad": 1.0},
                    zorder=4,
                )
            column = _draw(ax, child, column, below, highlighted, names, fontsize)
    return column
