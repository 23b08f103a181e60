"""MIMOSA on noisy data: the default and the paper's."""

from __future__ import annotations

from itertools import product

from disentree.plots.cells import color_of
from disentree.studies.figures import Panel, draw_lines
from disentree.studies.published import short
from disentree.studies.running.options import Options
from disentree.studies.running.results import Picture, Results, Row, Section
from disentree.studies.running.task import Study, Task
from disentree.studies.structures import EPOCHS, NAMES, STEPS_MEAN, draw_embeddings, mimosa_task, score_cells

LEVELS = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1)  # standard deviation; intercepts lie within ±.2

HALF = "paper, half whitened"  # right without noise where the paper's latent as it is does not suffice


def plan(options: Options) -> list[Task]:
    methods = ("default", "paper", *((HALF,) if options.scale in ("medium", "paper") else ()))
    return [
        mimosa_task(
            options,
            dataset,
            seed,
            "paper" if method == HALF else method,
            {"noise": level, "method": method},
            data_options={"noise": level},
            settings={"whiten": 0.5} if method == HALF else None,
            embedded=True,
        )
        for dataset, method, level, seed in product(options.datasets, methods, LEVELS, options.seeds)
    ]


def report(results: Results) -> list[Section]:
    rows = []
    for here, found in results.groups("dataset", "method", "noise"):
        dims = "; ".join(_dimensions(row) for row in found)
        noise = f"{here['noise']:g}"
        rows.append([here["dataset"], here["method"], noise, *score_cells(results, **here), dims])
    header = ["data set", "method", "noise", *NAMES.values(), "dimensions found, by seed"]
    pictures = [
        Picture("noise-instances", "The same samples with more and more noise.", lambda: _draw_instances(results)),
        Picture(
            "noise-embeddings",
            "Initial representations of the paper's autoencoder, colored by true path.",
            lambda: draw_embeddings(results, "noise", "noise ", method="paper"),
        ),
        Picture("noise", "Purity, coverage and H-error against noise.", lambda: _draw(results)),
    ]
    text = [
        "Mean ± standard deviation over seeds. The paper draws this without stating numbers, and says that noise "
        "is worst for the lowest-dimensional components, which are taken for 2-D or 3-D.",
        f"The paper's method trains its autoencoder for {EPOCHS[results.options.scale]} epochs here.",
    ]
    return [Section("MIMOSA and noise", text, header, rows, numbers=range(2, 6), pictures=pictures)]


def _dimensions(row: dict) -> str:
    dims = row.get("dimensions") or []
    return " ".join(map(str, sorted(dims))) if len(dims) <= 16 else f"{len(dims)} components"


def _draw(results: Results):
    panels, levels = [], results.levels("noise")
    for d in results.levels("dataset"):
        row = []
        for name, label in NAMES.items():
            series = {
                m: [results.values(name, dataset=d, method=m, noise=level) for level in levels]
                for m in results.levels("method")
            }
            row.append(Panel(label, levels, series, xlabel="noise"))
        panels.append(row)
    return draw_lines(panels, row_labels=[short(d) for d in results.levels("dataset")])


def _draw_instances(results: Results):
    from matplotlib import pyplot as plt

    from disentree.datasets import load_dataset

    datasets, levels = results.levels("dataset"), results.levels("noise")
    figure, axes = plt.subplots(
        len(datasets), len(levels), figsize=(2.1 * len(levels), 1.7 * len(datasets)), squeeze=False,
        sharey="row", layout="constrained",
    )  # fmt: skip
    for r, dataset in enumerate(datasets):
        for c, level in enumerate(levels):
            ds = load_dataset(dataset, 6, seed=1, noise=level)
            for k, x in enumerate(ds.X):
                axes[r, c].plot(x, lw=1, color=color_of(k))
            axes[r, c].set_title(f"{short(dataset)}, {level:g}", fontsize=8)
            axes[r, c].tick_params(labelsize=6)
    return figure


def with_least_dimension(rows: list[Row]) -> list[Row]:
    """Rows with `least_dimension`, that of the component with the fewest; one alone is read as a number."""
    found = ((row, row["dimensions"]) for row in rows)
    return [{**row, "least_dimension": None if d is None else min(map(int, str(d).split()))} for row, d in found]


STUDY = Study(
    name="noise",
    title="MIMOSA on noisy data",
    reproduces="Figure A.1",
    datasets={"paper": ("chopsticks-depth2-slope", "chopsticks-depth2-either")},
    seeds={"quick": 1, "default": 2, "medium": 3, "paper": 5},
    scale_descriptions=STEPS_MEAN,
    plan=plan,
    report=report,
    derive=with_least_dimension,
)
