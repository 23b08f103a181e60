"""Training curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullFormatter

from disentree.plots.cells import COLORS, plain

NOT_LOSSES = ("epoch", "seconds", "step", "lr", "learning_rate")
FIRST = ("loss", "reconstruction", "assignment", "dependence")


def draw_training(
    history: Sequence[Mapping[str, Any]], *, keys: Sequence[str] | None = None, figure: Figure | None = None
) -> Figure:
    """Draw each loss of a model's `history_` in a panel of its own.

    Losses that are always positive and span more than a factor of ten get a logarithmic axis.

    Parameters
    ----------
    history : sequence of dict
        One for each epoch.
    keys : sequence of str, default=None
        The losses to draw; None draws all that are not always 0.
    figure : matplotlib Figure, default=None
        Where to draw; None makes a figure that fits.

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> history = [{"epoch": e, "loss": 1 / e, "reconstruction": 0.5 / e} for e in range(1, 6)]
    >>> figure = draw_training(history)
    >>> len(figure.axes)
    2
    """
    if not history:
        raise ValueError("history must have at least one epoch")
    found = dict.fromkeys(key for epoch in history for key, value in epoch.items() if _is_number(value))
    if keys is None:
        losses = [key for key in found if key not in NOT_LOSSES and any(epoch.get(key) for epoch in history)]
        keys = [*(k for k in FIRST if k in losses), *(k for k in losses if k not in FIRST)]
    if unknown := [key for key in keys if key not in found]:
        raise ValueError(f"history has no {unknown[0]!r}; it has {', '.join(found)}")
    if not keys:
        raise ValueError("history has no losses to draw")
    if figure is None:
        figure = plt.figure(figsize=(2.75 * len(keys), 2.3), layout="constrained")
    epochs = np.array([e.get("epoch", i + 1) for i, e in enumerate(history)], dtype=float)
    for k, key in enumerate(keys):
        ax = figure.add_subplot(1, len(keys), k + 1)
        values = np.array([e[key] if _is_number(e.get(key)) else np.nan for e in history], dtype=float)
        ax.plot(epochs, values, color=COLORS[k % len(COLORS)], lw=1.6, marker="." if len(epochs) < 30 else None)
        finite = values[np.isfinite(values)]
        if len(finite) and finite.min() > 0 and finite.max() > 10 * finite.min():
            ax.set_yscale("log")
            ax.yaxis.set_minor_formatter(NullFormatter())
        ax.set_title(plain(key), fontsize=10)
        ax.set_xlabel("epoch", fontsize=9)
        ax.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        ax.tick_params(labelsize=8)
        ax.grid(color="0.92")
        ax.spines[["top", "right"]].set_visible(False)
    return figure


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
