"""Figures of what was found in Spaceshapes, from a run of the study `images`.

    python docs/figures/spaceshapes_found.py runs/studies/images-medium/runs/spaceshapes_smooth_cofhae_seed2000

Histograms of true against learned variables, traversals, and the components in the initial representation: all of
them in one view, then each in the three directions in which it varies most.
"""

import sys
from pathlib import Path

import matplotlib
import numpy as np

from disentree.runs.run import Run
from disentree.runs.steps.figures import figures

matplotlib.use("Agg")
from matplotlib import pyplot
from matplotlib.figure import Figure

from disentree.plots import draw_embedding

HERE = Path(__file__).parent
SHOWN = 4_000  # held-out images


def draw_components(run: Run) -> Figure:
    """The initial representation of held-out images, colored by their leaf."""
    rows = run.read_npz("labels.npz", "test", "test_labels")
    labels = rows["test_labels"][:SHOWN]
    Z = run.mimosa.representation_.transform(run.data.X[rows["test"][:SHOWN]])
    paths = run.hierarchy.paths
    figure = pyplot.figure(figsize=(3.2 * (1 + len(paths)), 3.4), layout="constrained")
    ax = figure.add_subplot(1, 1 + len(paths), 1, projection="3d")
    draw_embedding(Z, labels, ax=ax, n_colors=len(paths))
    ax.set_title(f"Initial representation, {Z.shape[1]}-D", fontsize=10)
    for path in paths:
        here = labels == path.index
        ax = figure.add_subplot(1, 1 + len(paths), 2 + path.index, projection="3d")
        draw_embedding(Z[here], labels[here], ax=ax, n_colors=len(paths))
        ax.set_title(f"{path.dimension}-D, {np.mean(here):.0%} of images", fontsize=10)
    for ax in figure.axes:
        if (legend := ax.get_legend()) is not None:
            legend.remove()
    return figure


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    run = Run.open(sys.argv[1])
    drawn = {name: draw for name, draw in figures(run, "cpu").items() if name in ("pairwise", "traversals")}
    for name, draw in {**drawn, "components": lambda: draw_components(run)}.items():
        out = HERE / f"spaceshapes-{name}.png"
        draw().savefig(out, dpi=80, bbox_inches="tight", pad_inches=0.08, metadata={"Software": None})
        print(out.name, flush=True)


if __name__ == "__main__":
    main()
