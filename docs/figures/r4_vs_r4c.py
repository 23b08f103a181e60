"""R4 and R4c of the true codes, written in three equivalent ways.

python docs/figures/r4_vs_r4c.py [OUT.png]
"""

import sys
from pathlib import Path

import matplotlib
import numpy as np

from disentree.datasets import load_dataset
from disentree.metrics import r4_score, r4c_score

matplotlib.use("Agg")
from matplotlib import pyplot

NAMES = {
    "spaceshapes": "Spaceshapes",
    "chopsticks-depth2-either": "Chopsticks\ndepth 2, either",
    "chopsticks-depth3-either": "Chopsticks\ndepth 3, either",
    "chopsticks-depth3-both": "Chopsticks\ndepth 3, both",
}
FORMS = ("as made", "merged\nup", "pushed\ndown")
N_ROWS = 5_000


def main(out: Path) -> None:
    figure, axes = pyplot.subplots(1, len(NAMES), figsize=(10, 2.9), sharey=True, layout="constrained")
    for ax, (name, title) in zip(axes, NAMES.items(), strict=True):
        ds = load_dataset(name, n_samples=N_ROWS, seed=0)
        V, h = ds.codes, ds.hierarchy
        for color, score, label in (("#b7410e", r4_score, "R4"), ("#1f5a7a", r4c_score, "R4c")):
            values = [  # in the order of FORMS
                score(V, h.transfer(V, other), h, other, n_jobs=2) for other in (h, h.merged_up(), h.pushed_down())
            ]
            print(f"{name:26s} {label:4s}", *(f"{v:.3f}" for v in values))
            at = np.arange(3) + (0.2 if label == "R4c" else -0.2)
            ax.bar(at, values, width=0.38, color=color, label=label)
            for x, value in zip(at, values, strict=True):
                ax.text(x, value + 0.01, f"{value:.2f}".lstrip("0"), ha="center", va="bottom", fontsize=7.5)
        ax.set_xticks(range(3), FORMS, fontsize=8)
        ax.set_title(title, fontsize=9)
        ax.set_ylim(0, 1.1)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("score of the true codes")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center", frameon=False)
    figure.savefig(out, dpi=150)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_suffix(".png"))
