"""The stage that draws the figures of a run, from the files in its folder."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from disentree.hierarchy.sizes import with_sizes
from disentree.plots.saving import save_figure
from disentree.runs.report.findings import read_findings
from disentree.runs.run import Run
from disentree.runs.steps.options import StageOptions
from disentree.runs.steps.scores import SHOWN_PATHS

# Rows of the picture of traversals, at most: it must be readable. A table's report shows them in another way.
SHOWN_VARIABLES = {"images": 100, "series": 100, "table": 28}
SHOWN_OF_A_PATH = 14  # of these: photographs have a hundred, of which few do anything to see

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_figures(run: Run, options: StageOptions) -> str:
    """Draw every figure and write it to the folder ``figures``, as PNG and PDF."""
    drawn = figures(run, options.device)
    for name, draw in drawn.items():
        save_figure(draw(), run.folder / "figures" / name)
    return f"{len(drawn)} pictures"


def figures(run: Run, device: str = "auto") -> dict[str, Callable[[], Figure]]:
    """The pictures of a run, by name; each is drawn when it is called for."""
    from disentree import plots

    about = run.about_data
    names = tuple(about["feature_names"])
    codes, hierarchy = run.learned
    findings = read_findings(run, hierarchy)
    hierarchy = findings.shown_hierarchy()
    labels = run.learned_tree[1]
    shares = np.bincount(labels[labels >= 0], minlength=len(hierarchy.paths)) / max(1, len(labels))
    samples = run.read_npz("samples.npz", "X", "X_again", "rows", "paths")
    model = run.model(device)
    truth = run.codes("true")
    metrics = run.metrics
    out: dict[str, Callable[[], Figure]] = {}

    def tree() -> Figure:
        return _figure_of(plots.draw_hierarchy(with_sizes(hierarchy, labels, "{}\n{:.1%}")))

    def decode(z: np.ndarray) -> np.ndarray:
        X = model.inverse_transform(z)
        if about["kind"] == "series" and about["scale"] is not None:  # in the units of the file
            X = X * np.array(about["scale"]) + np.array(about["center"])
        return X

    def reconstructions() -> Figure:
        paths = [findings.path_name(p.index) for p in hierarchy.paths] if len(hierarchy.paths) > 1 else ()
        X, reconstructed = samples["X"], samples["X_again"]
        return _figure_of(
            plots.draw_reconstructions(X, reconstructed, samples["paths"], path_names=paths, feature_names=names)
        )

    out["tree"] = tree
    # Flat models with many categoricals have a path for every combination: only the largest can be shown.
    found, counts = np.unique(hierarchy.path_of(codes), return_counts=True)
    order = found[np.argsort(-counts, kind="stable")[:SHOWN_PATHS]]
    n_rows = np.cumsum([min(hierarchy.paths[p].dimension, SHOWN_OF_A_PATH) for p in order])
    largest = sorted(order[: max(1, int((n_rows <= SHOWN_VARIABLES[about["kind"]]).sum()))].tolist())
    out["traversals"] = lambda: plots.draw_traversals(
        codes,
        hierarchy,
        decode,
        paths=largest,
        feature_names=names,
        shares=shares.tolist(),
        most=SHOWN_OF_A_PATH,
    )
    out["reconstructions"] = reconstructions
    if truth is not None:
        V, v_hierarchy = truth
        factors = metrics["factors"] or None
        out["pairwise"] = lambda: _figure_of(plots.draw_pairwise(V, codes, v_hierarchy, hierarchy, scores=factors))
    if model.history_:
        out["training"] = lambda: plots.draw_training(model.history_)
    return out


def _figure_of(ax: Any) -> Figure:
    return ax.figure
