"""Shared by the studies of MIMOSA: tasks for its default and for the paper's, and figures of embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from disentree.studies.published import mimosa_settings, short
from disentree.studies.running.options import Options, Scale
from disentree.studies.running.results import Results, Row
from disentree.studies.running.task import Extra, Task, make_task

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = {"purity": "purity", "coverage": "coverage", "h_error": "H-error"}
PLACES = {"purity": 4, "coverage": 4, "h_error": 2}
# Of the paper's initial autoencoder, which trains for 50. With 20,000 samples 20 epochs are 1420 steps, with
# 100,000 samples 10 epochs are 3520.
EPOCHS: dict[Scale, int] = {"quick": 20, "default": 10, "medium": 50, "paper": 50}
STEPS_MEAN: dict[Scale, str] = {
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
    embedded: bool = False,
    shared: Task | None = None,
) -> Task:
    """MIMOSA on a benchmark: `method` is "default", or "paper" with the paper's settings for it. It can share the
    initial representation of another run. `embedded` keeps points of it for figures, which show the first seed."""
    more: dict[str, Any] = {}
    if embedded and seed == options.seeds[0]:
        extras = ("embedding",)
    if method == "paper":
        own = {**mimosa_settings(dataset), "epochs": EPOCHS[options.scale], **(settings or {})}
        more = {"structure": "mimosa-paper", "structure_settings": own}
    return make_task(
        {"dataset": dataset, "method": method, **(columns or {})},
        dataset=dataset,
        seed=seed,
        n_samples=options.n_samples(dataset),
        until="structure",
        options=data_options or {},
        extras=extras,
        embedding_from=shared,
        **more,
    )


def score_cells(results: Results, **columns: Any) -> list[str]:
    """Purity, coverage and H-error of the runs that match."""
    return [results.spread(name, PLACES[name], **columns) for name in NAMES]


def beside_paper(ours: Sequence[str], papers: Sequence[str]) -> list[str]:
    """Cells of ours, each followed by that of the paper."""
    return [cell for pair in zip(ours, papers, strict=True) for cell in pair]


BESIDE_PAPER = beside_paper(list(NAMES.values()), [f"{name}, paper" for name in NAMES.values()])


def draw_embeddings(results: Results, column: str, word: str = "", **columns: Any) -> Figure:
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
