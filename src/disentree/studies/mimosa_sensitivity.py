"""The settings of the paper's MIMOSA, one at a time around their values, and two of its steps left out."""

from __future__ import annotations

from typing import Any

from disentree.studies.options import Options
from disentree.studies.published import mimosa_settings, n_samples, short
from disentree.studies.results import Picture, Results, Section, spread
from disentree.studies.structures import EPOCHS, NAMES
from disentree.studies.task import Study, Task, make_task

# Values around the paper's; ransac_frac 1 is no second SVD, contagion_num 1 no contagion.
GRID: dict[str, tuple[float, ...]] = {
    "num_nearest_neighbors": (15, 25, 40, 60, 80),
    "ransac_frac": (1 / 3, 0.5, 2 / 3, 0.8, 1.0),
    "eig_cumsum_thresh": (0.8, 0.9, 0.95, 0.98, 0.99),
    "eig_decay_thresh": (2, 3, 4, 6, 10),
    "cos_simil_thresh": (0.9, 0.95, 0.98, 0.99, 0.995, 0.999),
    "contagion_num": (1, 2, 3, 5, 8, 12),
    "min_size_init": (0.0, 0.0001, 0.0002, 0.0005, 0.002),
    "min_size_merged": (0.002, 0.005, 0.02, 0.05, 0.1),
    "min_common_edge_frac": (0.25, 0.5, 1.0, 1.5, 2.0),
    "neighbor_lengthscale_mult": (2, 5, 10, 20, 50),
}
USUAL: dict[str, float] = {
    "num_nearest_neighbors": 40,
    "ransac_frac": 2 / 3,
    "eig_cumsum_thresh": 0.95,
    "eig_decay_thresh": 4,
    "cos_simil_thresh": 0.99,
    "contagion_num": 5,
    "min_size_init": 0.0002,
    "min_size_merged": 0.02,
    "min_common_edge_frac": 1.0,
    "neighbor_lengthscale_mult": 10,
}
MORE_DIMENSIONS = (-1, 0, 1, 2, 4)  # than the paper's initial_dim
PLACES = {"purity": 2, "coverage": 2, "h_error": 1}


def plan(options: Options) -> list[Task]:
    tasks: list[Task] = []
    for dataset in options.datasets:
        usual = {**mimosa_settings(dataset), "epochs": EPOCHS[options.scale]}
        for seed in options.seeds:
            same: dict[str, Any] = {
                "dataset": dataset,
                "seed": seed,
                "n_samples": n_samples(dataset, options.scale),
                "until": "structure",
                "structure": "mimosa-paper",
            }

            def one(
                setting: str, value: float, settings: dict[str, Any], same: dict[str, Any] = same, **more: Any
            ) -> Task:
                columns = {"dataset": same["dataset"], "setting": setting, "value": round(value, 6)}
                return make_task(columns, structure_settings=settings, **same, **more)

            base = one("usual", 0, usual, extras=("representation",))
            tasks.append(base)
            for more in MORE_DIMENSIONS:
                if more:
                    dim = usual["initial_dim"] + more
                    tasks.append(one("initial_dim", dim, {**usual, "initial_dim": dim}))
            for setting, values in GRID.items():
                tasks += [
                    one(setting, value, {**usual, setting: value}, embedding_from=base)
                    for value in values
                    if value != usual.get(setting, USUAL[setting])
                ]
    return tasks


def report(results: Results) -> list[Section]:
    header = ["setting", "data set", *(f"{name}, by value" for name in NAMES.values())]
    rows = []
    for setting in ("initial_dim", *GRID):
        for dataset in results.levels("dataset"):
            line = _line(results, dataset, setting)
            if len(line) > 1:
                cells = [
                    ", ".join(f"{value:g}: {spread(found[name], places)}" for value, found in line.items())
                    for name, places in PLACES.items()
                ]
                rows.append([setting, dataset, *cells])
    steps = []
    for dataset in results.levels("dataset"):
        for setting, off, step in (("contagion_num", 1, "contagion"), ("ransac_frac", 1.0, "RANSAC")):
            without = results.where(dataset=dataset, setting=setting, value=off)
            if not without or not results.where(dataset=dataset, setting="usual"):
                continue
            cells = []
            for name in NAMES:
                usual = results.values(name, dataset=dataset, setting="usual")
                changed = results.values(name, dataset=dataset, setting=setting, value=off)
                cells.append(f"{spread(usual)} → {spread(changed)}")
            steps.append([dataset, step, *cells])
    pictures = [Picture("mimosa-sensitivity", CAPTION, lambda: _draw(results))]
    return [
        Section("Each setting on its own", [WHAT], header, rows, pictures=pictures),
        Section(
            "Steps left out",
            ["contagion_num 1 is no contagion; ransac_frac 1 is no second SVD. From with to without."],
            ["data set", "without", *NAMES.values()],
            steps,
        ),
    ]


def _line(results: Results, dataset: str, setting: str) -> dict[float, dict[str, list[float]]]:
    """What was found at each value of a setting, in order; the usual runs count for the usual value."""
    found = {row["value"] for row in results.where(dataset=dataset, setting=setting)}
    out = {
        value: {n: results.values(n, dataset=dataset, setting=setting, value=value) for n in NAMES}
        for value in found
    }
    if found and results.where(dataset=dataset, setting="usual"):
        out[_usual(dataset, setting)] = {n: results.values(n, dataset=dataset, setting="usual") for n in NAMES}
    return dict(sorted(out.items()))


def _usual(dataset: str, setting: str) -> float:
    return round(mimosa_settings(dataset).get(setting, USUAL.get(setting, 0)), 6)


def _draw(results: Results):
    from disentree.studies.figures import draw_lines

    panels, labels = [], []
    for setting in ("initial_dim", *GRID):
        lines = {d: _line(results, d, setting) for d in results.levels("dataset")}
        values = sorted({value for line in lines.values() for value in line})
        if not values:
            continue
        row = []
        for name, label in NAMES.items():
            series = {short(d): [line[v][name] if v in line else [] for v in values] for d, line in lines.items()}
            marked = _usual(results.levels("dataset")[0], setting)
            row.append({"title": label, "x": values, "series": series, "marked": marked})
        panels.append(row)
        labels.append(setting)
    return draw_lines(panels, row_labels=labels, height=1.7)


WHAT = (
    "The paper's MIMOSA with one setting changed; all but initial_dim share an initial representation for each "
    "seed. Where no component is left, coverage is 0, there is no purity, and the tree is a bare root. "
    "min_common_edge_frac is a multiple of the paper's 2^-(d+1) + 2^-(d+2)."
)
CAPTION = (
    "Purity, coverage and H-error when one setting differs from its usual value (dotted; initial_dim: that of the "
    "first data set)."
)

STUDY = Study(
    name="mimosa-sensitivity",
    title="Sensitivity of the paper's MIMOSA to its settings",
    reproduces="Figure A.5",
    datasets=dict.fromkeys(
        ("quick", "default", "medium", "paper"),
        ("chopsticks-depth2-both", "chopsticks-depth2-either", "chopsticks-depth3-slope"),
    ),
    seeds={"quick": 1, "default": 1, "medium": 3, "paper": 5},
    scale_descriptions={
        "quick": "{samples}, 20 epochs of the initial autoencoder; the paper does not name its data sets",
        "default": "{samples}, 10 epochs of the initial autoencoder; the paper does not name its data sets",
        "paper": "{samples}, 50 epochs of the initial autoencoder; the paper does not name its data sets",
    },
    plan=plan,
    report=report,
)
