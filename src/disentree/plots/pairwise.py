"""Pairwise histograms of true against learned variables, with the R4c score of each true one."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from disentree.hierarchy import Hierarchy, Variable
from disentree.metrics.factor_scores import FactorScores
from disentree.plots.cells import plain

PIXELS = 24  # of a cell of the mosaic, and the number of bins if there are rows enough
GAP = 4
INCHES = 0.52
FEWEST_ROWS = 10  # of both active: fewer show nothing
BLUES = LinearSegmentedColormap.from_list("pairs", ["#f3f7fa", "#7fb0d3", "#1b6ca8", "#08263f"])


def draw_pairwise(
    V: ArrayLike,
    Z: ArrayLike,
    v_hierarchy: Hierarchy,
    z_hierarchy: Hierarchy,
    *,
    scores: FactorScores | list[dict[str, Any]] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a histogram of every true variable (rows) against every learned one (columns).

    Each is over the rows where both are active; pairs that never are stay blank. A perfect pair is a thin line,
    an unrelated one a cloud.

    Parameters
    ----------
    V, Z : array-like of shape (n_rows, n_variables)
        True and learned codes of the same rows, NaN where a variable is not active.
    v_hierarchy, z_hierarchy : Hierarchy
        The hierarchies of V and Z.
    scores : FactorScores or list of dict, default=None
        Those of ``metrics.r4c_score(..., per_factor=True)``, or the ``factors`` of `metrics.evaluate`: they are
        written at the right, and the learned variables that explain each true one are framed.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a figure that fits.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from disentree.datasets import load_dataset
    >>> ds = load_dataset("chopsticks-depth2-both", n_samples=500)
    >>> ax = draw_pairwise(ds.codes, ds.codes, ds.hierarchy, ds.hierarchy)
    """
    true, learned = v_hierarchy.validate(V), z_hierarchy.validate(Z)
    if len(true) != len(learned):
        raise ValueError(f"V and Z must have the same number of rows, got {len(true)} and {len(learned)}")
    rows, columns = v_hierarchy.variables, z_hierarchy.variables
    if not rows or not columns:
        raise ValueError("both hierarchies must have at least one variable")
    parts = _parts(scores, rows)
    v_cells = [_binned(true[:, v.index], v) for v in rows]
    z_cells = [_binned(learned[:, z.index], z) for z in columns]
    step = PIXELS + GAP
    mosaic = np.full((len(rows) * step - GAP, len(columns) * step - GAP), np.nan)
    blank = []
    for i, (v, n_v) in enumerate(v_cells):
        for j, (z, n_z) in enumerate(z_cells):
            both = (v >= 0) & (z >= 0)
            if both.sum() < FEWEST_ROWS:
                blank.append((i, j))
                continue
            place = np.s_[i * step : i * step + PIXELS, j * step : j * step + PIXELS]
            mosaic[place] = _histogram(v[both], z[both], n_v, n_z)
    if ax is None:
        size = (INCHES * len(columns) + 2.3, INCHES * len(rows) + 1.5)
        ax = plt.subplots(figsize=size, layout="constrained")[1]
    ax.imshow(mosaic, cmap=BLUES, vmin=0, vmax=1, interpolation="nearest")
    if blank:
        y, x = (np.array(blank).T * step) - 0.5 + PIXELS / 2
        ax.plot(x, y, marker="_", ms=3, color="0.82", lw=0)
    for i, (score, matched) in enumerate(parts):
        for j, z in enumerate(columns):
            if z.name in matched and (i, j) not in blank:
                corner = (j * step - 1.5, i * step - 1.5)
                ax.add_patch(Rectangle(corner, PIXELS + 2, PIXELS + 2, fill=False, ec="#c0562f", lw=1.5))
        if score is not None:
            x, y = len(columns) * step + 4, i * step + PIXELS / 2 - 0.5
            ax.add_patch(Rectangle((x, y - 6), 34, 12, fc="0.93", ec="none", clip_on=False))
            ax.add_patch(Rectangle((x, y - 6), 34 * score, 12, fc="#8cc2a0", ec="none", clip_on=False))
            ax.text(x + 17, y, f"{score:.3f}", va="center", ha="center", fontsize=8)
    known = [score for score, _ in parts if score is not None]
    if known:
        style = {"ha": "center", "va": "bottom", "fontsize": 9, "weight": "bold"}
        ax.text(len(columns) * step + 21, -6, f"R4c\n{np.mean(known):.3f}", **style)
    right = len(columns) * step + (40 if known else -GAP)
    ax.set(xlim=(-3, right), ylim=(len(rows) * step - GAP + 2, -3))
    for set_ticks, variables in ((ax.set_xticks, columns), (ax.set_yticks, rows)):
        middles = np.arange(len(variables)) * step + PIXELS / 2 - 0.5
        set_ticks(middles, [plain(_title(v), 24) for v in variables])
    ax.xaxis.tick_top()
    ax.tick_params(axis="x", rotation=60 if len(columns) > 4 else 0, length=0, labelsize=8)
    ax.tick_params(axis="y", length=0, labelsize=8)
    ax.set_ylabel("true", fontsize=9)
    ax.set_xlabel("learned", fontsize=9)
    ax.spines[:].set_visible(False)
    return ax


def _title(variable: Variable) -> str:
    return f"{'◇ ' if variable.kind == 'categorical' else ''}{variable.name}"


def _parts(scores: Any, rows: tuple[Variable, ...]) -> list[tuple[float | None, set[str]]]:
    """For each true variable its score and the names of the learned ones that explain it."""
    factors = scores.to_dict()["factors"] if isinstance(scores, FactorScores) else scores
    if factors is None:
        return [(None, set())] * len(rows)
    if [f["factor"] for f in factors] != [v.name for v in rows]:
        raise ValueError("scores must be those of the variables of v_hierarchy, in their order")
    return [(float(f["score"]), {m["variable"] for m in f["matches"]}) for f in factors]


def _binned(values: Float[np.ndarray, " n"], variable: Variable) -> tuple[np.ndarray, int]:
    """The bin of every value, -1 where the variable is not active, and the number of bins. The bins of a
    continuous variable end at its 0.5th and 99.5th percentile: a few outliers should not squeeze the rest."""
    on = ~np.isnan(values)
    n_bins = PIXELS if len(values) >= 3000 else PIXELS // 2
    bins = np.full(len(values), -1)
    if variable.kind == "categorical":
        bins[on] = values[on].astype(np.int64)
        return bins, variable.n_options
    if on.any():
        low, high = np.percentile(values[on], [0.5, 99.5])
        share = (values[on] - low) / (high - low or 1.0)
        bins[on] = np.clip(share * n_bins, 0, n_bins - 1).astype(np.int64)
    return bins, n_bins


def _histogram(v: np.ndarray, z: np.ndarray, n_v: int, n_z: int) -> Float[np.ndarray, "pixels pixels"]:
    """Counts relative to the largest, true upwards and learned to the right, as a square of pixels. The root
    keeps thin clouds visible."""
    counts = np.bincount(v * n_z + z, minlength=n_v * n_z).reshape(n_v, n_z)[::-1]
    rows = np.arange(PIXELS) * n_v // PIXELS
    columns = np.arange(PIXELS) * n_z // PIXELS
    return np.sqrt(counts / counts.max())[np.ix_(rows, columns)]
