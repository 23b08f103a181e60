"""Pictures that several studies draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from disentree.plots.cells import color_of
from disentree.studies.running.results import deviation, mean

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Series = Mapping[str, Sequence[Sequence[float]]]  # for each line or color, the values at each place


def draw_groups(
    groups: Sequence[str],
    panels: Mapping[str, Series],
    *,
    marks: Mapping[str, Sequence[float | None]] | None = None,
    limits: tuple[float, float] | None = None,
) -> Figure:
    """A panel of points with error bars for each entry: places are `groups`, colors its series."""
    from matplotlib import pyplot as plt

    n_series = max(len(series) for series in panels.values())
    width = max(4.0, 0.5 + len(groups) * (0.25 + 0.13 * n_series))
    figure, axes = plt.subplots(
        len(panels), 1, figsize=(width + 1.8, 2.5 * len(panels)), squeeze=False, sharex=True, layout="constrained"
    )
    for ax, (title, series) in zip(axes[:, 0], panels.items(), strict=True):
        step = 0.8 / max(1, len(series))
        for k, (name, values) in enumerate(series.items()):
            x = np.arange(len(groups)) - 0.4 + step * (k + 0.5)
            y, bars = [mean(v) for v in values], [deviation(v) for v in values]
            color = color_of(k)
            ax.errorbar(x, y, bars, fmt="o", ms=4, lw=1, color=color, capsize=2, label=name)
            for place, single in zip(x, values, strict=True):
                ax.plot([place] * len(single), single, "_", ms=5, color=color, alpha=0.5)
        if marks is not None:
            stated = [(i, m) for i, m in enumerate(marks[title]) if m is not None]
            ax.plot([i for i, _ in stated], [m for _, m in stated], "x", color="0.2", ms=6, label="paper, stated")
        ax.set(ylabel=title, xlim=(-0.5, len(groups) - 0.5))
        if limits is not None:
            ax.set_ylim(*limits)
        for i in range(1, len(groups)):
            ax.axvline(i - 0.5, color="0.9", lw=0.8, zorder=0)
        ax.grid(axis="y", color="0.93")
        ax.set_axisbelow(True)
    axes[-1, 0].set_xticks(range(len(groups)), groups, rotation=30, ha="right")
    axes[0, 0].legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8)
    return figure


@dataclass(frozen=True)
class Panel:
    """Lines over numbers or words."""

    title: str
    x: Sequence[Any]
    series: Series
    marked: Any = None  # an x for a dotted line
    band: Sequence[float] = ()  # values of COFHAE: their mean and deviation are shown
    log: bool = False  # both axes; otherwise the places of x have equal distances
    ylim: tuple[float, float] | None = None
    xlabel: str = ""


def draw_lines(
    panels: Sequence[Sequence[Panel]], *, row_labels: Sequence[str] = (), height: float = 2.1
) -> Figure:
    """A grid of panels."""
    from matplotlib import pyplot as plt

    n_columns = max(len(row) for row in panels)
    figure, axes = plt.subplots(
        len(panels), n_columns, figsize=(0.8 + 2.9 * n_columns, 0.6 + height * len(panels)), squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for r, row in enumerate(panels):
        for ax, panel in zip(axes[r], row, strict=False):
            _draw_panel(ax, panel)
        for ax in axes[r, len(row) :]:
            ax.axis("off")
        if row_labels:
            axes[r, 0].set_ylabel(row_labels[r])
    handles, labels = axes[0, 0].get_legend_handles_labels()
    if len(labels) > 1:
        figure.legend(handles, labels, loc="outside upper center", ncols=min(4, len(labels)), frameon=False)
    return figure


def _draw_panel(ax: Any, panel: Panel) -> None:
    x = list(panel.x)
    places = np.array(x, dtype=float) if panel.log else np.arange(len(x))
    if panel.band:
        center, width = mean(panel.band), deviation(panel.band)
        ax.axhspan(center - width, center + width, color="#f3c6c0", zorder=0)
        ax.axhline(center, color="#b4322d", lw=1, zorder=1, label="COFHAE")
    for k, (name, values) in enumerate(panel.series.items()):
        y, bars = [mean(v) for v in values], [deviation(v) for v in values]
        ax.errorbar(places, y, bars, fmt="o-", ms=3, lw=1, capsize=2, color=color_of(k), label=name)
    if panel.marked in x:
        ax.axvline(places[x.index(panel.marked)], color="0.5", ls=":", lw=1)
    if panel.log:
        ax.set(xscale="log", yscale="log")
        ax.set_xticks(places, [f"{value:,}" for value in x])
        ax.set_xticks([], minor=True)  # powers of ten would run into each other
    else:
        ax.set_xticks(places, [f"{value:g}" if isinstance(value, int | float) else value for value in x])
    ax.set_title(panel.title, fontsize=9)
    ax.tick_params(labelsize=7)
    ax.set_ylim(panel.ylim)
    ax.set_xlabel(panel.xlabel, fontsize=8)
    ax.grid(color="0.94")
