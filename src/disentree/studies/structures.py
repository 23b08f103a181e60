"""Shared by the studies of MIMOSA: tasks for its default and for the paper's, and figures of embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from disentree.studies.options import Options
from disentree.studies.published import mimosa_settings, n_samples, short
from disentree.studies.results import Results, Row, spread
from disentree.studies.task import Extra, Task, make_task

NAMES = {"purity": "purity", "coverage": "coverage", "h_error": "H-error"}
PLACES = {"purity": 4, "coverage": 4, "h_error": 2}
# Of the paper's initial autoencoder, which trains for 50. With 20,000 samples 20 epochs are 1420 steps, with
# 100,000 samples 10 epochs are 3520.
EPOCHS = {"quick": 20, "default": 10, "medium": 50, "paper": 50}
STEPS_MEAN = {
    "quick": "{samples}; the paper's initial autoencoder is trained for 20 epochs instead of 50",
    "default": "{samples}; the paper's initial autoencoder is trained for 10 epochs instead of 50",
    "paper": "{samples}, 50 epochs of the paper's initial autoencoder",
}


def mimosa_task(
    options: Options,
    dataset: str,
    seed: int,
    method: str,
    columns: dict[str, Any] | None = None,
    *,
    data_options: dict[str, Any] | None = None,
    settings: dict[str, Any] | None = None,
    extras: Sequence[Extra] = (),
    shared: Task | None = None,
) -> Task:
    """MIMOSA on a benchmark: `method` is "default", or "paper" with the paper's settings for it. It can share the
    initial representation of another run."""
    more: dict[str, Any] = {}
    if method == "paper":
        own = {**mimosa_settings(dataset), "epochs": EPOCHS[options.scale], **(settings or {})}
        more = {"structure": "mimosa-paper", "structure_settings": own}
    return make_task(
        {"dataset": dataset, "method": method, **(columns or {})},
        dataset=dataset,
        seed=seed,
        n_samples=n_samples(dataset, options.scale),
        until="structure",
        options=data_options or {},
        extras=extras,
        embedding_from=shared,
        **more,
    )


def score_cells(results: Results, **columns: Any) -> list[str]:
    """Purity, coverage and H-error of the runs that match."""
    return [spread(results.values(name, **columns), PLACES[name]) for name in NAMES]


def draw_embeddings(results: Results, column: str, word: str = "", **columns: Any):
    """Points of embeddings, colored by their true path: data sets down, what `column` holds across, for the
    first seed."""
    from matplotlib import pyplot as plt

    from disentree.plots import draw_embedding

    datasets, levels = results.levels("dataset"), results.levels(column)
    n_rows, n_columns = len(datasets), len(levels)
    figure = plt.figure(figsize=(3.4 * n_columns, 3.2 * n_rows), layout="constrained")
    for r, dataset in enumerate(datasets):
        for c, level in enumerate(levels):
            here = {"dataset": dataset, column: level, "seed": results.options.seeds[0], **columns}
            kept = [found for row in results.where(**here) if (found := read_embedding(results, row)) is not None]
            if not kept:
                continue
            Z, paths = kept[0]
            three = Z.shape[1] > 2
            ax = figure.add_subplot(n_rows, n_columns, r * n_columns + c + 1, projection="3d" if three else None)
            draw_embedding(Z, paths, ax=ax)
            if (legend := ax.get_legend()) is not None:
                legend.remove()
            ax.set_title(f"{short(dataset)}, {word}{level}", fontsize=9)
    return figure


def read_embedding(results: Results, row: Row):
    """Points that the run kept and their true paths, or None."""
    from disentree.runs.run import Run

    folder = results.run_folder(row)
    if not (folder / "embedding.npz").is_file():
        return None
    kept = Run.open(folder).read_npz("embedding.npz", "Z", "true_paths")
    return kept["Z"], kept["true_paths"]
