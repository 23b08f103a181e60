"""Small drawings of observations, many to one pair of axes: pictures for images, lines for series, bars for
tables. One axes for each of them would take matplotlib seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int, Num
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PatchCollection
from matplotlib.patches import Rectangle

BARS_UP_TO = 30  # columns; without names, rows with more are drawn as lines
MOST_BARS = 20  # of tables with more columns
PER_BAR = 0.17  # inches
COLORS = ("#1b6ca8", "#c0562f", "#2e8b57", "#8e5ea2", "#b58900", "#b3446c", "#5f7f8c", "#6b7f1e")


def color_of(path: int) -> str:
    return COLORS[path % len(COLORS)]


@dataclass(frozen=True)
class CellStyle:
    """How one observation is drawn, the same for all of a figure."""

    kind: str  # "image", "line" or "bars"
    low: float
    high: float
    names: tuple[str, ...]  # of the bars

    @classmethod
    def of(cls, X: Num[np.ndarray, "n ..."], feature_names: Sequence[str] = ()) -> CellStyle:
        if X.ndim not in (2, 3, 4):
            raise ValueError(f"only vectors and images can be drawn, got X of shape {X.shape}")
        names = tuple(feature_names)
        if names and (X.ndim != 2 or len(names) != X.shape[1]):
            raise ValueError(f"feature_names must name every column of X: got {len(names)} for shape {X.shape}")
        finite = X[np.isfinite(X)] if X.dtype.kind == "f" else X.ravel()
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
        if X.ndim > 2:
            return cls("image", 0.0 if low >= 0 else low, 255.0 if X.dtype == np.uint8 else high or 1.0, ())
        if names and len(names) <= BARS_UP_TO:
            bound = max(-low, high, 1e-9)
            return cls("bars", -bound, bound, names)
        return cls("line", low, high if high > low else low + 1.0, ())

    @property
    def height(self) -> float:
        """Of a cell, in inches; cells are one unit high and wide on the axes."""
        return max(0.62, PER_BAR * len(self.names)) if self.kind == "bars" else 0.62

    @property
    def width(self) -> float:
        return 0.62 if self.kind == "image" else 0.85 if self.kind == "line" else 0.8

    def bars(self, x: Num[np.ndarray, " d"]) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, " d"], float]:
        """Of each bar in a cell its length, to the right of the middle, and the height of its center, from top to
        bottom as a table's columns from left to right; and the distance between centers."""
        step = 0.94 / max(1, len(x))
        return 0.47 * np.clip(x / self.high, -1, 1), 0.97 - (np.arange(len(x)) + 0.5) * step, step


def draw_cell(
    ax: Axes,
    x: Num[np.ndarray, "..."],
    style: CellStyle,
    left: float,
    bottom: float,
    color: Any = COLORS[0],
    *,
    frame: bool = True,
    linewidths: float = 1.4,
) -> None:
    """Draw an observation in the unit square that starts at (left, bottom)."""
    if style.kind == "image":
        shown = x[..., 0] if x.ndim == 3 and x.shape[-1] == 1 else x
        if shown.ndim == 3 and shown.dtype != np.uint8:
            shown = np.clip((shown - style.low) / (style.high - style.low or 1.0), 0, 1)
        extent = (left, left + 1.0, bottom, bottom + 1.0)
        ax.imshow(shown, cmap="gray", vmin=style.low, vmax=style.high, extent=extent, interpolation="nearest")
    elif style.kind == "line":
        t = np.linspace(0.03, 0.97, len(x)) if len(x) > 1 else np.array([0.5])
        y = 0.06 + 0.88 * (x - style.low) / (style.high - style.low)
        points = np.column_stack([left + t, bottom + y])
        ax.add_collection(LineCollection([points], colors=[color], linewidths=linewidths))
        if style.low < 0 < style.high:
            zero = bottom + 0.06 + 0.88 * -style.low / (style.high - style.low)
            ax.add_collection(
                LineCollection([[(left, zero), (left + 1, zero)]], colors="0.88", linewidths=0.7, zorder=0)
            )
    else:
        lengths, centers, step = style.bars(x)
        patches = [
            Rectangle((left + 0.5 + min(0.0, length), bottom + y - 0.38 * step), abs(length), 0.76 * step)
            for length, y in zip(lengths, centers, strict=True)
        ]
        ax.add_collection(PatchCollection(patches, facecolors=[color], linewidths=0))
        middle = [(left + 0.5, bottom), (left + 0.5, bottom + 1)]
        ax.add_collection(LineCollection([middle], colors="0.8", linewidths=0.7, zorder=0))
    if frame:
        ax.add_patch(Rectangle((left, bottom), 1, 1, fill=False, ec="0.82", lw=0.7))


def name_bars(ax: Axes, style: CellStyle, left: float, bottom: float, fontsize: float = 6.5) -> None:
    """The names of a table's columns, to the left of a cell."""
    _, centers, _ = style.bars(np.zeros(len(style.names)))
    for name, y in zip(style.names, centers, strict=True):
        ax.text(left - 0.06, bottom + y, plain(name, 18), ha="right", va="center", fontsize=fontsize, color="0.3")


def plain(text: str, at_most: int = 40) -> str:
    """A user's text as matplotlib should show it: no mathematics between dollars, one line, not too long."""
    text = " ".join(text.split()).replace("$", r"\$")
    return text if len(text) <= at_most else text[: at_most - 1] + "…"


def largest(values: Float[np.ndarray, " d"]) -> Int[np.ndarray, " k"]:
    """The columns with the largest values, in their order: all of a few, else as many as can be read."""
    if len(values) <= BARS_UP_TO:
        return np.arange(len(values))
    return np.sort(np.argsort(-values, kind="stable")[:MOST_BARS])
